// Timers. The host keeps the time; here are the callbacks.
"use strict";

const { tell } = internal("report");

const waiting = p.bare();
let last = 0;

class Timeout {
  #n;
  constructor(n) { this.#n = n; }
  ref() { host("ref", this.#n, true); return this; }
  unref() { host("ref", this.#n, false); return this; }
  hasRef() { return host("hasRef", this.#n) === true; }
  refresh() { host("refresh", this.#n); return this; }
  close() { clear(this); return this; }
  [p.Symbol.toPrimitive]() { return this.#n; }
  static number(t) { return typeof t === "object" && t !== null && #n in t ? t.#n : p.Number(t); }
}
const number = Timeout.number;
delete Timeout.number;

const start = (callback, ms, repeat, args) => {
  if (typeof callback !== "function") throw new p.TypeError("a timer takes a function");
  ms = p.Number(ms);
  if (!(ms >= 1 && ms <= 2147483647)) ms = 1;
  const n = ++last;
  waiting[n] = { __proto__: null, callback, args, repeat };
  host("timer", n, ms, repeat);
  return new Timeout(n);
};

const clear = (timer) => {
  const n = number(timer);
  if (waiting[n] === undefined) return;
  delete waiting[n];
  host("clear", n);
};

// run executes a callback of the author's from the host's loop. What it throws
// nobody can catch.
const run = (callback, args) => {
  try {
    p.apply(callback, undefined, args);
  } catch (e) {
    tell("uncaught", e);
  }
};

p.on("timer", (n) => {
  const t = waiting[n];
  if (t === undefined) return;
  if (!t.repeat) delete waiting[n];
  run(t.callback, t.args);
});

const setTimeout = (callback, ms, ...args) => start(callback, ms, false, args);
const setInterval = (callback, ms, ...args) => start(callback, ms, true, args);
const setImmediate = (callback, ...args) => {
  if (typeof callback !== "function") throw new p.TypeError("setImmediate takes a function");
  const n = ++last;
  waiting[n] = { __proto__: null, callback, args, repeat: false };
  host("timer", n, 0, false);
  return new Timeout(n);
};
const queueMicrotask = (callback) => {
  if (typeof callback !== "function") throw new p.TypeError("queueMicrotask takes a function");
  p.then(p.resolve(), () => run(callback, []));
};
// after is setTimeout for the engine's own parts; it keeps nothing alive.
const after = (ms, callback) => { start(callback, ms, false, []).unref(); };

return { __proto__: null, setTimeout, setInterval, setImmediate, clearTimeout: clear, clearInterval: clear, clearImmediate: clear, queueMicrotask, after, run };
