"use strict";

const check = (s, name = "path") => {
  if (typeof s !== "string") { const e = new p.TypeError(`The "${name}" argument must be of type string`); p.hidden(e, "code", "ERR_INVALID_ARG_TYPE"); throw e; }
};

const tidy = (s, absolute) => {
  const out = [];
  for (const part of s.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && out.length > 0 && out[out.length - 1] !== "..") out.pop();
    else if (part !== ".." || !absolute) out.push(part);
  }
  return out.join("/");
};

const normalize = (s) => {
  check(s);
  if (s === "") return ".";
  const absolute = s[0] === "/", slash = s[s.length - 1] === "/";
  let out = tidy(s, absolute);
  if (out === "" && !absolute) out = ".";
  if (out !== "" && slash) out += "/";
  return absolute ? "/" + out : out;
};

const join = (...parts) => {
  for (const s of parts) check(s);
  const all = parts.filter((s) => s !== "").join("/");
  return all === "" ? "." : normalize(all);
};

const resolve = (...parts) => {
  let out = "";
  for (let i = parts.length - 1; i >= -1 && out[0] !== "/"; i--) {
    const s = i >= 0 ? parts[i] : p.parse(host("about")).dir;
    check(s);
    if (s !== "") out = out === "" ? s : s + "/" + out;
  }
  return "/" + tidy(out, true);
};

const isAbsolute = (s) => { check(s); return s[0] === "/"; };

const relative = (from, to) => {
  const a = resolve(from).split("/").filter((s) => s !== ""), b = resolve(to).split("/").filter((s) => s !== "");
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return [...a.slice(i).map(() => ".."), ...b.slice(i)].join("/");
};

const dirname = (s) => {
  check(s);
  const trimmed = s.replace(/(.)\/+$/, "$1"), at = trimmed.lastIndexOf("/");
  if (at < 0) return ".";
  return trimmed.slice(0, at).replace(/(.)\/+$/, "$1") || "/";
};

const basename = (s, suffix) => {
  check(s);
  const base = s.replace(/\/+$/, "").split("/").pop();
  return suffix !== undefined && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
};

const extname = (s) => {
  const base = basename(s), at = base.lastIndexOf(".");
  return at <= 0 || base === ".." ? "" : base.slice(at);
};

const parse = (s) => {
  const base = basename(s), ext = extname(s), root = s[0] === "/" ? "/" : "";
  const dir = dirname(s);
  return { root, dir: s.replace(/\/+$/, "").includes("/") || root ? dir : "", base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
};

const format = (o) => {
  const dir = o.dir || o.root || "", base = o.base || (o.name || "") + (o.ext ? (o.ext[0] === "." ? "" : ".") + o.ext : "");
  return dir === "" ? base : dir === o.root ? dir + base : dir + "/" + base;
};

const path = { __proto__: null, sep: "/", delimiter: ":", normalize, join, resolve, isAbsolute, relative, dirname, basename, extname, parse, format, toNamespacedPath: (s) => s };
path.posix = path;
return path;
