// The console: everything goes to standard error, one line a call.
"use strict";

const { inspect, format } = internal("inspect");

let indent = "";
const counts = p.bare(), times = p.bare();

// The host shows no more of a line than this, so no more crosses.
const MOST = 20000;
const print = (text) => { host("print", indent + (text.length > MOST ? p.slice(text, 0, MOST) : text)); };
const show = (...args) => print(format(args));
const label = (l) => l === undefined ? "default" : p.String(l);
const elapsed = (l) => {
  const ms = host("now") - times[l];
  return l + ": " + (ms < 1000 ? ms.toFixed(3) + "ms" : (ms / 1000).toFixed(3) + "s");
};

const console = {
  log: show, info: show, debug: show, warn: show, error: show,
  trace: (...args) => print("Trace: " + format(args)),
  assert: (ok, ...args) => { if (!ok) print(args.length === 0 ? "Assertion failed" : "Assertion failed: " + format(args)); },
  dir: (v, options) => print(inspect(v, options)),
  dirxml: show,
  table: (v) => print(inspect(v, { depth: 3 })),
  group: (...args) => { if (args.length > 0) show(...args); if (indent.length < 64) indent += "  "; },
  groupCollapsed: (...args) => console.group(...args),
  groupEnd: () => { indent = p.slice(indent, 2); },
  count: (l) => { l = label(l); counts[l] = (counts[l] ?? 0) + 1; print(l + ": " + counts[l]); },
  countReset: (l) => { counts[label(l)] = 0; },
  time: (l) => { times[label(l)] = host("now"); },
  timeLog: (l, ...args) => { l = label(l); if (l in times) print(args.length === 0 ? elapsed(l) : elapsed(l) + " " + format(args)); },
  timeEnd: (l) => { l = label(l); if (l in times) { print(elapsed(l)); delete times[l]; } },
  clear: () => {},
};
p.hidden(console, p.toStringTag, "console");

return { __proto__: null, console };
