// process: what a Flow may know of where it runs, which is next to nothing.
"use strict";

const { EventEmitter } = internal("events");
const { queueMicrotask, run } = internal("timers");
const stdio = internal("stdio");
const about = p.parse(host("about"));

let code;

const hrtime = (since) => {
  const ns = host("now") * 1e6, s = p.Math.floor(ns / 1e9), r = p.Math.floor(ns % 1e9);
  if (since === undefined) return [s, r];
  return r < since[1] ? [s - since[0] - 1, r - since[1] + 1e9] : [s - since[0], r - since[1]];
};
p.hidden(hrtime, "bigint", () => p.BigInt(p.Math.floor(host("now") * 1e6)));

const process = new EventEmitter();
const put = (members) => {
  const names = p.ownKeys(members);
  for (let i = 0; i < names.length; i++) p.defineProperty(process, names[i], p.getOwnPropertyDescriptor(members, names[i]));
};
put({
  title: "jig", version: "v0.0.0", versions: p.freeze({ jig: about.version }), release: p.freeze({ name: "jig" }),
  platform: about.platform, arch: about.arch, pid: 1, ppid: 0, execPath: "/jig/jig", execArgv: [], argv0: "jig",
  argv: ["/jig/jig", about.entry], env: {}, features: {}, config: {}, exiting: false,
  stdin: stdio.stdin, stdout: stdio.stdout, stderr: stdio.stderr,
  cwd: () => about.dir,
  exit: (status) => { if (status !== undefined) process.exitCode = status; host("exit", code ?? 0); },
  get exitCode() { return code; },
  set exitCode(v) {
    if (v !== undefined && v !== null && !p.isInteger(p.Number(v))) throw new p.TypeError('The "code" argument must be an integer');
    code = v === null ? undefined : v;
    host("status", code === undefined ? 0 : p.Number(code) & 255);
  },
  nextTick: (f, ...args) => {
    if (typeof f !== "function") throw new p.TypeError('The "callback" argument must be of type function');
    queueMicrotask(() => run(f, args));
  },
  uptime: () => host("now") / 1000,
  hrtime,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  emitWarning: (w) => { host("print", "Warning: " + (typeof w === "string" ? w : w?.message)); },
  umask: () => 18, getuid: () => 65534, getgid: () => 65534, geteuid: () => 65534, getegid: () => 65534,
});
p.hidden(process, p.toStringTag, "process");

return { __proto__: null, process };
