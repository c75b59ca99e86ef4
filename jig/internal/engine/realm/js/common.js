// CommonJS modules, as a package's node_modules may still hold them.
"use strict";

const cache = new p.Map();
let main; // the module of the entry, where that is a CommonJS file

const problem = (message, code) => {
  const e = new p.Error(message);
  p.hidden(e, "code", code);
  return e;
};

// load returns module.exports of the file of that name.
const load = (name) => {
  const known = p.mapGet(cache, name);
  if (known !== undefined) return known.exports;
  const text = host("common", name);
  if (typeof text !== "string") throw problem(text[0], "ERR_REQUIRE_ESM");
  const module = { exports: {}, id: name, filename: name, loaded: false, children: [], paths: [] };
  if (p.mapSize(cache) === 0 && name === p.parse(host("about")).entry) main = module;
  p.mapSet(cache, name, module);
  const require = (specifier) => {
    const found = host("require", name, p.String(specifier));
    if (typeof found !== "string") throw problem(found[0], "MODULE_NOT_FOUND");
    if (p.startsWith(found, "part:")) return internal(p.slice(found, 5));
    if (p.startsWith(found, "json:")) return p.parse(p.slice(found, 5));
    return load(found);
  };
  require.cache = p.bare();
  require.main = main;
  require.resolve = (specifier) => {
    const found = host("require", name, p.String(specifier), true);
    if (typeof found !== "string") throw problem(found[0], "MODULE_NOT_FOUND");
    return found;
  };
  module.require = require;
  let done = false;
  try {
    const slash = name.lastIndexOf("/");
    p.apply(p.compile("exports,require,module,__filename,__dirname", text), module.exports, [module.exports, require, module, name, p.slice(name, 0, slash)]);
    module.loaded = done = true;
  } finally {
    if (!done) p.mapDelete(cache, name);
  }
  return module.exports;
};

const refuse = (message) => { throw problem(message, "ERR_MODULE_REFUSED"); };

return { __proto__: null, load, refuse };
