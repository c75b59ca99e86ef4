// URL and URLSearchParams, after the URL standard. Names of hosts are ASCII: a
// name with other characters is refused rather than guessed at.
"use strict";

const { encode, decode } = internal("encoding");

const ports = { __proto__: null, "http:": 80, "https:": 443, "ws:": 80, "wss:": 443, "ftp:": 21, "file:": null };
const special = (protocol) => ports[protocol] !== undefined;

// Sets of characters that are written with percents, each beside the controls and
// everything outside ASCII.
const FRAGMENT = ' "<>`', QUERY = ' "#<>', SPECIAL_QUERY = QUERY + "'", PATH = QUERY + "?^`{}", USER = PATH + "/:;=@[\\]|";

const percent = (s, set) => {
  let out = "";
  for (let i = 0; i < s.length; i++) {
    const c = p.codePointAt(s, i);
    if (c > 0x20 && c < 0x7f && p.indexOf(set, s[i]) < 0) { out += s[i]; continue; }
    const ch = p.fromCodePoint(c >= 0xd800 && c <= 0xdfff ? 0xfffd : c);
    const bytes = encode(ch);
    for (let j = 0; j < bytes.length; j++) out += "%" + (bytes[j] < 16 ? "0" : "") + p.numberToString(bytes[j], 16).toUpperCase();
    if (c > 0xffff) i++;
  }
  return out;
};

const hexDigit = /^[0-9a-fA-F]{2}$/;

const unpercent = (s) => {
  if (p.indexOf(s, "%") < 0) return s;
  const source = encode(s), out = [];
  for (let i = 0; i < source.length; i++) {
    const pair = i + 2 < source.length && source[i] === 37 ? p.fromCharCode(source[i + 1], source[i + 2]) : "";
    if (p.exec(hexDigit, pair) !== null) { out.push(p.Number("0x" + pair)); i += 2; }
    else out.push(source[i]);
  }
  return decode(new p.Uint8Array(out));
};

const invalid = (input) => {
  const e = new p.TypeError("Invalid URL");
  p.hidden(e, "code", "ERR_INVALID_URL");
  p.hidden(e, "input", input);
  throw e;
};

// ipv4 reads the last form of a host that is made of numbers, or returns null.
const ipv4 = (host, input) => {
  const parts = host.split(".");
  if (parts.length > 1 && parts[parts.length - 1] === "") parts.pop();
  if (!/^(?:\d+|0[xX][0-9a-fA-F]*)$/.test(parts[parts.length - 1])) return null;
  if (parts.length > 4) invalid(input);
  const numbers = parts.map((n) => {
    if (n === "") invalid(input);
    if (/^0[xX][0-9a-fA-F]*$/.test(n)) return n.length === 2 ? 0 : p.Number(n);
    if (/^0[0-7]+$/.test(n)) return parseInt(n, 8);
    if (/^(?:0|[1-9]\d*)$/.test(n)) return p.Number(n);
    invalid(input);
  });
  for (let i = 0; i < numbers.length - 1; i++) if (numbers[i] > 255) invalid(input);
  let value = numbers[numbers.length - 1];
  if (value >= 256 ** (5 - numbers.length)) invalid(input);
  for (let i = 0; i < numbers.length - 1; i++) value += numbers[i] * 256 ** (3 - i);
  return [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255].join(".");
};

const ipv6 = (text, input) => {
  let tail = [];
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (dotted !== null) {
    const n = dotted[2].split(".").map(p.Number);
    if (n.some((x) => x > 255)) invalid(input);
    text = dotted[1] + p.numberToString(n[0] * 256 + n[1], 16) + ":" + p.numberToString(n[2] * 256 + n[3], 16);
  }
  const halves = text.split("::");
  if (halves.length > 2) invalid(input);
  const read = (s) => s === "" ? [] : s.split(":").map((g) => /^[0-9a-fA-F]{1,4}$/.test(g) ? parseInt(g, 16) : invalid(input));
  const head = read(halves[0]);
  if (halves.length === 2) tail = read(halves[1]);
  const gap = 8 - head.length - tail.length;
  if (halves.length === 2 ? gap < 1 : gap !== 0) invalid(input);
  const all = [...head, ...new p.Array(gap).fill(0), ...tail];
  let best = -1, most = 1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && all[i + n] === 0) n++;
    if (n > most) { best = i; most = n; }
  }
  const hex = (list) => list.map((x) => p.numberToString(x, 16)).join(":");
  return "[" + (best < 0 ? hex(all) : hex(all.slice(0, best)) + "::" + hex(all.slice(best + most))) + "]";
};

