"use strict";
return internal("node/path");
