// Buffer: a Uint8Array with encodings.
"use strict";

const { encode, decode, bytesOf, latin1 } = internal("encoding");

const names = { __proto__: null, utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url", ascii: "ascii", latin1: "latin1", binary: "latin1", utf16le: "utf16le", "utf-16le": "utf16le", ucs2: "utf16le", "ucs-2": "utf16le" };

const encodingOf = (e) => {
  if (e === undefined || e === null || e === "") return "utf8";
  const name = names[p.lower(p.String(e))];
  if (name === undefined) { const err = new p.TypeError("Unknown encoding: " + e); p.hidden(err, "code", "ERR_UNKNOWN_ENCODING"); throw err; }
  return name;
};

const fromText = (s, encoding) => {
  switch (encodingOf(encoding)) {
    case "utf8": return encode(s);
    case "hex": {
      let n = 0;
      while (n + 2 <= s.length && p.exec(/^[0-9a-fA-F]{2}$/, p.slice(s, n, n + 2)) !== null) n += 2;
      return p.fromHex(p.slice(s, 0, n));
    }
    case "base64": case "base64url": return p.fromBase64(host("base64", s));
    case "utf16le": {
      const out = new p.Uint8Array(s.length * 2);
      for (let i = 0; i < s.length; i++) { const c = p.charCodeAt(s, i); out[2 * i] = c & 255; out[2 * i + 1] = c >> 8; }
      return out;
    }
  }
  const out = new p.Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = p.charCodeAt(s, i);
  return out;
};

const toText = (bytes, encoding) => {
  switch (encodingOf(encoding)) {
    case "utf8": return decode(bytes);
    case "hex": return p.toHex(bytes);
    case "base64": return p.toBase64(bytes);
    case "base64url": return p.toBase64(bytes, { __proto__: null, alphabet: "base64url", omitPadding: true });
    case "utf16le": { let s = ""; for (let i = 0; i + 1 < bytes.length; i += 2) s += p.fromCharCode(bytes[i] | bytes[i + 1] << 8); return s; }
    case "ascii": { let s = ""; for (let i = 0; i < bytes.length; i++) s += p.fromCharCode(bytes[i] & 127); return s; }
  }
  return latin1(bytes);
};

// wrap is a view of bytes as a Buffer.
const wrap = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const range = (n, what) => { const e = new p.RangeError('The value of "' + what + '" is out of range. It is ' + n); p.hidden(e, "code", "ERR_OUT_OF_RANGE"); throw e; };

class Buffer extends p.Uint8Array {
  static poolSize = 0;
  static get [p.Symbol.species]() { return Buffer; }
  static from(v, a, b) {
    if (typeof v === "string") return wrap(fromText(v, a));
    if (typeof v === "object" && v !== null) {
      let isBuffer = true;
      try { p.bufferBytes(v); } catch { isBuffer = false; }
      if (isBuffer) return b === undefined ? new Buffer(v, a) : new Buffer(v, a, b);
      if (p.isView(v)) { const out = Buffer.alloc(v.length ?? v.byteLength); p.bytesSet(out, v.length === undefined ? bytesOf(v) : v); return out; }
      if (v.type === "Buffer" && p.isArray(v.data)) return Buffer.from(v.data);
      if (typeof v.length === "number") { const out = Buffer.alloc(v.length); for (let i = 0; i < v.length; i++) out[i] = v[i]; return out; }
      const primitive = typeof v.valueOf === "function" ? v.valueOf() : v;
      if (primitive !== v) return Buffer.from(primitive, a, b);
    }
    throw new p.TypeError("Buffer.from takes a string, an array, a buffer or a view");
  }
  static alloc(n, fill, encoding) {
    if (typeof n !== "number" || !(n >= 0 && n <= 2147483647)) range(n, "size");
    const out = new Buffer(n);
    return fill === undefined || fill === 0 ? out : out.fill(fill, encoding);
  }
  static allocUnsafe(n) { return Buffer.alloc(n); }
  static allocUnsafeSlow(n) { return Buffer.alloc(n); }
  static isBuffer(v) { return v instanceof Buffer; }
  static isEncoding(e) { return typeof e === "string" && names[p.lower(e)] !== undefined; }
  static byteLength(v, encoding) {
    if (typeof v !== "string") return v.byteLength;
    switch (encodingOf(encoding)) {
      case "utf8": return host("byteLength", v);
      case "utf16le": return v.length * 2;
      case "ascii": case "latin1": return v.length;
    }
    return fromText(v, encoding).length;
  }
  static concat(list, total) {
    let n = 0;
    for (let i = 0; i < list.length; i++) n += list[i].length;
    const out = Buffer.alloc(total === undefined ? n : total);
    for (let i = 0, at = 0; i < list.length && at < out.length; i++) {
      const part = at + list[i].length > out.length ? list[i].subarray(0, out.length - at) : list[i];
      p.bytesSet(out, part, at);
      at += part.length;
    }
    return out;
  }
  static compare(a, b) {
    for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
  }

  get parent() { return this.buffer; }
  toString(encoding, start = 0, end = this.length) { return toText(start === 0 && end >= this.length ? this : this.subarray(start, end), encoding); }
  toLocaleString(encoding) { return this.toString(encoding); }
  toJSON() { const data = []; for (let i = 0; i < this.length; i++) data[i] = this[i]; return { type: "Buffer", data }; }
  equals(other) { return Buffer.compare(this, other) === 0; }
  compare(other, a = 0, b = other.length, c = 0, d = this.length) { return Buffer.compare(this.subarray(c, d), other.subarray(a, b)); }
  slice(start, end) { return this.subarray(start, end); }
  write(s, offset, length, encoding) {
    if (typeof offset === "string") { encoding = offset; offset = 0; length = this.length; }
    else if (typeof length === "string") { encoding = length; length = undefined; }
    offset ??= 0;
    const room = p.Math.min(length ?? this.length - offset, this.length - offset);
    let bytes = fromText(p.String(s), encoding);
    if (bytes.length > room) {
      let n = room;
      if (encodingOf(encoding) === "utf8") while (n > 0 && (bytes[n] & 0xc0) === 0x80) n--;
      bytes = bytes.subarray(0, n);
    }
    p.bytesSet(this, bytes, offset);
    return bytes.length;
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const n = p.Math.max(0, p.Math.min(end - start, target.length - at));
    p.bytesSet(target, this.subarray(start, start + n), at);
    return n;
  }
  fill(v, a, b, c) {
    let start = 0, end = this.length, encoding;
    if (typeof a === "string") encoding = a;
    else { start = a ?? 0; if (typeof b === "string") encoding = b; else { end = b ?? end; encoding = c; } }
    if (typeof v === "number" || typeof v === "boolean") return super.fill(v & 255, start, end);
    const bytes = typeof v === "string" ? fromText(v, encoding) : bytesOf(v);
    if (bytes.length === 0) return super.fill(0, start, end);
    for (let i = start; i < end; i++) this[i] = bytes[(i - start) % bytes.length];
    return this;
  }
  indexOf(v, at = 0, encoding) {
    if (typeof at === "string") { encoding = at; at = 0; }
    if (typeof v === "number") return super.indexOf(v & 255, at);
    const bytes = typeof v === "string" ? fromText(v, encoding) : bytesOf(v);
    if (at < 0) at = p.Math.max(0, this.length + at);
    outer: for (let i = at; i + bytes.length <= this.length; i++) {
      for (let j = 0; j < bytes.length; j++) if (this[i + j] !== bytes[j]) continue outer;
      return i;
    }
    return -1;
  }
  lastIndexOf(v, at = this.length, encoding) {
    if (typeof v === "number") return super.lastIndexOf(v & 255, at);
    const bytes = typeof v === "string" ? fromText(v, encoding) : bytesOf(v);
    outer: for (let i = p.Math.min(at, this.length - bytes.length); i >= 0; i--) {
      for (let j = 0; j < bytes.length; j++) if (this[i + j] !== bytes[j]) continue outer;
      return i;
    }
    return -1;
  }
  includes(v, at, encoding) { return this.indexOf(v, at, encoding) >= 0; }
  swap16() { for (let i = 0; i + 1 < this.length; i += 2) { const b = this[i]; this[i] = this[i + 1]; this[i + 1] = b; } return this; }
}

// Numbers, in both orders.
const view = (b) => new p.DataView(p.bufferOf(b), p.byteOffset(b), p.byteLength(b));
const number = (name, size, get, set) => {
  const check = (b, at) => { if (!p.isInteger(at) || at < 0 || at + size > b.length) range(at, "offset"); };
  const orders = size === 1 ? [["", true]] : [["LE", true], ["BE", false]];
  for (let i = 0; i < orders.length; i++) {
    const suffix = orders[i][0], little = orders[i][1];
    const read = function (at = 0) { check(this, at); return view(this)[get](at, little); };
    const write = function (v, at = 0) { check(this, at); view(this)[set](at, v, little); return at + size; };
    p.hidden(Buffer.prototype, "read" + name + suffix, read);
    p.hidden(Buffer.prototype, "write" + name + suffix, write);
    if (p.startsWith(name, "UInt") || p.startsWith(name, "BigUInt")) {
      const alias = name.replace("UInt", "Uint") + suffix;
      p.hidden(Buffer.prototype, "read" + alias, read);
      p.hidden(Buffer.prototype, "write" + alias, write);
    }
  }
};
number("UInt8", 1, "getUint8", "setUint8");
number("Int8", 1, "getInt8", "setInt8");
number("UInt16", 2, "getUint16", "setUint16");
number("Int16", 2, "getInt16", "setInt16");
number("UInt32", 4, "getUint32", "setUint32");
number("Int32", 4, "getInt32", "setInt32");
number("Float", 4, "getFloat32", "setFloat32");
number("Double", 8, "getFloat64", "setFloat64");
number("BigInt64", 8, "getBigInt64", "setBigInt64");
number("BigUInt64", 8, "getBigUint64", "setBigUint64");

const constants = { MAX_LENGTH: 2147483647, MAX_STRING_LENGTH: 1073741823 };

return { __proto__: null, Buffer, fromText, toText, wrap, constants };
