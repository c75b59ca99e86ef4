// Values as text for people: what console and node:util print. No getter runs.
"use strict";

const MAX_ITEMS = 100, MAX_TEXT = 10000;

const plainName = /^[A-Za-z_$][\w$]*$/;

const quote = (s) => {
  if (s.length > MAX_TEXT) return quote(p.slice(s, 0, MAX_TEXT)) + "... " + (s.length - MAX_TEXT) + " more characters";
  let mark = "'";
  if (p.indexOf(s, "'") >= 0) mark = p.indexOf(s, '"') < 0 ? '"' : p.indexOf(s, "`") < 0 ? "`" : "'";
  let out = mark;
  for (let i = 0; i < s.length; i++) {
    const c = p.charCodeAt(s, i), ch = s[i];
    if (ch === mark || ch === "\\") out += "\\" + ch;
    else if (c === 10) out += "\\n";
    else if (c === 13) out += "\\r";
    else if (c === 9) out += "\\t";
    else if (c < 32 || c === 127) out += "\\x" + (c < 16 ? "0" : "") + p.numberToString(c, 16);
    else out += ch;
  }
  return out + mark;
};

const key = (name) => {
  if (typeof name === "symbol") return "[" + p.symbolToString(name) + "]";
  return p.exec(plainName, name) !== null ? name : quote(name);
};

const constructorName = (v) => {
  for (let o = p.getPrototypeOf(v); o !== null; o = p.getPrototypeOf(o)) {
    const d = p.getOwnPropertyDescriptor(o, "constructor");
    if (d !== undefined && typeof d.value === "function") {
      const n = p.getOwnPropertyDescriptor(d.value, "name");
      if (n !== undefined && typeof n.value === "string" && n.value !== "") return n.value;
    }
  }
  return null;
};

const attempt = (f) => { try { return f(); } catch { return undefined; } };

const errorText = (e) => {
  const d = (name) => { for (let o = e; o !== null; o = p.getPrototypeOf(o)) { const x = p.getOwnPropertyDescriptor(o, name); if (x !== undefined) return x.value; } };
  const name = d("name"), message = d("message");
  const head = (typeof name === "string" ? name : "Error") + (typeof message === "string" && message !== "" ? ": " + message : "");
  const frames = host("frames", typeof d("stack") === "string" ? d("stack") : "", 4);
  return frames === "" ? head : head + "\n" + frames;
};

