// What @jigging/jig exports: each takes the author's form, has the host make it
// normal, and gives it back frozen, without prototypes, its keys in byte order.
"use strict";

const json = internal("json");

const freeze = (v) => {
  if (v === null || typeof v !== "object") return v;
  const names = p.ownKeys(v);
  for (let i = 0; i < names.length; i++) freeze(v[names[i]]);
  return p.freeze(v);
};

const define = (name) => ({
  [name](input) {
    let text;
    try {
      text = json.snapshot(input);
    } catch (e) {
      throw new p.TypeError(name + ": " + e.message);
    }
    return freeze(json.decode(host("define", name, text)));
  },
}[name]);

return { __proto__: null, defineJig: define("defineJig"), defineBinding: define("defineBinding"), discover: define("discover") };
