"use strict";
return internal("process").process;
