"use strict";
const t = internal("timers");
return {
  __proto__: null, setTimeout: t.setTimeout, setInterval: t.setInterval, setImmediate: t.setImmediate, clearTimeout: t.clearTimeout, clearInterval: t.clearInterval, clearImmediate: t.clearImmediate,
  promises: internal("node/timers_promises"),
};
