// Hashes and randomness. The host makes both.
"use strict";

const { DOMException } = internal("abort");
const { bytesOf, encode } = internal("encoding");

const random = (n) => p.fromBase64(host("random", n));

const randomUUID = () => host("uuid");

const getRandomValues = (view) => {
  let name;
  try { name = p.typedName(view); } catch { throw new p.TypeError("getRandomValues fills a typed array of integers"); }
  if (name === "Float32Array" || name === "Float64Array" || name === "Float16Array") throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
  const n = p.byteLength(view);
  if (n > 65536) throw new DOMException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
  p.bytesSet(new p.Uint8Array(p.bufferOf(view), p.byteOffset(view), n), random(n));
  return view;
};

const algorithms = { __proto__: null, "sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512" };

const digest = async (algorithm, data) => {
  const name = typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm;
  const hash = algorithms[p.lower(p.String(name))];
  if (hash === undefined) throw new DOMException("Unrecognized algorithm name", "NotSupportedError");
  return p.fromBase64(host("hash", hash, p.toBase64(bytesOf(data)))).buffer;
};

const crypto = p.freeze({ randomUUID, getRandomValues, subtle: p.freeze({ digest }) });

return { __proto__: null, crypto, random, randomUUID, getRandomValues, bytesOf, encode };
