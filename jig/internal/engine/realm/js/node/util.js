"use strict";

const { inspect, format } = internal("inspect");
const { TextEncoder, TextDecoder } = internal("encoding");
const custom = p.Symbol.for("nodejs.util.promisify.custom");

const promisify = (f) => {
  if (typeof f !== "function") throw new p.TypeError('The "original" argument must be of type function');
  if (typeof f[custom] === "function") return f[custom];
  const wrapped = function (...args) {
    return new p.Promise((resolve, reject) => f.call(this, ...args, (e, v) => e ? reject(e) : resolve(v)));
  };
  return p.setPrototypeOf(wrapped, p.getPrototypeOf(f)), wrapped;
};
promisify.custom = custom;

const callbackify = (f) => (...args) => {
  const done = args.pop();
  p.then(f(...args), (v) => internal("timers").queueMicrotask(() => done(null, v)), (e) => internal("timers").queueMicrotask(() => done(e)));
};

const is = (f) => (v) => { try { f(v); return true; } catch { return false; } };
const tag = (name) => (v) => { try { return p.typedName(v) === name; } catch { return false; } };
const AsyncFunction = p.getPrototypeOf(async () => {}), GeneratorFunction = p.getPrototypeOf(function* () {});
const types = {
  __proto__: null, isDate: is(p.dateTime), isMap: is(p.mapSize), isSet: is(p.setSize), isRegExp: (v) => v instanceof RegExp, isNativeError: (v) => p.isError(v),
  isPromise: (v) => v instanceof p.Promise, isArrayBuffer: is(p.bufferBytes), isAnyArrayBuffer: is(p.bufferBytes), isTypedArray: is((v) => { if (p.typedName(v) === undefined) throw 0; }),
  isUint8Array: tag("Uint8Array"), isArrayBufferView: p.isView, isDataView: is(p.viewLength), isWeakMap: (v) => v instanceof p.WeakMap, isWeakSet: (v) => v instanceof p.WeakSet,
  isAsyncFunction: (v) => typeof v === "function" && p.getPrototypeOf(v) === AsyncFunction, isGeneratorFunction: (v) => typeof v === "function" && p.getPrototypeOf(v) === GeneratorFunction,
  isProxy: () => false, isBoxedPrimitive: (v) => v instanceof Number || v instanceof String || v instanceof Boolean || v instanceof BigInt || v instanceof Symbol,
};

// equal compares two values, strictly or loosely, in depth.
const equal = (a, b, strict) => {
  const seen = [];
  const both = (f) => f(a2) === f(b2);
  let a2, b2;
  const same = (x, y) => {
    if (strict ? p.Object.is(x, y) : x == y || x !== x && y !== y) return true;
    if (typeof x !== "object" || typeof y !== "object" || x === null || y === null) return false;
    if (strict && p.getPrototypeOf(x) !== p.getPrototypeOf(y)) return false;
    if (p.isArray(x) !== p.isArray(y)) return false;
    for (const [s, t] of seen) if (s === x && t === y) return true;
    seen.push([x, y]);
    try { return shape(x, y); } finally { seen.pop(); }
  };
  const shape = (x, y) => {
    a2 = x; b2 = y;
    for (const f of [types.isDate, types.isMap, types.isSet, types.isRegExp, types.isNativeError, types.isTypedArray, types.isArrayBuffer, types.isBoxedPrimitive]) if (!both(f)) return false;
    if (types.isDate(x) && p.dateTime(x) !== p.dateTime(y)) return false;
    if (types.isRegExp(x) && (x.source !== y.source || x.flags !== y.flags)) return false;
    if (types.isNativeError(x) && (x.name !== y.name || x.message !== y.message)) return false;
    if (types.isBoxedPrimitive(x) && !p.Object.is(x.valueOf(), y.valueOf())) return false;
    if (types.isArrayBuffer(x)) return same(new p.Uint8Array(x), new p.Uint8Array(y));
    if (types.isTypedArray(x)) {
      if (x.length !== y.length) return false;
      for (let i = 0; i < x.length; i++) if (!p.Object.is(x[i], y[i])) return false;
      return true;
    }
    if (types.isMap(x)) {
      if (x.size !== y.size) return false;
      outer: for (const [k, v] of x) {
        if (y.has(k)) { if (!same(v, y.get(k))) return false; continue; }
        for (const [l, w] of y) if (same(k, l) && same(v, w)) continue outer;
        return false;
      }
    }
    if (types.isSet(x)) {
      if (x.size !== y.size) return false;
      outer: for (const v of x) {
        if (y.has(v)) continue;
        for (const w of y) if (same(v, w)) continue outer;
        return false;
      }
    }
    const own = (o) => [...p.keys(o), ...(strict ? p.Object.getOwnPropertySymbols(o).filter((s) => p.getOwnPropertyDescriptor(o, s).enumerable) : [])];
    const k = own(x), l = own(y);
    if (k.length !== l.length) return false;
    for (const name of k) if (!p.hasOwn(y, name) || !same(x[name], y[name])) return false;
    return true;
  };
  return same(a, b);
};

const util = {
  __proto__: null, inspect, format, formatWithOptions: (o, ...args) => format(args), promisify, callbackify, types, isDeepStrictEqual: (a, b) => equal(a, b, true), equal, TextEncoder, TextDecoder,
  inherits: (c, s) => { c.super_ = s; p.setPrototypeOf(c.prototype, s.prototype); },
  deprecate: (f) => f, debuglog: () => p.Object.assign(() => {}, { enabled: false }), isArray: p.isArray, toUSVString: (s) => p.toWellFormed(p.String(s)),
  stripVTControlCharacters: (s) => s.replace(/[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g, ""),
  aborted: (signal) => new p.Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })),
};
util.format = (...args) => format(args);
util.debug = util.debuglog;
inspect.custom = p.Symbol.for("nodejs.util.inspect.custom");
return util;
