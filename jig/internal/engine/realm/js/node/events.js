"use strict";
return internal("events").EventEmitter;
