"use strict";

const origin = p.now() - host("now");
const performance = p.freeze({ now: () => host("now"), timeOrigin: origin, toJSON: () => ({ timeOrigin: origin }) });

return { __proto__: null, performance };
