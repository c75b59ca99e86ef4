"use strict";
const { Buffer, constants } = internal("buffer"), { atob, btoa } = internal("encoding");
return { __proto__: null, Buffer, constants, kMaxLength: constants.MAX_LENGTH, kStringMaxLength: constants.MAX_STRING_LENGTH, atob, btoa, isUtf8: (b) => { try { new (internal("encoding").TextDecoder)("utf-8", { fatal: true }).decode(b); return true; } catch { return false; } } };
