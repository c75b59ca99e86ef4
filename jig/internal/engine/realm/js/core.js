// The first script of a realm. It keeps the built-ins as they are now, takes away
// what no author may have, and hands out the engine's own parts by name. An
// author may change every prototype later on: nothing in here and nothing in the
// other parts goes through one of them where it could be changed.
(function () {
  "use strict";

  const host = globalThis.__host;
  delete globalThis.__host;

  const { apply, construct, ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, setPrototypeOf } = Reflect;
  const bare = Object.create.bind(Object, null);
  // uncurry makes f(self, ...args) of a method.
  const uncurry = (f) => (self, ...args) => apply(f, self, args);
  const method = (prototype, name) => uncurry(getOwnPropertyDescriptor(prototype, name).value);
  const getter = (prototype, name) => uncurry(getOwnPropertyDescriptor(prototype, name).get);
  const TypedArray = getPrototypeOf(Uint8Array);

  const p = {
    __proto__: null,
    apply, construct, ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, setPrototypeOf, bare, uncurry, method, getter,
    // Objects
    Object, ObjectPrototype: Object.prototype, freeze: Object.freeze, keys: Object.keys, hasOwn: Object.hasOwn, create: Object.create,
    isArray: Array.isArray, Array, ArrayPrototype: Array.prototype,
    join: method(Array.prototype, "join"), sort: method(Array.prototype, "sort"),
    // Numbers and text
    Number, isFinite: Number.isFinite, isInteger: Number.isInteger, String, BigInt, Math, Symbol, Boolean,
    wellFormed: method(String.prototype, "isWellFormed"), toWellFormed: method(String.prototype, "toWellFormed"),
    slice: method(String.prototype, "slice"), indexOf: method(String.prototype, "indexOf"), charCodeAt: method(String.prototype, "charCodeAt"),
    codePointAt: method(String.prototype, "codePointAt"), lower: method(String.prototype, "toLowerCase"), startsWith: method(String.prototype, "startsWith"),
    fromCharCode: String.fromCharCode, fromCodePoint: String.fromCodePoint, repeat: method(String.prototype, "repeat"), trim: method(String.prototype, "trim"),
    numberToString: method(Number.prototype, "toString"), bigintToString: method(BigInt.prototype, "toString"), symbolToString: method(Symbol.prototype, "toString"),
    exec: method(RegExp.prototype, "exec"), regexpToString: method(RegExp.prototype, "toString"),
    parse: JSON.parse, stringify: JSON.stringify,
    // Collections
    Map, Set, WeakMap, WeakSet,
    mapGet: method(Map.prototype, "get"), mapSet: method(Map.prototype, "set"), mapHas: method(Map.prototype, "has"), mapDelete: method(Map.prototype, "delete"),
    mapEach: method(Map.prototype, "forEach"), mapSize: getter(Map.prototype, "size"), mapClear: method(Map.prototype, "clear"),
    setAdd: method(Set.prototype, "add"), setHas: method(Set.prototype, "has"), setDelete: method(Set.prototype, "delete"), setEach: method(Set.prototype, "forEach"), setSize: getter(Set.prototype, "size"),
    weakGet: method(WeakMap.prototype, "get"), weakSet: method(WeakMap.prototype, "set"), weakHas: method(WeakMap.prototype, "has"),
    // Binary
    ArrayBuffer, Uint8Array, DataView, TypedArray,
    fromBase64: Uint8Array.fromBase64, toBase64: method(Uint8Array.prototype, "toBase64"), bytesSet: method(TypedArray.prototype, "set"),
    fromHex: Uint8Array.fromHex, toHex: method(Uint8Array.prototype, "toHex"),
    byteLength: getter(TypedArray.prototype, "byteLength"), byteOffset: getter(TypedArray.prototype, "byteOffset"), bufferOf: getter(TypedArray.prototype, "buffer"),
    typedName: getter(TypedArray.prototype, Symbol.toStringTag), bufferBytes: getter(ArrayBuffer.prototype, "byteLength"),
    viewBuffer: getter(DataView.prototype, "buffer"), viewOffset: getter(DataView.prototype, "byteOffset"), viewLength: getter(DataView.prototype, "byteLength"),
    isView: ArrayBuffer.isView, bufferSlice: method(ArrayBuffer.prototype, "slice"),
    // Time, promises, errors
    Date, now: Date.now, dateTime: method(Date.prototype, "getTime"), dateISO: method(Date.prototype, "toISOString"), random: Math.random,
    Promise, then: method(Promise.prototype, "then"), resolve: Promise.resolve.bind(Promise), reject: Promise.reject.bind(Promise),
    Error, TypeError, RangeError, SyntaxError, InternalError, AggregateError, isError: Error.isError, Proxy,
    iterator: Symbol.iterator, asyncIterator: Symbol.asyncIterator, toStringTag: Symbol.toStringTag,
    global: globalThis,
  };

  // No code is made out of text. What makes functions is kept here for the parts
  // below and is out of reach for everybody else.
  const MakeFunction = Function;
  const constructors = [
    Function, getPrototypeOf(async function () {}).constructor, getPrototypeOf(function* () {}).constructor, getPrototypeOf(async function* () {}).constructor,
  ];
  for (let i = 0; i < constructors.length; i++) {
    const name = constructors[i].name, prototype = constructors[i].prototype;
    const refuse = { [name]: function () { throw new p.TypeError(name + " is refused: code cannot be made out of text"); } }[name];
    defineProperty(refuse, "prototype", { __proto__: null, value: prototype });
    defineProperty(prototype, "constructor", { __proto__: null, value: refuse, writable: false, configurable: false });
    if (i === 0) defineProperty(globalThis, "Function", { __proto__: null, value: refuse, writable: true, configurable: true });
  }
  delete globalThis.eval;
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;

  // A part is the body of a function; it is made when it is first asked for.
  const parts = bare(), events = bare();
  const internal = (name) => {
    const known = parts[name];
    if (known !== undefined) return known;
    const text = host("part", name);
    return (parts[name] = new MakeFunction("p", "host", "internal", text)(p, host, internal));
  };
  p.compile = (parameters, text) => new MakeFunction(parameters, text);

  // on says what a part does with a message of the host.
  p.on = (name, f) => { events[name] = f; };

  // hidden defines a member that does not show up in a loop.
  p.hidden = (object, name, value) => defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  // lazy defines a global that is made when it is first looked at.
  p.lazy = (name, make) => {
    const put = (value) => { p.hidden(globalThis, name, value); return value; };
    defineProperty(globalThis, name, { __proto__: null, get: () => put(make()), set: put, enumerable: false, configurable: true });
  };
  p.list = () => { const a = []; setPrototypeOf(a, null); return a; }; // safe to fill by index
  p.freeze(p);

  // The modules of the engine reach their parts through a module of their own,
  // which takes this at once.
  globalThis.__internal = internal;

  // load starts a module by its name inside the engine.
  const load = (name, ok, failed) => { p.then(import(name), ok, failed); };

  return (name, a, b, c) => {
    switch (name) {
      case "part": internal(a); return;
      case "names": return p.join(p.keys(internal(a)), "\n");
      case "load": load(a, () => host("loaded"), (e) => internal("report").tell("uncaught", e)); return;
      case "probe": new p.Uint8Array(32768); return;
      case "unhandled": {
        const reason = globalThis.__reason;
        delete globalThis.__reason;
        internal("report").tell("unhandled", reason);
        return;
      }
    }
    events[name](a, b, c);
  };
})()
