"use strict";
return internal("node/assert").strict;
