// JSON/0 at the border of the realm: what leaves it is walked once, by own
// property descriptors, so no getter and no toJSON of an author's runs; what
// enters it has objects without a prototype.
"use strict";

const MAX_BYTES = 16777216, MAX_DEPTH = 128, MAX_NODES = 262144, MAX_ENTRIES = 65536, MAX_STRING = 8388608, MAX_NAME = 1024, MAX_SAFE = 9007199254740991;

class Violation extends p.Error {}
p.hidden(Violation.prototype, "name", "JsonViolation");

const fail = (path, why) => { throw new Violation((path === "" ? "the value" : "the value at " + p.slice(path, 0, 256)) + " " + why); };

// over says whether a whole text has more than max bytes of UTF-8. A unit of a
// text is 1 to 3 of them; the host counts where that leaves it open.
const over = (s, max) => s.length > max || s.length * 3 > max && host("byteLength", s) > max;

const describe = (v) => {
  switch (typeof v) {
    case "undefined": return "is undefined";
    case "function": return "is a function";
    case "symbol": return "is a symbol";
    case "bigint": return "is a bigint";
  }
  return "is no plain object and no array";
};

// snapshot returns the JSON text of a value, or throws a Violation. The text is
// put together here: JSON.stringify looks at prototypes that are the author's.
const snapshot = (root) => {
  let nodes = 0;
  const walk = (v, depth, path) => {
    if (++nodes > MAX_NODES) fail("", "has more than 262144 values");
    if (depth > MAX_DEPTH) fail("", "is nested deeper than 128, or contains itself");
    switch (typeof v) {
      case "string":
        if (!p.wellFormed(v)) fail(path, "holds half of a surrogate pair");
        if (over(v, MAX_STRING)) fail(path, "is a text of more than 8388608 bytes");
        return p.stringify(v);
      case "number":
        if (!p.isFinite(v)) fail(path, "is not a finite number");
        if (p.isInteger(v) && (v > MAX_SAFE || v < -MAX_SAFE)) fail(path, "is an integer beyond 2^53-1");
        return p.String(v);
      case "boolean":
        return v ? "true" : "false";
      case "object":
        break;
      default:
        fail(path, describe(v));
    }
    if (v === null) return "null";
    const prototype = p.getPrototypeOf(v);
    const names = p.ownKeys(v);
    let out = "";
    if (p.isArray(v)) {
      if (prototype !== p.ArrayPrototype && prototype !== null) fail(path, describe(v));
      const length = p.getOwnPropertyDescriptor(v, "length").value;
      if (length > MAX_ENTRIES) fail(path, "has more than 65536 entries");
      if (names.length !== length + 1) fail(path, "is an array with holes or with members of its own");
      for (let i = 0; i < length; i++) out += (i === 0 ? "" : ",") + walk(data(v, i, path), depth + 1, path + "/" + i);
      return "[" + out + "]";
    }
    if (prototype !== p.ObjectPrototype && prototype !== null) fail(path, describe(v));
    if (names.length > MAX_ENTRIES) fail(path, "has more than 65536 members");
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (typeof name !== "string") fail(path, "has a symbol among its members");
      if (!p.wellFormed(name)) fail(path, "has a name with half of a surrogate pair");
      if (over(name, MAX_NAME)) fail(path, "has a name of more than 1024 bytes");
      out += (i === 0 ? "" : ",") + p.stringify(name) + ":" + walk(data(v, name, path), depth + 1, path + "/" + name);
    }
    return "{" + out + "}";
  };
  const text = walk(root, 1, "");
  if (over(text, MAX_BYTES)) fail("", "is a document of more than 16777216 bytes");
  return text;
};

// data reads an own member that is plain data.
const data = (object, name, path) => {
  const d = p.getOwnPropertyDescriptor(object, name);
  if (d === undefined) fail(path, "is an array with holes");
  if (!p.hasOwn(d, "value")) fail(path + "/" + name, "is a getter or setter");
  if (!d.enumerable) fail(path + "/" + name, "is hidden");
  return d.value;
};

// decode makes a value of JSON text that the host has checked.
const decode = (text) => strip(p.parse(text));

const strip = (v) => {
  if (v === null || typeof v !== "object") return v;
  if (p.isArray(v)) {
    for (let i = 0; i < v.length; i++) strip(v[i]);
    return v;
  }
  p.setPrototypeOf(v, null);
  const names = p.keys(v);
  for (let i = 0; i < names.length; i++) strip(v[names[i]]);
  return v;
};

return { __proto__: null, snapshot, decode, Violation, data };
