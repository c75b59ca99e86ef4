"use strict";
return internal("node/util").types;
