"use strict";
return { __proto__: null, performance: internal("performance").performance };
