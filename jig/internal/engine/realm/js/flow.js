// `@jigging/flow`: thin frozen objects over the host's state of Run/0.
"use strict";

const { snapshot, decode, Violation } = internal("json");
const { fresh, trip } = internal("abort");
const { tell } = internal("report");

class OperationError extends p.Error {
  #mark = true;
  constructor(code, message = code, details) {
    super(message);
    this.code = code;
    if (details !== undefined) this.details = details;
  }
  static made(e) { return typeof e === "object" && e !== null && #mark in e; }
}
const made = OperationError.made;
delete OperationError.made;
p.hidden(OperationError.prototype, "name", "OperationError");

const nothing = () => {};
// quiet keeps a rejection that nobody awaits from being called unhandled.
const quiet = (promise) => { p.then(promise, undefined, nothing); return promise; };
const rejected = (e) => quiet(p.reject(e));

const pending = p.bare();

// settled makes the promise of a waiter of the host's. convert makes its value;
// signal is the author's own way to give up.
const settled = (n, convert, signal) => {
  let entry;
  const promise = quiet(new p.Promise((resolve, reject) => { entry = pending[n] = { __proto__: null, resolve, reject, convert, stop: nothing }; }));
  if (signal !== undefined) {
    const listener = () => { host("giveUp", n); };
    signal.addEventListener("abort", listener);
    entry.stop = () => signal.removeEventListener("abort", listener);
  }
  return promise;
};

const take = (n) => {
  const entry = pending[n];
  delete pending[n];
  try { entry.stop(); } catch (e) { tell("a signal threw", e); }
  return entry;
};

p.on("settle", (n, text) => { const entry = take(n); entry.resolve(entry.convert(text)); });
p.on("mistake", (n, message) => { take(n).reject(new p.TypeError(message)); });
p.on("fail", (n, text) => { take(n).reject(operation(text)); });

const operation = (text) => {
  const f = decode(text);
  return new OperationError(f.code, f.message, f.details);
};

// signalOf reads the one option that matters; anything else is ignored.
const signalOf = (options) => {
  if (options === undefined) return undefined;
  if (typeof options !== "object" && typeof options !== "function" || options === null) throw new p.TypeError("options have to be an object");
  const signal = options.signal;
  if (signal === undefined) return undefined;
  if (typeof signal !== "object" && typeof signal !== "function" || signal === null || !("aborted" in signal) ||
      typeof signal.addEventListener !== "function" || typeof signal.removeEventListener !== "function")
    throw new p.TypeError("signal has to be an AbortSignal");
  return signal;
};

// attempt makes a rejected promise of whatever body throws.
const attempt = (body) => {
  try { return body(); } catch (e) { return rejected(e); }
};

// mistaken turns a value outside JSON/0 into the author's TypeError.
const mistaken = (what, body) => {
  try { return body(); } catch (e) {
    if (e instanceof Violation) throw new p.TypeError(what + ": " + e.message);
    throw e;
  }
};

// members reads the own data members of an argument, without running anything.
const members = (argument, what) => {
  if (typeof argument !== "object" || argument === null) throw new p.TypeError(what + " takes an object");
  const out = p.bare(), names = p.ownKeys(argument);
  for (let i = 0; i < names.length; i++) {
    const d = p.getOwnPropertyDescriptor(argument, names[i]);
    if (typeof names[i] !== "string" || !p.hasOwn(d, "value") || !d.enumerable)
      throw new p.TypeError(what + " takes plain members, and one is a symbol, hidden, a getter or a setter");
    out[names[i]] = d.value;
  }
  return out;
};

const ends = new p.WeakMap(); // endpoint object to its number

const numbersOf = (channels) => {
  const prototype = typeof channels !== "object" || channels === null ? undefined : p.getPrototypeOf(channels);
  if (prototype !== null && prototype !== p.ObjectPrototype) throw new p.TypeError("channels has to be a plain object");
  const given = members(channels, "channels"), names = p.keys(given), out = p.bare();
  if (names.length > 256) throw new p.TypeError("channels has more than 256 entries");
  for (let i = 0; i < names.length; i++) {
    const n = typeof given[names[i]] === "object" && given[names[i]] !== null ? p.weakGet(ends, given[names[i]]) : undefined;
    if (n === undefined) throw new p.TypeError("channels holds something that is no endpoint of this Run");
    out[names[i]] = n;
  }
  return out;
};

const call = (argument, options) => attempt(() => {
  const given = members(argument, "run.call"), out = p.bare();
  const names = p.keys(given);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    out[name] = name === "channels" ? numbersOf(given.channels) : given[name];
  }
  const text = mistaken("run.call", () => snapshot(out));
  const signal = signalOf(options);
  return settled(host("call", text, signal?.aborted === true), decode, signal);
});

