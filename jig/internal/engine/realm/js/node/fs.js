// node:fs over the folders of a Flow: its package, which cannot be written, its
// scratch, and what was attached to the run.
"use strict";

const { bytesOf } = internal("encoding");
const { fromText, toText, wrap } = internal("buffer");

const errnos = { __proto__: null, EPERM: -1, ENOENT: -2, EBADF: -9, EACCES: -13, EEXIST: -17, EXDEV: -18, ENOTDIR: -20, EISDIR: -21, EINVAL: -22, EFBIG: -27, ENOSPC: -28, EROFS: -30, ENAMETOOLONG: -36, ENOTEMPTY: -39, ELOOP: -40 };

const failure = (f, path, dest) => {
  const [code, text, syscall] = f;
  const e = new p.Error(code + ": " + text + ", " + syscall + " '" + path + "'" + (dest === undefined ? "" : " -> '" + dest + "'"));
  e.errno = errnos[code] ?? -5;
  e.code = code;
  e.syscall = syscall;
  e.path = path;
  if (dest !== undefined) e.dest = dest;
  return e;
};

const pathOf = (v, name = "path") => {
  if (typeof v === "object" && v !== null) {
    if (typeof v.href === "string") v = internal("node/url").fileURLToPath(v);
    else if (p.isView(v)) v = toText(bytesOf(v));
  }
  if (typeof v !== "string" || v === "" && name !== "path" || p.indexOf(v, "\0") >= 0) {
    const e = new p.TypeError(`The "${name}" argument must be a string, Buffer or URL without null bytes`);
    p.hidden(e, "code", typeof v === "string" ? "ERR_INVALID_ARG_VALUE" : "ERR_INVALID_ARG_TYPE");
    throw e;
  }
  return v;
};

// ask runs one operation of the host.
const ask = (op, path, ...rest) => {
  const v = host("fs", op, path, ...rest);
  if (p.isArray(v)) throw failure(v, path, op === "rename" || op === "copyfile" ? rest[0] : undefined);
  return v;
};

const options = (o) => typeof o === "string" ? { encoding: o } : o ?? {};
const dataOf = (v, encoding) => {
  if (typeof v === "string") return p.toBase64(fromText(v, encoding));
  if (p.isView(v) || v instanceof p.ArrayBuffer) return p.toBase64(bytesOf(v));
  const e = new p.TypeError('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView');
  p.hidden(e, "code", "ERR_INVALID_ARG_TYPE");
  throw e;
};

