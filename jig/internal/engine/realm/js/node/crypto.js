"use strict";

const { crypto, random, randomUUID, getRandomValues, bytesOf, encode } = internal("crypto");
const { wrap, fromText, toText } = internal("buffer");

const bytes = (v, encoding) => typeof v === "string" ? fromText(v, encoding) : bytesOf(v);
const algorithms = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const algorithm = (name) => {
  const a = p.lower(p.String(name)).replace(/^(?:rsa-)?sha-?/, "sha");
  if (!algorithms.includes(a)) { const e = new p.Error("Digest method not supported"); e.code = "ERR_CRYPTO_INVALID_DIGEST"; throw e; }
  return a;
};

// A Hash collects what it is given and computes at the end.
class Hash {
  #name; #parts; #key; #done = false;
  constructor(name, key, parts = []) { this.#name = algorithm(name); this.#key = key; this.#parts = parts; }
  update(data, encoding) {
    if (this.#done) { const e = new p.Error("Digest already called"); e.code = "ERR_CRYPTO_HASH_FINALIZED"; throw e; }
    this.#parts.push(bytes(data, encoding).slice());
    return this;
  }
  digest(encoding) {
    if (this.#done) { const e = new p.Error("Digest already called"); e.code = "ERR_CRYPTO_HASH_FINALIZED"; throw e; }
    this.#done = true;
    const all = p.toBase64(internal("encoding").joined(this.#parts));
    const out = wrap(p.fromBase64(this.#key === undefined ? host("hash", this.#name, all) : host("hmac", this.#name, all, p.toBase64(this.#key))));
    return encoding === undefined || encoding === "buffer" ? out : toText(out, encoding);
  }
  copy() { return new Hash(this.#name, this.#key, this.#parts.slice()); }
}

const randomInt = (min, max, done) => {
  if (max === undefined || typeof max === "function") { done = max; max = min; min = 0; }
  if (!p.isInteger(min) || !p.isInteger(max) || max <= min || max - min >= 2 ** 48) throw new p.RangeError("randomInt takes two integers less than 2^48 apart, the greater one last");
  const range = max - min, limit = 2 ** 48 - 2 ** 48 % range;
  for (;;) {
    const b = random(6);
    let n = 0;
    for (let i = 0; i < 6; i++) n = n * 256 + b[i];
    if (n >= limit) continue;
    if (done === undefined) return min + n % range;
    internal("timers").queueMicrotask(() => done(null, min + n % range));
    return;
  }
};

const randomBytes = (n, done) => {
  if (!p.isInteger(n) || n < 0 || n > 1 << 24) throw new p.RangeError("randomBytes gives 0 to 16777216 bytes");
  const out = wrap(random(n));
  if (done === undefined) return out;
  internal("timers").queueMicrotask(() => done(null, out));
};

const timingSafeEqual = (a, b) => {
  a = bytesOf(a); b = bytesOf(b);
  if (a.length !== b.length) throw new p.RangeError("Input buffers must have the same byte length");
  let d = 0;
  for (let i = 0; i < a.length; i++) d |= a[i] ^ b[i];
  return d === 0;
};

return {
  __proto__: null, randomUUID, getRandomValues, randomBytes, randomInt, timingSafeEqual, webcrypto: crypto, subtle: crypto.subtle, getHashes: () => algorithms.slice(),
  createHash: (name) => new Hash(name), createHmac: (name, key) => new Hash(name, bytes(key).slice()),
  hash: (name, data, encoding = "hex") => new Hash(name).update(data).digest(encoding),
  randomFillSync: (v) => getRandomValues(v),
};
