"use strict";
return internal("node/fs").promises;
