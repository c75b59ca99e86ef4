// structuredClone.
"use strict";

const { DOMException } = internal("abort");

const refuse = (v) => { throw new DOMException((typeof v === "function" ? "A function" : typeof v === "symbol" ? "A symbol" : "A value of this kind") + " could not be cloned.", "DataCloneError"); };
const is = (f, v) => { try { f(v); return true; } catch { return false; } };
const views = { __proto__: null, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array };
const errors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const source = p.getter(RegExp.prototype, "source"), flags = p.getter(RegExp.prototype, "flags");
const valueOf = [p.method(Number.prototype, "valueOf"), p.method(String.prototype, "valueOf"), p.method(Boolean.prototype, "valueOf"), p.method(BigInt.prototype, "valueOf")];

const structuredClone = function (value, options) {
  if (arguments.length === 0) throw new p.TypeError("structuredClone takes a value");
  const seen = new p.Map();
  const transfer = options?.transfer ?? [];
  for (const b of transfer) {
    if (!is(p.bufferBytes, b)) refuse(b);
    p.mapSet(seen, b, b.transfer());
  }
  const keep = (v, copy) => { p.mapSet(seen, v, copy); return copy; };
  const members = (v, copy) => {
    const names = p.keys(v);
    for (let i = 0; i < names.length; i++) p.defineProperty(copy, names[i], { __proto__: null, value: clone(v[names[i]]), writable: true, enumerable: true, configurable: true });
    return copy;
  };
  const clone = (v) => {
    if (typeof v === "function" || typeof v === "symbol") refuse(v);
    if (typeof v !== "object" || v === null) return v;
    if (p.mapHas(seen, v)) return p.mapGet(seen, v);
    if (p.isArray(v)) {
      const copy = keep(v, new p.Array(v.length));
      return members(v, copy);
    }
    if (is(p.dateTime, v)) return keep(v, new p.Date(p.dateTime(v)));
    if (is(p.mapSize, v)) {
      const copy = keep(v, new p.Map()), pairs = [];
      p.mapEach(v, (x, k) => { pairs[pairs.length] = k; pairs[pairs.length] = x; });
      for (let i = 0; i < pairs.length; i += 2) p.mapSet(copy, clone(pairs[i]), clone(pairs[i + 1]));
      return copy;
    }
    if (is(p.setSize, v)) {
      const copy = keep(v, new p.Set()), items = [];
      p.setEach(v, (x) => { items[items.length] = x; });
      for (let i = 0; i < items.length; i++) p.setAdd(copy, clone(items[i]));
      return copy;
    }
    if (is(p.bufferBytes, v)) return keep(v, p.bufferSlice(v, 0));
    if (p.isView(v)) {
      let name;
      try { name = p.typedName(v); } catch { name = undefined; }
      if (name === undefined) return keep(v, new p.DataView(clone(p.viewBuffer(v)), p.viewOffset(v), p.viewLength(v)));
      if (views[name] === undefined) refuse(v);
      return keep(v, new views[name](clone(p.bufferOf(v)), p.byteOffset(v), v.length));
    }
    if (v instanceof RegExp && is(source, v)) return keep(v, new RegExp(source(v), flags(v)));
    if (p.isError(v)) {
      const make = errors[v.name] ?? Error;
      const copy = keep(v, new make(v.message));
      if (p.hasOwn(v, "stack")) p.hidden(copy, "stack", p.String(v.stack));
      if (p.hasOwn(v, "cause")) p.hidden(copy, "cause", clone(v.cause));
      return copy;
    }
    for (let i = 0; i < valueOf.length; i++) if (is(valueOf[i], v)) return keep(v, p.Object(valueOf[i](v)));
    if (v instanceof p.Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) refuse(v);
    return members(v, keep(v, {}));
  };
  return clone(value);
};

return { __proto__: null, structuredClone };