const hostOf = (text, isSpecial, input) => {
  if (p.startsWith(text, "[")) return text[text.length - 1] === "]" ? ipv6(p.slice(text, 1, -1), input) : invalid(input);
  if (!isSpecial) return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(text) ? invalid(input) : percent(text, "");
  const name = p.lower(unpercent(text));
  if (name === "" || /[^\x21-\x7e]|[#%/:<>?@[\\\]^|]/.test(name)) invalid(input);
  return ipv4(name, input) ?? name;
};

const isDot = (s) => s === "." || p.lower(s) === "%2e";
const isDots = (s) => /^(?:\.|%2e){2}$/i.test(s);
const drive = /^[A-Za-z][:|]$/;

// walk adds the segments of a path to those of a base.
const walk = (path, segments, u) => {
  const parts = (special(u.protocol) ? path.replace(/\\/g, "/") : path).split("/");
  for (let i = 0; i < parts.length; i++) {
    const last = i === parts.length - 1;
    if (isDots(parts[i])) {
      if (!(u.protocol === "file:" && segments.length === 1 && drive.test(segments[0]))) segments.pop();
      if (last) segments.push("");
    } else if (isDot(parts[i])) {
      if (last) segments.push("");
    } else {
      let s = percent(parts[i], PATH);
      if (u.protocol === "file:" && segments.length === 0 && drive.test(s)) s = s[0] + ":";
      segments.push(s);
    }
  }
  return segments;
};

// parse reads an absolute URL, or one relative to base.
const parse = (input, base) => {
  let s = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const u = { __proto__: null, protocol: "", username: "", password: "", host: null, port: "", path: [], opaque: null, query: null, fragment: null };
  const hash = p.indexOf(s, "#");
  if (hash >= 0) { u.fragment = percent(p.slice(s, hash + 1), FRAGMENT); s = p.slice(s, 0, hash); }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(s);
  let rest = s;
  if (scheme !== null) {
    u.protocol = p.lower(scheme[1]) + ":";
    rest = p.slice(s, scheme[0].length);
    if (special(u.protocol) && base !== undefined && base.protocol === u.protocol && !/^[\\/]/.test(rest) && u.protocol !== "file:") return relative(rest, u, base, input);
    if (u.protocol === "file:" && !/^[\\/]/.test(rest)) return relative(rest, u, base !== undefined && base.protocol === "file:" ? base : fileRoot(), input);
    return absolute(rest, u, input);
  }
  if (base === undefined) invalid(input);
  u.protocol = base.protocol;
  if (base.opaque !== null) {
    if (s !== "" || hash < 0) invalid(input);
    u.opaque = base.opaque; u.query = base.query;
    return u;
  }
  return relative(rest, u, base, input);
};

const fileRoot = () => ({ __proto__: null, protocol: "file:", username: "", password: "", host: "", port: "", path: [], opaque: null, query: null, fragment: null });

const cutQuery = (s, u) => {
  const at = p.indexOf(s, "?");
  if (at < 0) return s;
  u.query = percent(p.slice(s, at + 1), special(u.protocol) ? SPECIAL_QUERY : QUERY);
  return p.slice(s, 0, at);
};

const absolute = (rest, u, input) => {
  const isSpecial = special(u.protocol);
  if (!isSpecial && !p.startsWith(rest, "/")) {
    const path = cutQuery(rest, u);
    u.opaque = percent(path, "").replace(/%20/g, " ").replace(/ $/, "%20");
    return u;
  }
  rest = cutQuery(rest, u);
  const slashes = isSpecial ? (u.protocol === "file:" ? /^[\\/]{2}/ : /^[\\/]*/) : /^\/\//;
  const m = slashes.exec(rest);
  if (m === null) {
    if (u.protocol === "file:") u.host = "";
    u.path = walk(p.slice(rest, 1), [], u);
    return u;
  }
  return authority(p.slice(rest, m[0].length), u, input);
};

const authority = (rest, u, input) => {
  const isSpecial = special(u.protocol);
  let end = rest.search(isSpecial ? /[\\/]/ : /\//);
  if (end < 0) end = rest.length;
  let auth = p.slice(rest, 0, end);
  let path = p.slice(rest, end);
  if (u.protocol === "file:" && drive.test(auth)) { path = "/" + auth + path; auth = ""; }
  const at = auth.lastIndexOf("@");
  if (at >= 0) {
    const user = p.slice(auth, 0, at), colon = p.indexOf(user, ":");
    u.username = percent(colon < 0 ? user : p.slice(user, 0, colon), USER);
    u.password = colon < 0 ? "" : percent(p.slice(user, colon + 1), USER);
    auth = p.slice(auth, at + 1);
  }
  const port = /:(\d*)$/.exec(auth);
  if (port !== null && !/^\[[^\]]*$/.test(auth)) {
    auth = p.slice(auth, 0, port.index);
    if (port[1] !== "") {
      const n = p.Number(port[1]);
      if (n > 65535) invalid(input);
      u.port = n === ports[u.protocol] ? "" : p.String(n);
    }
  } else if (/:[^\]]*$/.test(auth) && !p.startsWith(auth, "[")) {
    invalid(input);
  }
  if (auth === "" && (isSpecial && u.protocol !== "file:" || at >= 0 || port !== null && port[1] !== "")) invalid(input);
  u.host = auth === "" ? "" : hostOf(auth, isSpecial, input);
  if (u.protocol === "file:" && u.host === "localhost") u.host = "";
  if (path !== "" || isSpecial) u.path = walk(p.slice(path, 1), [], u);
  return u;
};

const relative = (rest, u, base, input) => {
  const isSpecial = special(u.protocol), slash = isSpecial ? /^[\\/]/ : /^\//;
  u.username = base.username; u.password = base.password; u.host = base.host; u.port = base.port;
  if (rest === "") { u.path = base.path.slice(); u.query = base.query; return u; }
  rest = cutQuery(rest, u);
  if ((isSpecial ? /^[\\/]{2}/ : /^\/\//).test(rest)) {
    u.username = u.password = u.port = "";
    return authority(p.slice(rest, 2), u, input);
  }
  if (slash.test(rest)) { u.path = walk(p.slice(rest, 1), [], u); return u; }
  u.path = base.path.slice();
  if (rest !== "") u.path = walk(rest, u.path.slice(0, -1), u);
  return u;
};

const pathname = (u) => u.opaque ?? (u.path.length === 0 ? "" : "/" + u.path.join("/"));
const href = (u, withFragment = true) => {
  let s = u.protocol;
  if (u.host !== null) {
    s += "//";
    if (u.username !== "" || u.password !== "") s += u.username + (u.password === "" ? "" : ":" + u.password) + "@";
    s += u.host + (u.port === "" ? "" : ":" + u.port);
  } else if (u.opaque === null && u.path.length > 1 && u.path[0] === "") {
    s += "/.";
  }
  s += pathname(u);
  if (u.query !== null) s += "?" + u.query;
  if (withFragment && u.fragment !== null) s += "#" + u.fragment;
  return s;
};

const form = (s) => percent(s, "!\"#$%&'()+,/:;<=>?@[\\]^`{|}~").replace(/%20/g, "+");
const unform = (s) => unpercent(s.replace(/\+/g, " "));

class URLSearchParams {
  #list = []; #changed = null;
  constructor(init = "") {
    if (typeof init === "object" && init !== null || typeof init === "function") {
      if (typeof init[p.iterator] === "function") {
        for (const pair of init) {
          const [name, value, ...more] = pair;
          if (value === undefined && pair.length !== 2 || more.length > 0) throw new p.TypeError("Each query pair must be an iterable [name, value] tuple");
          this.#list.push([text(name), text(value)]);
        }
      } else {
        for (const name of p.keys(init)) this.#list.push([text(name), text(init[name])]);
      }
    } else {
      this.#read(p.String(init));
    }
  }
  #read(s) {
    if (p.startsWith(s, "?")) s = p.slice(s, 1);
    this.#list = s.split("&").filter((part) => part !== "").map((part) => {
      const eq = p.indexOf(part, "=");
      return eq < 0 ? [unform(part), ""] : [unform(p.slice(part, 0, eq)), unform(p.slice(part, eq + 1))];
    });
  }
  #set(list) { this.#list = list; if (this.#changed !== null) this.#changed(this.toString()); }
  get size() { return this.#list.length; }
  append(name, value) { this.#set([...this.#list, [text(name), text(value)]]); }
  delete(name, value) { this.#set(this.#list.filter((e) => e[0] !== text(name) || value !== undefined && e[1] !== text(value))); }
  get(name) { return this.#list.find((e) => e[0] === text(name))?.[1] ?? null; }
  getAll(name) { return this.#list.filter((e) => e[0] === text(name)).map((e) => e[1]); }
  has(name, value) { return this.#list.some((e) => e[0] === text(name) && (value === undefined || e[1] === text(value))); }
  set(name, value) {
    const at = this.#list.findIndex((e) => e[0] === text(name));
    if (at < 0) { this.append(name, value); return; }
    this.#set(this.#list.filter((e, i) => i <= at || e[0] !== text(name)).map((e, i) => i === at ? [text(name), text(value)] : e));
  }
  sort() { this.#set(this.#list.slice().sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); }
  forEach(f, self) { for (const [name, value] of this.#list) p.apply(f, self, [value, name, this]); }
  *entries() { for (const e of this.#list) yield [e[0], e[1]]; }
  *keys() { for (const e of this.#list) yield e[0]; }
  *values() { for (const e of this.#list) yield e[1]; }
  [p.iterator]() { return this.entries(); }
  toString() { return this.#list.map((e) => form(e[0]) + "=" + form(e[1])).join("&"); }
  static bind(params, s, changed) { params.#read(s); params.#changed = changed; }
}
const text = (v) => p.toWellFormed(p.String(v));
const bind = URLSearchParams.bind;
delete URLSearchParams.bind;

class URL {
  #u; #params;
  constructor(input, base) {
    this.#u = parse(p.String(input), base === undefined ? undefined : parse(p.String(base)));
    this.#params = new URLSearchParams();
    this.#refresh();
  }
  #refresh() { bind(this.#params, this.#u.query ?? "", (s) => { this.#u.query = s === "" ? null : s; }); }
  get href() { return href(this.#u); }
  set href(v) { this.#u = parse(p.String(v)); this.#refresh(); }
  get origin() { const u = this.#u; return special(u.protocol) && u.protocol !== "file:" ? u.protocol + "//" + this.host : "null"; }
  get protocol() { return this.#u.protocol; }
  get username() { return this.#u.username; }
  get password() { return this.#u.password; }
  get host() { return (this.#u.host ?? "") + (this.#u.port === "" ? "" : ":" + this.#u.port); }
  get hostname() { return this.#u.host ?? ""; }
  get port() { return this.#u.port; }
  get pathname() { return pathname(this.#u); }
  set pathname(v) { if (this.#u.opaque === null) this.#u.path = walk(p.String(v).replace(special(this.#u.protocol) ? /^[\\/]/ : /^\//, ""), [], this.#u); }
  get search() { return this.#u.query === null || this.#u.query === "" ? "" : "?" + this.#u.query; }
  set search(v) {
    v = p.String(v);
    if (v === "") this.#u.query = null; else cutQuery("?" + v.replace(/^\?/, ""), this.#u);
    this.#refresh();
  }
  get searchParams() { return this.#params; }
  get hash() { return this.#u.fragment === null || this.#u.fragment === "" ? "" : "#" + this.#u.fragment; }
  set hash(v) { v = p.String(v).replace(/^#/, ""); this.#u.fragment = v === "" ? null : percent(v, FRAGMENT); }
  toString() { return this.href; }
  toJSON() { return this.href; }
  static canParse(input, base) { try { new URL(input, base); return true; } catch { return false; } }
  static parse(input, base) { try { return new URL(input, base); } catch { return null; } }
}
p.defineProperty(URL.prototype, p.toStringTag, { __proto__: null, value: "URL", configurable: true });
p.defineProperty(URLSearchParams.prototype, p.toStringTag, { __proto__: null, value: "URLSearchParams", configurable: true });

return { __proto__: null, URL, URLSearchParams, unpercent };
