"use strict";
const about = p.parse(host("about"));
return {
  __proto__: null, EOL: "\n", devNull: "/dev/null", tmpdir: () => about.scratch, homedir: () => about.scratch, hostname: () => "jig", platform: () => about.platform, type: () => "Linux",
  arch: () => about.arch, machine: () => about.arch, release: () => "", version: () => "", endianness: () => "LE", uptime: () => host("now") / 1000, cpus: () => [], availableParallelism: () => 1,
  totalmem: () => about.memory, freemem: () => about.memory, loadavg: () => [0, 0, 0], networkInterfaces: () => ({}), userInfo: () => ({ uid: 65534, gid: 65534, username: "nobody", homedir: about.scratch, shell: null }),
  constants: p.freeze({ signals: {}, errno: {}, priority: {} }),
};