const inspect = (value, options) => {
  let depth = 2, hidden = false;
  if (typeof options === "object" && options !== null) {
    if (options.depth === null || options.depth === Infinity) depth = 64;
    else if (typeof options.depth === "number") depth = options.depth;
    hidden = options.showHidden === true;
  }
  const open = new p.Set();
  let budget = 20000;

  const members = (v, skip, level, out) => {
    const names = p.ownKeys(v);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (skip !== undefined && skip(name)) continue;
      const d = p.getOwnPropertyDescriptor(v, name);
      if (d === undefined || (!d.enumerable && !hidden)) continue;
      if (out.length >= MAX_ITEMS) { out[out.length] = "... more members"; break; }
      const label = d.enumerable ? key(name) : "[" + p.String(name) + "]";
      if (p.hasOwn(d, "value")) out[out.length] = label + ": " + show(d.value, level + 1);
      else out[out.length] = label + ": " + (d.get === undefined ? "[Setter]" : d.set === undefined ? "[Getter]" : "[Getter/Setter]");
    }
  };

  const wrap = (left, out, right) => out.length === 0 ? left + right : left + " " + p.join(out, ", ") + " " + right;
  const index = (name) => typeof name === "string" && (name === "length" || p.exec(/^(?:0|[1-9]\d*)$/, name) !== null);

  const show = (v, level) => {
    if (--budget < 0) return "...";
    switch (typeof v) {
      case "string": return quote(v);
      case "number": return v === 0 && 1 / v < 0 ? "-0" : p.String(v);
      case "bigint": return p.String(v) + "n";
      case "symbol": return p.symbolToString(v);
      case "undefined": return "undefined";
      case "boolean": return v ? "true" : "false";
    }
    if (v === null) return "null";
    if (p.setHas(open, v)) return "[Circular]";
    const name = attempt(() => constructorName(v));
    p.setAdd(open, v);
    try {
      return shape(v, name === undefined ? null : name, level);
    } finally {
      p.setDelete(open, v);
    }
  };

  const shape = (v, name, level) => {
    if (typeof v === "function") {
      const n = p.getOwnPropertyDescriptor(v, "name")?.value;
      const isClass = attempt(() => p.startsWith(p.apply(functionText, v, []), "class")) === true;
      const head = isClass ? "[class " + (n || "(anonymous)") + "]" : "[" + (name ?? "Function") + (n ? ": " + p.String(n) : " (anonymous)") + "]";
      const out = p.list();
      members(v, undefined, level, out);
      return out.length === 0 ? head : wrap(head + " {", out, "}");
    }
    if (p.isError(v)) {
      const out = p.list();
      members(v, undefined, level, out);
      const cause = p.getOwnPropertyDescriptor(v, "cause");
      if (cause !== undefined && !cause.enumerable && level <= depth) out[out.length] = "[cause]: " + show(cause.value, level + 1);
      return out.length === 0 ? "[" + errorText(v) + "]" : wrap("[" + errorText(v) + "] {", out, "}");
    }
    const time = attempt(() => p.dateTime(v));
    if (time !== undefined) return p.isFinite(time) ? p.dateISO(v) : "Invalid Date";
    if (v instanceof RegExp) { const s = attempt(() => p.regexpToString(v)); if (s !== undefined) return s; }
    const prefix = name === null ? "[Object: null prototype] " : name === "Object" || name === "Array" ? "" : name + " ";
    if (level > depth) return p.isArray(v) ? "[Array]" : "[" + (name ?? "Object") + "]";
    const out = p.list();
    if (p.isArray(v)) {
      const length = p.getOwnPropertyDescriptor(v, "length").value;
      for (let i = 0, holes = 0; i <= length; i++) {
        const d = i < length ? p.getOwnPropertyDescriptor(v, i) : undefined;
        if (d === undefined) {
          if (i < length) { holes++; if (holes < 1000) continue; }
          if (holes > 0) out[out.length] = "<" + holes + " empty items>";
          holes = 0;
          if (i < length) { out[out.length] = "..."; break; }
          continue;
        }
        if (holes > 0) { out[out.length] = "<" + holes + " empty items>"; holes = 0; }
        if (out.length >= MAX_ITEMS) { out[out.length] = "... " + (length - i) + " more items"; break; }
        out[out.length] = p.hasOwn(d, "value") ? show(d.value, level + 1) : "[Getter]";
      }
      members(v, index, level, out);
      return wrap((prefix === "" ? "" : name + "(" + length + ") ") + "[", out, "]");
    }
    const size = attempt(() => p.mapSize(v));
    if (size !== undefined) {
      p.mapEach(v, (value, k) => { if (out.length < MAX_ITEMS) out[out.length] = show(k, level + 1) + " => " + show(value, level + 1); });
      return wrap("Map(" + size + ") {", out, "}");
    }
    const count = attempt(() => p.setSize(v));
    if (count !== undefined) {
      p.setEach(v, (value) => { if (out.length < MAX_ITEMS) out[out.length] = show(value, level + 1); });
      return wrap("Set(" + count + ") {", out, "}");
    }
    const typed = attempt(() => p.typedName(v));
    if (typed !== undefined) {
      const n = p.byteLength(v) / v.BYTES_PER_ELEMENT;
      for (let i = 0; i < n && i < MAX_ITEMS; i++) out[out.length] = p.String(v[i]);
      if (n > MAX_ITEMS) out[out.length] = "... " + (n - MAX_ITEMS) + " more items";
      return wrap((name ?? typed) + "(" + n + ") [", out, "]");
    }
    const bytes = attempt(() => p.bufferBytes(v));
    if (bytes !== undefined) return "ArrayBuffer { byteLength: " + bytes + " }";
    if (v instanceof p.Promise) return "Promise { <pending or settled> }";
    const boxed = v instanceof Number || v instanceof String || v instanceof Boolean ? attempt(() => v.valueOf()) : undefined;
    if (boxed !== undefined && typeof boxed !== "object") return "[" + name + ": " + show(boxed, level) + "]";
    members(v, undefined, level, out);
    return wrap(prefix + "{", out, "}");
  };

  return show(value, 0);
};

const functionText = p.getOwnPropertyDescriptor(p.getPrototypeOf(function () {}), "toString").value;

// format is what console.log does with its arguments.
const format = (args) => {
  let out = "", first = 0;
  if (args.length > 1 && typeof args[0] === "string") {
    const f = args[0];
    let next = 1, from = 0;
    for (let at = p.indexOf(f, "%"); at >= 0 && at + 1 < f.length; at = p.indexOf(f, "%", from)) {
      out += p.slice(f, from, at);
      from = at + 2;
      const c = f[at + 1];
      if (c === "%") { out += "%"; continue; }
      if (p.indexOf("sdifjoOc", c) < 0 || next >= args.length) { out += "%" + c; continue; }
      const v = args[next++];
      if (c === "s") out += typeof v === "string" ? v : typeof v === "object" && v !== null ? inspect(v, { depth: 0 }) : typeof v === "bigint" ? p.String(v) + "n" : inspectLoose(v);
      else if (c === "d") out += typeof v === "bigint" ? p.String(v) + "n" : typeof v === "symbol" ? "NaN" : p.String(attempt(() => p.Number(v)));
      else if (c === "i") out += typeof v === "bigint" ? p.String(v) + "n" : p.String(attempt(() => p.Math.trunc(p.Number(v))));
      else if (c === "f") out += p.String(attempt(() => p.Number(v)));
      else if (c === "j") out += attempt(() => p.stringify(v)) ?? "[Circular]";
      else if (c !== "c") out += inspect(v, { depth: 4 });
    }
    out += p.slice(f, from);
    first = next;
  }
  for (let i = first; i < args.length; i++) {
    if (i > 0) out += " ";
    out += typeof args[i] === "string" ? args[i] : inspect(args[i]);
  }
  return out;
};

const inspectLoose = (v) => typeof v === "symbol" ? p.symbolToString(v) : typeof v === "function" ? inspect(v) : p.String(v);

return { __proto__: null, inspect, format };
