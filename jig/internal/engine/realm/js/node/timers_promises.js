"use strict";
const t = internal("timers");

const wait = (start, clear, value, options) => new p.Promise((resolve, reject) => {
  const signal = options?.signal;
  const aborted = () => { const e = new p.Error("The operation was aborted"); p.hidden(e, "name", "AbortError"); e.code = "ABORT_ERR"; if (signal.reason !== undefined) p.hidden(e, "cause", signal.reason); return e; };
  if (signal?.aborted) { reject(aborted()); return; }
  const stop = () => { clear(timer); reject(aborted()); };
  const timer = start(() => { signal?.removeEventListener("abort", stop); resolve(value); });
  if (options?.ref === false) timer.unref();
  signal?.addEventListener("abort", stop, { once: true });
});

const setTimeout = (ms, value, options) => wait((f) => t.setTimeout(f, ms), t.clearTimeout, value, options);
const setImmediate = (value, options) => wait((f) => t.setImmediate(f), t.clearImmediate, value, options);
async function* setInterval(ms, value, options) { for (;;) yield await setTimeout(ms, value, options); }

return { __proto__: null, setTimeout, setImmediate, setInterval, scheduler: { wait: (ms, o) => setTimeout(ms, undefined, o), yield: () => setImmediate() } };
