"use strict";
const { URL, URLSearchParams, unpercent } = internal("url");

const fileURLToPath = (u) => {
  const url = typeof u === "string" ? new URL(u) : u;
  const fail = (code, why) => { const e = new p.TypeError(why); p.hidden(e, "code", code); throw e; };
  if (!(url instanceof URL)) fail("ERR_INVALID_ARG_TYPE", 'The "path" argument must be of type string or an instance of URL');
  if (url.protocol !== "file:") fail("ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  if (url.hostname !== "") fail("ERR_INVALID_FILE_URL_HOST", "File URL host must be empty");
  if (/%2f/i.test(url.pathname)) fail("ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
  return unpercent(url.pathname);
};

const pathToFileURL = (s) => {
  const slash = s.endsWith("/") ? "/" : "", full = internal("node/path").resolve(s);
  return new URL("file://" + (full === "/" ? "/" : full + slash).replace(/[%\\\n\r\t?#]/g, (c) => "%" + (c.charCodeAt(0) < 16 ? "0" : "") + c.charCodeAt(0).toString(16).toUpperCase()));
};

return {
  __proto__: null, URL, URLSearchParams, fileURLToPath, pathToFileURL, format: (u) => p.String(u),
  domainToASCII: (s) => { try { return new URL("http://" + s).hostname; } catch { return ""; } },
  urlToHttpOptions: (u) => ({ protocol: u.protocol, hostname: u.hostname, hash: u.hash, search: u.search, pathname: u.pathname, path: u.pathname + u.search, href: u.href, port: u.port === "" ? undefined : p.Number(u.port) }),
};
