// What an author's error says of itself, however it is made.
"use strict";

const text = (v, most) => {
  let s;
  try { s = typeof v === "symbol" ? p.symbolToString(v) : p.String(v); } catch { s = "?"; }
  return s.length > most ? p.slice(s, 0, most) : s;
};

const property = (v, name) => {
  try { return v[name]; } catch { return undefined; }
};

// describe returns [name: message, stack, limit]; limit names the limit of the
// realm that the error is about, if it is.
const describe = (e) => {
  // Where there is no room left even for an error, the engine throws null.
  if (e === null) return ["Uncaught: null", "", "null"];
  if (typeof e !== "object" && typeof e !== "function") return ["Uncaught: " + text(e, 8192), "", ""];
  const name = property(e, "name"), message = property(e, "message"), stack = property(e, "stack");
  const head = typeof name === "string" || typeof message === "string"
    ? text(name === undefined ? "Error" : name, 256) + ": " + text(message === undefined ? "" : message, 8192)
    : text(e, 8192);
  let limit = "";
  if (e instanceof p.InternalError) {
    if (message === "out of memory") limit = "memory";
    if (message === "stack overflow") limit = "stack";
  }
  return [head, typeof stack === "string" ? text(stack, 16384) : "", limit];
};

// tell hands an error to the host; how says what happened to it.
const tell = (how, e) => {
  const d = describe(e);
  host("error", how, d[0], d[1], d[2]);
};

return { __proto__: null, describe, tell };
