// The three streams. A Flow that brings an SDK of its own speaks Run/0 over stdin
// and stdout by itself; one that uses the engine's has no stdout, and what it
// writes there goes to standard error.
"use strict";

const { EventEmitter } = internal("events");
const { bytesOf } = internal("encoding");
const buffer = internal("buffer");

const bytes = (chunk, encoding) => {
  if (typeof chunk === "string") return buffer.fromText(chunk, encoding);
  if (p.isView(chunk)) return bytesOf(chunk);
  const e = new p.TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView');
  p.hidden(e, "code", "ERR_INVALID_ARG_TYPE");
  throw e;
};

const later = (f, ...args) => { if (typeof f === "function") internal("timers").queueMicrotask(() => f(...args)); };

class Output extends EventEmitter {
  #fd; #ended = false;
  constructor(fd) { super(); this.#fd = fd; }
  get fd() { return this.#fd; }
  get isTTY() { return undefined; }
  get writable() { return !this.#ended; }
  get writableEnded() { return this.#ended; }
  get writableFinished() { return this.#ended; }
  get writableLength() { return 0; }
  get writableNeedDrain() { return false; }
  get writableHighWaterMark() { return 16384; }
  get destroyed() { return false; }
  write(chunk, encoding, done) {
    if (typeof encoding === "function") { done = encoding; encoding = undefined; }
    if (this.#ended) {
      const e = new p.Error("write after end");
      p.hidden(e, "code", "ERR_STREAM_WRITE_AFTER_END");
      later(done, e);
      internal("timers").queueMicrotask(() => this.emit("error", e));
      return false;
    }
    host("write", this.#fd, p.toBase64(bytes(chunk, encoding)));
    later(done, null);
    return true;
  }
  end(chunk, encoding, done) {
    if (typeof chunk === "function") { done = chunk; chunk = undefined; }
    if (typeof encoding === "function") { done = encoding; encoding = undefined; }
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (!this.#ended) {
      this.#ended = true;
      if (this.#fd === 1) host("end");
      internal("timers").queueMicrotask(() => { this.emit("finish"); this.emit("close"); });
    }
    later(done);
    return this;
  }
  cork() {}
  uncork() {}
  setDefaultEncoding() { return this; }
  destroy() { return this.end(); }
  ref() { return this; }
  unref() { return this; }
}

// Input reads what the host writes. It holds one chunk at a time.
class Input extends EventEmitter {
  #flowing = null; #started = false; #asked = false; #ended = false; #closed = false; #decoder = null; #queue = []; #error = null;
  get fd() { return 0; }
  get isTTY() { return undefined; }
  get readable() { return !this.#ended; }
  get readableEnded() { return this.#ended; }
  get readableFlowing() { return this.#flowing; }
  get readableEncoding() { return this.#decoder === null ? null : "utf8"; }
  get destroyed() { return this.#closed; }
  #ask() {
    if (this.#asked || this.#ended || this.#closed) return;
    if (!this.#started) { this.#started = true; active = this; }
    this.#asked = true;
    host("read");
  }
  arrived(text) {
    this.#asked = false;
    if (text === "") {
      this.#ended = true;
      const rest = this.#decoder?.decode();
      if (rest) this.#queue.push(rest);
    } else {
      const chunk = buffer.wrap(p.fromBase64(text));
      const item = this.#decoder === null ? chunk : this.#decoder.decode(chunk, { stream: true });
      if (item.length > 0) this.#queue.push(item);
    }
    this.#move();
  }
  #move() {
    if (this.#flowing === true) {
      while (this.#queue.length > 0 && this.#flowing) this.emit("data", this.#queue.shift());
      if (this.#flowing) this.#ask();
    } else if (this.listenerCount("readable") > 0 && (this.#queue.length > 0 || this.#ended)) {
      this.emit("readable");
    }
    if (this.#ended && this.#queue.length === 0 && !this.#closed && (this.#flowing || this.#waiting !== null)) {
      this.#closed = true;
      this.emit("end");
      this.emit("close");
    }
    this.#wake();
  }
  #waiting = null;
  #wake() { const w = this.#waiting; if (w !== null && (this.#queue.length > 0 || this.#ended)) { this.#waiting = null; w(); } }
  #heard(name) {
    if (name === "data" && this.#flowing !== false) this.resume();
    if (name === "readable") this.#ask();
    return this;
  }
  on(name, f) { super.on(name, f); return this.#heard(name); }
  addListener(name, f) { return this.on(name, f); }
  once(name, f) { super.once(name, f); return this.#heard(name); }
  read() {
    const item = this.#queue.length === 0 ? null : this.#queue.shift();
    this.#ask();
    if (this.#ended && this.#queue.length === 0 && !this.#closed && item === null) {
      this.#closed = true;
      internal("timers").queueMicrotask(() => { this.emit("end"); this.emit("close"); });
    }
    return item;
  }
  setEncoding(encoding) {
    if (p.exec(/^utf-?8$/i, p.String(encoding)) === null) throw new p.TypeError("standard input is read as utf8 or as bytes");
    const { TextDecoder } = internal("encoding");
    this.#decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return this;
  }
  resume() {
    this.#flowing = true;
    internal("timers").queueMicrotask(() => { if (this.#flowing === true) this.#move(); });
    return this;
  }
  pause() { this.#flowing = false; return this; }
  isPaused() { return this.#flowing === false; }
  ref() { host("stdinRef", true); return this; }
  unref() { host("stdinRef", false); return this; }
  destroy() {
    if (this.#closed) return this;
    this.#closed = this.#ended = true;
    this.#queue = [];
    host("stdinRef", false);
    internal("timers").queueMicrotask(() => this.emit("close"));
    this.#wake();
    return this;
  }
  pipe() { throw new p.Error("standard input cannot be piped here"); }
  async *[p.asyncIterator]() {
    this.#flowing = false;
    try {
      for (;;) {
        while (this.#queue.length > 0) yield this.#queue.shift();
        if (this.#ended) break;
        const more = new p.Promise((resolve) => { this.#waiting = resolve; });
        this.#ask();
        await more;
      }
    } finally {
      this.destroy();
    }
  }
}

let active = null;
p.on("stdin", (text) => active.arrived(text));

return { __proto__: null, stdin: new Input(), stdout: new Output(1), stderr: new Output(2) };
