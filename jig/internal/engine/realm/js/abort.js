// Events and abort signals, as far as Flows need them.
"use strict";

const { tell } = internal("report");

const codes = { __proto__: null, IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, InvalidAccessError: 15, NetworkError: 19, AbortError: 20, QuotaExceededError: 22, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5 };

class DOMException extends p.Error {
  constructor(message = "", options = "Error") {
    super(message);
    const name = typeof options === "object" && options !== null ? options.name ?? "Error" : p.String(options);
    p.hidden(this, "name", name);
    if (typeof options === "object" && options !== null && "cause" in options) p.hidden(this, "cause", options.cause);
  }
  get code() { return codes[this.name] ?? 0; }
}

class Event {
  #type; #target = null; #stopped = false; #prevented = false; #cancelable;
  constructor(type, options = {}) {
    this.#type = p.String(type);
    this.#cancelable = p.Boolean(options?.cancelable);
    p.hidden(this, "timeStamp", p.now());
  }
  get type() { return this.#type; }
  get target() { return this.#target; }
  get currentTarget() { return this.#target; }
  get srcElement() { return this.#target; }
  get bubbles() { return false; }
  get composed() { return false; }
  get cancelable() { return this.#cancelable; }
  get defaultPrevented() { return this.#prevented; }
  get isTrusted() { return false; }
  get eventPhase() { return 0; }
  preventDefault() { if (this.#cancelable) this.#prevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this.#stopped = true; }
  static aim(event, target) { event.#target = target; event.#stopped = false; }
  static stopped(event) { return event.#stopped; }
}
const aim = Event.aim, stopped = Event.stopped;
delete Event.aim;
delete Event.stopped;

class CustomEvent extends Event {
  #detail;
  constructor(type, options = {}) { super(type, options); this.#detail = options?.detail ?? null; }
  get detail() { return this.#detail; }
}

class EventTarget {
  #listeners = p.list();
  addEventListener(type, callback, options) {
    if (callback === null || callback === undefined) return;
    if (typeof callback !== "function" && typeof callback !== "object") throw new p.TypeError("a listener is a function or an object with handleEvent");
    const once = typeof options === "object" && options !== null && p.Boolean(options.once);
    const signal = typeof options === "object" && options !== null ? options.signal : undefined;
    if (signal?.aborted) return;
    type = p.String(type);
    const all = this.#listeners;
    for (let i = 0; i < all.length; i++) if (all[i].type === type && all[i].callback === callback) return;
    all[all.length] = { __proto__: null, type, callback, once, removed: false };
    signal?.addEventListener("abort", () => this.removeEventListener(type, callback), { once: true });
  }
  removeEventListener(type, callback) {
    type = p.String(type);
    const all = this.#listeners, kept = p.list();
    for (let i = 0; i < all.length; i++) {
      if (all[i].type === type && all[i].callback === callback) all[i].removed = true;
      else kept[kept.length] = all[i];
    }
    this.#listeners = kept;
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw new p.TypeError("dispatchEvent takes an Event");
    aim(event, this);
    const all = this.#listeners, count = all.length;
    for (let i = 0; i < count && !stopped(event); i++) {
      const l = all[i];
      if (l.removed || l.type !== event.type) continue;
      if (l.once) this.removeEventListener(l.type, l.callback);
      try {
        if (typeof l.callback === "function") p.apply(l.callback, this, [event]);
        else l.callback.handleEvent(event);
      } catch (e) {
        tell("a listener threw", e);
      }
    }
    return !event.defaultPrevented;
  }
}

const secret = p.Symbol("AbortSignal");

class AbortSignal extends EventTarget {
  #aborted = false; #reason = undefined; #handler = null; #listener = null; #followers = p.list();
  constructor(key) {
    if (key !== secret) throw new p.TypeError("Illegal constructor");
    super();
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  get onabort() { return this.#handler; }
  set onabort(f) {
    this.#handler = typeof f === "function" ? f : null;
    if (this.#listener === null) {
      this.#listener = (event) => { if (this.#handler !== null) return p.apply(this.#handler, this, [event]); };
      this.addEventListener("abort", this.#listener);
    }
  }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static abort(reason) { const s = new AbortSignal(secret); trip(s, arguments.length > 0 ? reason : undefined); return s; }
  static timeout(ms) {
    const s = new AbortSignal(secret);
    internal("timers").after(ms, () => trip(s, new DOMException("The operation was aborted due to timeout", "TimeoutError")));
    return s;
  }
  static any(signals) {
    const s = new AbortSignal(secret), all = [...signals];
    for (let i = 0; i < all.length; i++) if (!(#aborted in all[i])) throw new p.TypeError("AbortSignal.any takes AbortSignals");
    for (let i = 0; i < all.length; i++) if (all[i].#aborted) { trip(s, all[i].#reason); return s; }
    for (let i = 0; i < all.length; i++) { const f = all[i].#followers; f[f.length] = s; }
    return s;
  }
  static trip(s, reason) {
    if (s.#aborted) return;
    s.#aborted = true;
    s.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    const followers = s.#followers;
    s.#followers = p.list();
    s.dispatchEvent(new Event("abort"));
    for (let i = 0; i < followers.length; i++) trip(followers[i], s.#reason);
  }
}
const trip = AbortSignal.trip;
delete AbortSignal.trip;

class AbortController {
  #signal = new AbortSignal(secret);
  get signal() { return this.#signal; }
  abort(reason) { trip(this.#signal, reason); }
}

for (const [c, name] of [[Event, "Event"], [EventTarget, "EventTarget"], [AbortSignal, "AbortSignal"], [AbortController, "AbortController"], [DOMException, "DOMException"], [CustomEvent, "CustomEvent"]])
  p.defineProperty(c.prototype, p.toStringTag, { __proto__: null, value: name, configurable: true });

// fresh makes a signal that only the engine can trip.
const fresh = () => new AbortSignal(secret);

return { __proto__: null, DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, fresh, trip };
