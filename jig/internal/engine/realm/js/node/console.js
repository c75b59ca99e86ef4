"use strict";
return internal("console").console;