const channel = (given, options) => attempt(() => {
  const text = mistaken("run.channel", () => snapshot(given === undefined ? p.bare() : given));
  const signal = signalOf(options);
  return settled(host("create", text, signal?.aborted === true), (result) => {
    const made = decode(result);
    if (made.receive !== undefined) return p.freeze({ send: sender(made.send), receive: receiver(made.receive) });
    return p.freeze({
      send: sender(made.send),
      subscribe: (o) => attempt(() => {
        const s = signalOf(o);
        return settled(host("subscribe", made.source, s?.aborted === true), (g) => receiver(decode(g)), s);
      }),
    });
  }, signal);
});

const seen = (view, rest) => {
  const o = { direction: view.direction, delivery: view.delivery };
  if (view.contract !== undefined) o.contract = p.freeze(view.contract);
  const names = p.ownKeys(rest);
  for (let i = 0; i < names.length; i++) o[names[i]] = rest[names[i]];
  p.weakSet(ends, o, view.n);
  return p.freeze(o);
};

const none = () => undefined;

const sender = (view) => seen(view, {
  send: (value, options) => attempt(() => {
    if (host("closed", view.n)) throw new OperationError("DISCONNECTED", "the sender was closed");
    const text = snapshot(value);
    const signal = signalOf(options);
    return settled(host("send", view.n, text, signal?.aborted === true), none, signal);
  }),
  close: (options) => attempt(() => {
    const signal = signalOf(options), error = options?.error;
    if (error !== undefined && error !== "LAGGED") throw new p.TypeError('close takes {error: "LAGGED"} or no error');
    return settled(host("close", view.n, error === "LAGGED", signal?.aborted === true), none, signal);
  }),
});

const end = () => ({ done: true, value: undefined });

const receiver = (view) => {
  let opened = false;
  const close = (options) => attempt(() => {
    const signal = signalOf(options);
    return settled(host("release", view.n, signal?.aborted === true), none, signal);
  });
  const self = seen(view, {
    startSequence: view.startSequence,
    next: (options) => attempt(() => {
      const signal = signalOf(options);
      return settled(host("next", view.n, signal?.aborted === true), (text) => {
        const item = decode(text);
        return item === null ? end() : { done: false, value: item.value };
      }, signal);
    }),
    return: () => quiet(p.then(close(), end)),
    close,
    [p.asyncIterator]() {
      if (opened) throw new p.TypeError("a receiver is iterated once");
      opened = true;
      host("use", view.n);
      return self;
    },
  });
  return self;
};

let handler, finished, root;

const handle = (f) => {
  if (finished !== undefined) throw new p.TypeError("handle is called once");
  const refused = host("handle");
  if (refused !== undefined) throw new p.Error(refused);
  handler = f;
  return new p.Promise((resolve, reject) => { finished = { __proto__: null, resolve, reject }; });
};

p.on("started", (text) => {
  const given = decode(text), channels = p.bare(), names = p.keys(given.channels);
  for (let i = 0; i < names.length; i++) {
    const view = given.channels[names[i]];
    channels[names[i]] = view.direction === "send" ? sender(view) : receiver(view);
  }
  root = fresh();
  const run = p.freeze({
    input: given.input, settings: given.settings, attachments: given.attachments, channels: p.freeze(channels),
    scratch: given.scratch, deadlineUnixMs: given.deadlineUnixMs, signal: root, call, channel,
  });
  let value;
  try {
    value = handler(run);
  } catch (e) {
    threw(e);
    return;
  }
  p.then(p.resolve(value), succeeded, threw);
});

const succeeded = (value) => {
  let text;
  try {
    text = snapshot(value);
  } catch (e) {
    tell("no result", e);
    text = "";
  }
  host("succeed", text);
};

const threw = (e) => {
  let code = "EXECUTION_FAILED", message = "", details;
  try {
    if (made(e)) {
      const c = e.code, m = e.message, d = e.details;
      if (typeof c === "string" && typeof m === "string" && p.wellFormed(m)) {
        if (d !== undefined) details = snapshot(d);
        code = c;
        message = m;
      }
    }
  } catch {
    code = "EXECUTION_FAILED";
    message = "";
  }
  if (host("fail", code, message, details) === true) tell("the handler threw", e);
};

p.on("aborted", (text) => { if (root !== undefined) trip(root, operation(text)); });
p.on("answered", () => { finished.resolve(); });
p.on("failed", (text) => { finished.reject(operation(text)); });

return { __proto__: null, handle, OperationError };
