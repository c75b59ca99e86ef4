"use strict";

const { inspect } = internal("inspect");
const { equal: deep } = internal("node/util");

class AssertionError extends p.Error {
  constructor({ message, actual, expected, operator }) {
    super(message ?? inspect(actual) + " " + operator + " " + inspect(expected));
    this.generatedMessage = message === undefined;
    this.code = "ERR_ASSERTION";
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}
p.hidden(AssertionError.prototype, "name", "AssertionError");

const fail = (message, actual, expected, operator) => {
  if (message instanceof p.Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
};
const ok = (v, message) => { if (!v) fail(message ?? "The expression evaluated to a falsy value", v, true, "=="); };

// matches says whether a thrown value is what was expected.
const matches = (e, expected, message) => {
  if (expected === undefined || typeof expected === "string") return;
  if (expected instanceof RegExp) { if (!expected.test(p.String(e))) fail(message, e, expected, "throws"); return; }
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && e instanceof expected) return;
    if (p.isError(expected.prototype) || expected === p.Error) throw e;
    if (expected.call({}, e) !== true) fail(message ?? "The validation function did not return true", e, expected, "throws");
    return;
  }
  for (const name of p.keys(expected).concat(p.isError(expected) ? ["name", "message"] : [])) {
    const want = expected[name];
    if (want instanceof RegExp && typeof e?.[name] === "string" ? !want.test(e[name]) : !deep(e?.[name], want, true)) fail(message, e?.[name], want, "throws");
  }
};

const assert = (v, message) => ok(v, message);
const members = {
  ok, AssertionError,
  fail: (message = "Failed") => fail(message, undefined, undefined, "fail"),
  equal: (a, b, m) => { if (!(a == b || a !== a && b !== b)) fail(m, a, b, "=="); },
  notEqual: (a, b, m) => { if (a == b) fail(m, a, b, "!="); },
  strictEqual: (a, b, m) => { if (!p.Object.is(a, b)) fail(m, a, b, "==="); },
  notStrictEqual: (a, b, m) => { if (p.Object.is(a, b)) fail(m, a, b, "!=="); },
  deepEqual: (a, b, m) => { if (!deep(a, b, false)) fail(m, a, b, "deepEqual"); },
  notDeepEqual: (a, b, m) => { if (deep(a, b, false)) fail(m, a, b, "notDeepEqual"); },
  deepStrictEqual: (a, b, m) => { if (!deep(a, b, true)) fail(m, a, b, "deepStrictEqual"); },
  notDeepStrictEqual: (a, b, m) => { if (deep(a, b, true)) fail(m, a, b, "notDeepStrictEqual"); },
  match: (s, r, m) => { if (!r.test(s)) fail(m, s, r, "match"); },
  doesNotMatch: (s, r, m) => { if (r.test(s)) fail(m, s, r, "doesNotMatch"); },
  ifError: (v) => { if (v !== null && v !== undefined) throw p.isError(v) ? v : new AssertionError({ message: "ifError got unwanted exception: " + inspect(v), actual: v, expected: null, operator: "ifError" }); },
  throws: (f, expected, m) => {
    if (typeof expected === "string") { m = expected; expected = undefined; }
    let e;
    try { f(); } catch (x) { e = { x }; }
    if (e === undefined) fail(m ?? "Missing expected exception.", undefined, expected, "throws");
    matches(e.x, expected, m);
  },
  doesNotThrow: (f, m) => { try { f(); } catch (e) { fail(typeof m === "string" ? m : "Got unwanted exception: " + e?.message, e, undefined, "doesNotThrow"); } },
  rejects: async (v, expected, m) => {
    if (typeof expected === "string") { m = expected; expected = undefined; }
    let e;
    try { await (typeof v === "function" ? v() : v); } catch (x) { e = { x }; }
    if (e === undefined) fail(m ?? "Missing expected rejection.", undefined, expected, "rejects");
    matches(e.x, expected, m);
  },
  doesNotReject: async (v, m) => { try { await (typeof v === "function" ? v() : v); } catch (e) { fail(typeof m === "string" ? m : "Got unwanted rejection: " + e?.message, e, undefined, "doesNotReject"); } },
};
const strict = (v, message) => ok(v, message);
p.Object.assign(assert, members);
p.Object.assign(strict, members, { equal: members.strictEqual, notEqual: members.notStrictEqual, deepEqual: members.deepStrictEqual, notDeepEqual: members.notDeepStrictEqual });
assert.strict = strict;
strict.strict = strict;
return assert;
