// Text and bytes. The work is done by the host; bytes cross as base64.
"use strict";

const { DOMException } = internal("abort");

const empty = () => new p.Uint8Array(0);

// bytesOf gives any view or buffer as bytes, without a copy.
const bytesOf = (v) => {
  if (p.isView(v)) {
    let name;
    try { name = p.typedName(v); } catch { name = undefined; }
    if (name === "Uint8Array") return v;
    if (name !== undefined) return new p.Uint8Array(p.bufferOf(v), p.byteOffset(v), p.byteLength(v));
    return new p.Uint8Array(p.viewBuffer(v), p.viewOffset(v), p.viewLength(v));
  }
  try { p.bufferBytes(v); } catch { throw new p.TypeError("an ArrayBuffer or a view of one is needed"); }
  return new p.Uint8Array(v);
};

// encode gives the UTF-8 bytes of a text; half a surrogate pair becomes U+FFFD.
const encode = (s) => s === "" ? empty() : p.fromBase64(host("bytesOf", s));

// decode gives the text of UTF-8 bytes; what is none becomes U+FFFD.
const decode = (bytes) => bytes.length === 0 ? "" : host("textOf", p.toBase64(bytes), false);

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(s = "") { return encode(p.String(s)); }
  encodeInto(s, target) {
    if (!(target instanceof p.Uint8Array)) throw new p.TypeError("encodeInto writes into a Uint8Array");
    s = p.String(s);
    let read = 0, written = 0;
    while (read < s.length) {
      const c = p.codePointAt(s, read);
      const n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
      if (written + n > target.length) break;
      const u = c >= 0xd800 && c <= 0xdfff ? 0xfffd : c;
      if (n === 1) target[written] = u;
      else if (n === 2) { target[written] = 0xc0 | u >> 6; target[written + 1] = 0x80 | u & 63; }
      else if (n === 3) { target[written] = 0xe0 | u >> 12; target[written + 1] = 0x80 | u >> 6 & 63; target[written + 2] = 0x80 | u & 63; }
      else { target[written] = 0xf0 | u >> 18; target[written + 1] = 0x80 | u >> 12 & 63; target[written + 2] = 0x80 | u >> 6 & 63; target[written + 3] = 0x80 | u & 63; }
      written += n;
      read += c >= 0x10000 ? 2 : 1;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal; #keep; #rest = empty(); #begun = false;
  constructor(label = "utf-8", options = {}) {
    const l = p.lower(p.trim(p.String(label)));
    if (l !== "utf-8" && l !== "utf8" && l !== "unicode-1-1-utf-8") throw new p.RangeError("only utf-8 can be decoded here, not " + label);
    this.#fatal = p.Boolean(options?.fatal);
    this.#keep = p.Boolean(options?.ignoreBOM);
  }
  get encoding() { return "utf-8"; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keep; }
  decode(input, options) {
    const stream = p.Boolean(options?.stream);
    let bytes = input === undefined ? empty() : bytesOf(input);
    if (this.#rest.length > 0) bytes = joined([this.#rest, bytes]);
    let end = bytes.length;
    this.#rest = empty();
    if (stream) {
      end = whole(bytes);
      this.#rest = bytes.slice(end);
      bytes = bytes.subarray(0, end);
    }
    const failed = () => { this.#begun = false; throw new p.TypeError("the bytes are not UTF-8"); };
    let text = bytes.length === 0 ? "" : host("textOf", p.toBase64(bytes), this.#fatal);
    if (text === undefined) failed();
    if (!this.#begun && text.length > 0) {
      if (!this.#keep && text[0] === "\ufeff") text = p.slice(text, 1);
      this.#begun = true;
    }
    if (!stream) this.#begun = false;
    return text;
  }
}

// whole is how many bytes of a stream end on a boundary of characters.
const whole = (bytes) => {
  for (let i = bytes.length - 1, n = 1; i >= 0 && n <= 4; i--, n++) {
    const b = bytes[i];
    if (b < 0x80) break;
    if (b >= 0xc0) {
      const need = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
      return need > n ? i : bytes.length;
    }
  }
  return bytes.length;
};

const joined = (list) => {
  let n = 0;
  for (let i = 0; i < list.length; i++) n += list[i].length;
  const out = new p.Uint8Array(n);
  for (let i = 0, at = 0; i < list.length; i++) { p.bytesSet(out, list[i], at); at += list[i].length; }
  return out;
};

const latin1 = (bytes) => {
  let out = "";
  for (let i = 0; i < bytes.length; i++) out += p.fromCharCode(bytes[i]);
  return out;
};

const atob = (s) => {
  s = p.String(s);
  let bytes;
  try { bytes = p.fromBase64(s, { __proto__: null, lastChunkHandling: "loose" }); } catch { throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError"); }
  return latin1(bytes);
};

const btoa = (s) => {
  s = p.String(s);
  const bytes = new p.Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) {
    const c = p.charCodeAt(s, i);
    if (c > 255) throw new DOMException("Invalid character", "InvalidCharacterError");
    bytes[i] = c;
  }
  return p.toBase64(bytes);
};

return { __proto__: null, TextEncoder, TextDecoder, atob, btoa, encode, decode, bytesOf, joined, latin1 };