class Kind {
  #kind;
  constructor(kind) { this.#kind = kind; }
  isFile() { return this.#kind === "file"; }
  isDirectory() { return this.#kind === "dir"; }
  isSymbolicLink() { return this.#kind === "link"; }
  isFIFO() { return this.#kind === "fifo"; }
  isSocket() { return this.#kind === "socket"; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return this.#kind === "device"; }
}
class Stats extends Kind {
  constructor(s, big) {
    super(s.kind);
    const n = (v) => big ? p.BigInt(p.Math.trunc(v)) : v;
    this.dev = n(0); this.ino = n(s.ino); this.mode = n(s.mode); this.nlink = n(1); this.uid = n(65534); this.gid = n(65534); this.rdev = n(0);
    this.size = n(s.size); this.blksize = n(4096); this.blocks = n(p.Math.ceil(s.size / 512));
    this.atimeMs = this.mtimeMs = this.ctimeMs = this.birthtimeMs = n(s.mtimeMs);
    this.atime = this.mtime = this.ctime = this.birthtime = new p.Date(s.mtimeMs);
  }
}
class Dirent extends Kind {
  constructor(kind, name, parent) { super(kind); this.name = name; this.parentPath = this.path = parent; }
}

const stat = (op) => (path, o) => {
  path = pathOf(path);
  try {
    return new Stats(p.parse(ask(op, path)), o?.bigint === true);
  } catch (e) {
    if (o?.throwIfNoEntry === false && e.code === "ENOENT") return undefined;
    throw e;
  }
};

const list = (path, prefix, o, out) => {
  const entries = p.parse(ask("scandir", path));
  for (let i = 0; i < entries.length; i++) {
    const e = entries[i], name = prefix + e.name;
    out.push(o.withFileTypes ? new Dirent(e.kind, e.name, path) : o.encoding === "buffer" ? wrap(fromText(name)) : name);
    if (o.recursive && e.kind === "dir") list(path.replace(/\/$/, "") + "/" + e.name, name + "/", o, out);
  }
  return out;
};

const copyTree = (from, to, o) => {
  if (new Stats(p.parse(ask("lstat", from))).isDirectory()) {
    if (!o.recursive) throw failure(["ERR_FS_EISDIR", "recursive is needed to copy a directory", "cp"], from);
    ask("mkdir", to, true);
    const entries = p.parse(ask("scandir", from));
    for (let i = 0; i < entries.length; i++) copyTree(from + "/" + entries[i].name, to + "/" + entries[i].name, o);
    return;
  }
  if (o.force === false && sync.existsSync(to)) { if (o.errorOnExist) throw failure(["EEXIST", "file already exists", "cp"], to); return; }
  ask("copyfile", from, to, false);
};

// Each is given once and comes in three forms: Sync, with a callback, and as a
// promise.
const each = {
  __proto__: null,
  readFile: (path, o) => {
    o = options(o);
    path = pathOf(path);
    if (o.encoding === "utf8" || o.encoding === "utf-8") return ask("text", path);
    const b = wrap(p.fromBase64(ask("read", path)));
    return o.encoding === undefined || o.encoding === null || o.encoding === "buffer" ? b : b.toString(o.encoding);
  },
  writeFile: (path, data, o) => { o = options(o); ask("write", pathOf(path), dataOf(data, o.encoding), o.flag ?? "w", modeOf(o.mode, 0o666)); },
  appendFile: (path, data, o) => { o = options(o); ask("write", pathOf(path), dataOf(data, o.encoding), o.flag ?? "a", modeOf(o.mode, 0o666)); },
  readdir: (path, o) => list(pathOf(path), "", options(o), []),
  stat: stat("stat"),
  lstat: stat("lstat"),
  mkdir: (path, o) => {
    const made = ask("mkdir", pathOf(path), typeof o === "object" && o !== null && o.recursive === true);
    return made === "" ? undefined : made;
  },
  mkdtemp: (prefix) => ask("mkdtemp", pathOf(prefix, "prefix")),
  rm: (path, o) => { ask("rm", pathOf(path), o?.recursive === true, o?.force === true); },
  rmdir: (path, o) => { ask(o?.recursive === true ? "rm" : "rmdir", pathOf(path), true, false); },
  unlink: (path) => { ask("unlink", pathOf(path)); },
  rename: (from, to) => { ask("rename", pathOf(from, "oldPath"), pathOf(to, "newPath")); },
  copyFile: (from, to, mode) => { ask("copyfile", pathOf(from, "src"), pathOf(to, "dest"), (mode & 1) === 1); },
  cp: (from, to, o) => { copyTree(pathOf(from, "src"), pathOf(to, "dest"), o ?? {}); },
  access: (path, mode) => { ask("access", pathOf(path), mode ?? 0); },
  realpath: (path) => ask("realpath", pathOf(path)),
  truncate: (path, n) => { ask("truncate", pathOf(path), n ?? 0); },
};

const modeOf = (m, standard) => typeof m === "string" ? parseInt(m, 8) : m ?? standard;

const promises = { __proto__: null }, callbacks = { __proto__: null }, sync = { __proto__: null };
for (const name of p.keys(each)) {
  const f = each[name];
  sync[name + "Sync"] = f;
  promises[name] = async (...args) => f(...args);
  callbacks[name] = (...args) => {
    const done = args.pop();
    if (typeof done !== "function") { const e = new p.TypeError('The "cb" argument must be of type function'); p.hidden(e, "code", "ERR_INVALID_ARG_TYPE"); throw e; }
    p.then(promises[name](...args), (v) => internal("timers").queueMicrotask(() => done(null, v)), (e) => internal("timers").queueMicrotask(() => done(e)));
  };
}
sync.existsSync = (path) => { try { ask("access", pathOf(path), 0); return true; } catch { return false; } };
sync.writeSync = (fd, data, ...rest) => {
  if (fd !== 1 && fd !== 2) throw failure(["EBADF", "bad file descriptor", "write"], p.String(fd));
  const text = dataOf(data, typeof rest[1] === "string" ? rest[1] : undefined);
  host("write", fd, text);
  return p.fromBase64(text).length;
};
callbacks.exists = (path, done) => { internal("timers").queueMicrotask(() => done(sync.existsSync(path))); };

const constants = p.freeze({ F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1 });
promises.constants = constants;
return { __proto__: null, ...callbacks, ...sync, promises, constants, Stats, Dirent };
