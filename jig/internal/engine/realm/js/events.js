// EventEmitter, as node:events has it.
"use strict";

const { tell } = internal("report");

class EventEmitter {
  #on = p.bare(); #most = 10;
  #add(name, f, once, first) {
    if (typeof f !== "function") throw new p.TypeError('The "listener" argument must be of type function');
    if (this.#on.newListener !== undefined && name !== "newListener") this.emit("newListener", name, f);
    const all = this.#on[name] ?? [], entry = { f, once };
    this.#on[name] = first ? [entry, ...all] : [...all, entry];
    return this;
  }
  on(name, f) { return this.#add(name, f, false, false); }
  addListener(name, f) { return this.#add(name, f, false, false); }
  once(name, f) { return this.#add(name, f, true, false); }
  prependListener(name, f) { return this.#add(name, f, false, true); }
  prependOnceListener(name, f) { return this.#add(name, f, true, true); }
  off(name, f) {
    const all = this.#on[name];
    if (all === undefined) return this;
    for (let i = all.length - 1; i >= 0; i--) {
      if (all[i].f !== f && all[i].f.listener !== f) continue;
      const rest = [...all.slice(0, i), ...all.slice(i + 1)];
      if (rest.length === 0) delete this.#on[name]; else this.#on[name] = rest;
      if (this.#on.removeListener !== undefined) this.emit("removeListener", name, f);
      break;
    }
    return this;
  }
  removeListener(name, f) { return this.off(name, f); }
  removeAllListeners(name) {
    if (name === undefined) this.#on = p.bare(); else delete this.#on[name];
    return this;
  }
  emit(name, ...args) {
    const all = this.#on[name];
    if (all === undefined) {
      if (name !== "error") return false;
      if (args[0] instanceof Error) throw args[0];
      const e = new Error("Unhandled error." + (args.length > 0 ? " (" + internal("inspect").inspect(args[0]) + ")" : ""));
      e.context = args[0];
      throw e;
    }
    for (let i = 0; i < all.length; i++) {
      if (all[i].once) this.off(name, all[i].f);
      const result = p.apply(all[i].f, this, args);
      if (result instanceof p.Promise) p.then(result, undefined, (e) => tell("unhandled", e));
    }
    return true;
  }
  listenerCount(name, f) {
    const all = this.#on[name] ?? [];
    return f === undefined ? all.length : all.filter((l) => l.f === f).length;
  }
  listeners(name) { return (this.#on[name] ?? []).map((l) => l.f); }
  rawListeners(name) { return this.listeners(name); }
  eventNames() { return p.ownKeys(this.#on); }
  setMaxListeners(n) { this.#most = n; return this; }
  getMaxListeners() { return this.#most; }
}

// once waits for one event.
const once = (emitter, name, options) => new p.Promise((resolve, reject) => {
  const signal = options?.signal;
  if (signal?.aborted) { reject(signal.reason); return; }
  const stop = () => {
    emitter.removeListener?.(name, yes);
    emitter.removeListener?.("error", no);
    signal?.removeEventListener("abort", abort);
  };
  const yes = (...args) => { stop(); resolve(args); };
  const no = (e) => { stop(); reject(e); };
  const abort = () => { stop(); reject(signal.reason); };
  signal?.addEventListener("abort", abort);
  if (typeof emitter.on === "function") {
    emitter.on(name, yes);
    if (name !== "error") emitter.on("error", no);
  } else {
    emitter.addEventListener(name, (e) => { stop(); resolve([e]); }, { once: true });
  }
});

EventEmitter.EventEmitter = EventEmitter;
EventEmitter.once = once;
EventEmitter.defaultMaxListeners = 10;

return { __proto__: null, EventEmitter, once, defaultMaxListeners: 10 };
