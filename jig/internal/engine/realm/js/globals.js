// The globals of a Flow. What is large is made when it is first looked at.
"use strict";

const abort = internal("abort"), timers = internal("timers");

const put = (from, names) => { for (let i = 0; i < names.length; i++) p.hidden(p.global, names[i], from[names[i]]); };
put(abort, ["AbortController", "AbortSignal", "CustomEvent", "DOMException", "Event", "EventTarget"]);
put(timers, ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask"]);

const lazy = (part, names) => { for (let i = 0; i < names.length; i++) p.lazy(names[i], () => internal(part)[names[i]]); };
lazy("console", ["console"]);
lazy("encoding", ["TextEncoder", "TextDecoder", "atob", "btoa"]);
lazy("buffer", ["Buffer"]);
lazy("clone", ["structuredClone"]);
lazy("crypto", ["crypto"]);
lazy("url", ["URL", "URLSearchParams"]);
lazy("performance", ["performance"]);
lazy("process", ["process"]);
p.hidden(p.global, "global", p.global);

if (p.Array.fromAsync === undefined) {
  p.hidden(p.Array, "fromAsync", async function fromAsync(items, map, self) {
    if (map !== undefined && typeof map !== "function") throw new p.TypeError("Array.fromAsync takes a function to map with");
    const out = typeof this === "function" ? new this() : [];
    let i = 0;
    const add = async (v) => {
      p.defineProperty(out, i, { __proto__: null, value: map === undefined ? v : await p.apply(map, self, [v, i]), writable: true, enumerable: true, configurable: true });
      i++;
    };
    if (items[p.asyncIterator] !== undefined || items[p.iterator] !== undefined) {
      for await (const v of items) await add(v);
    } else {
      const n = p.Number(items.length) || 0;
      for (let j = 0; j < n; j++) await add(await items[j]);
    }
    out.length = i;
    return out;
  });
}
