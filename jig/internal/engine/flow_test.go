package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// rule: E-001, E-005, J-058, J-059
func TestEcho(t *testing.T) {
	e := run(t, flow{files: body(`return { outcome: "done", output: run.input };`), input: `{"a":[1,"é😀",null,true,1.5,-0],"__proto__":{"x":1}}`})
	e.is(`{"__proto__":{"x":1},"a":[1,"é😀",null,true,1.5,0]}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":{"__proto__":{"x":1},"a":[1,"é😀",null,true,1.5,0]}}}`+"\n", e.wire)
	for _, name := range []string{"FLOW.js", "FLOW.mjs"} {
		run(t, flow{files: map[string]string{name: `import * as sdk from "@jigging/flow"; sdk.handle(() => ({ outcome: "done", output: [Object.keys(sdk), sdk.default === undefined] }));`}}).is(`[["OperationError","handle"],true]`)
	}
}

// rule: E-002, E-003, E-004, E-009, E-010, E-012, E-040, E-066
func TestTheContext(t *testing.T) {
	checks(t, "import { OperationError as Other } from './dir/again.ts';", map[string]string{
		"the run is frozen": `
			assert.ok(Object.isFrozen(run) && Object.isFrozen(run.channels) && Object.getPrototypeOf(run.channels) === null); throws(() => { run.input = 1; });
			assert.deepEqual(Object.keys(run), ["input", "settings", "attachments", "channels", "scratch", "deadlineUnixMs", "signal", "call", "channel"]); assert.deepEqual([run.scratch, run.deadlineUnixMs], ["/scratch", 1893456000000]);`,
		"its data have no prototype and are not frozen": `
			for (const o of [run.input, run.settings, run.attachments, run.input.a[0]]) { assert.equal(Object.getPrototypeOf(o), null); assert.ok(!Object.isFrozen(o)); throws(() => o.hasOwnProperty("a"), /not a function/); throws(() => String(o)); assert.ok(!(o instanceof Object)); }
			assert.ok(Object.hasOwn(run.input, "a") && run.input.a instanceof Array && JSON.stringify({ ...run.input }) === '{"a":[{"b":1}]}'); run.input.more = 1; assert.deepEqual(Object.keys(run.settings.s), ["t"]);`,
		"what Run/1 had is undefined": `for (const n of ["callFlow", "callEffect", "callCapability"]) { assert.equal(run[n], undefined); assert.ok(throws(() => run[n]()) instanceof TypeError); }`,
		"there is one OperationError": `
			assert.equal(OperationError, Other); const { call } = run, e = await rejects(call({ operationId: "x", slot: "none", input: 1 })); assert.ok(e instanceof OperationError && e instanceof Error && e.code === "UNAVAILABLE" && e.name === "OperationError" && !("details" in e));
			const plain = new OperationError("LAGGED"); assert.deepEqual([plain.message, plain.code, Object.hasOwn(plain, "details"), String(plain)], ["LAGGED", "LAGGED", false, "OperationError: LAGGED"]);
			const full = new OperationError("LAGGED", "why", { a: 1 }); assert.deepEqual([full.message, full.details], ["why", { a: 1 }]); assert.ok(Object.hasOwn(new OperationError("X", "m", null), "details"));`,
		"endpoints": `
			const { channel } = run; const pair = await channel(); assert.ok(Object.isFrozen(pair) && Object.isFrozen(pair.send) && Object.isFrozen(pair.receive));
			assert.deepEqual(Object.keys(pair.send), ["direction", "delivery", "send", "close"]); assert.deepEqual([pair.send.direction, pair.send.delivery, pair.receive.direction, pair.receive.startSequence], ["send", "direct", "receive", 1]);
			assert.ok(!JSON.stringify(pair).includes("e") || !/e[0-9a-f]{32}/.test(JSON.stringify(pair))); const { send } = pair.send, { next, close } = pair.receive; await send({ x: [1] }); const item = await next(); assert.deepEqual(item.value.x, [1]); assert.equal(Object.getPrototypeOf(item.value), null); await close();`,
	})
}

// rule: E-002, E-008, E-014, E-015, E-016
func TestWhatAHandlerThrows(t *testing.T) {
	for _, c := range []struct {
		code    string
		want    fault.Code
		message string
		text    string // the first line on standard error
	}{
		{`throw new Error("secret plan");`, fault.ExecutionFailed, "Run execution failed", "Error: secret plan"},
		{`throw new TypeError("a\nb\x1e");`, fault.ExecutionFailed, "Run execution failed", `TypeError: a\nb` + "\ufffd"},
		{`throw "text";`, fault.ExecutionFailed, "Run execution failed", "Uncaught: text"},
		{`throw null;`, fault.ExecutionFailed, "Run execution failed", "Uncaught: null"},
		{`throw { get message() { throw 1; } };`, fault.ExecutionFailed, "Run execution failed", "[object Object]"},
		{`run.callFlow();`, fault.ExecutionFailed, "Run execution failed", "TypeError: not a function"},
		{`throw new Error("é".repeat(5000));`, fault.ExecutionFailed, "Run execution failed", "Error: " + strings.Repeat("é", 4096-7)},
		{`throw new OperationError("UNAVAILABLE", "try later", { after: [1] });`, fault.Unavailable, "try later", ""},
		{`throw new OperationError("UNAVAILABLE");`, fault.Unavailable, "UNAVAILABLE", ""},
		{`throw new (class Mine extends OperationError {})("LAGGED", "m");`, fault.Lagged, "m", ""},
		{`throw new OperationError("UNAVAILABLE", "é".repeat(1024));`, fault.Unavailable, strings.Repeat("é", 1024), ""},
		{`throw new OperationError("UNAVAILABLE", "é".repeat(1025));`, fault.ExecutionFailed, "Run execution failed", "OperationError: " + strings.Repeat("é", 1025)},
		{`throw new OperationError("UNAVAILABLE", "");`, fault.ExecutionFailed, "Run execution failed", "OperationError: "},
		{`throw new OperationError("UNAVAILABLE", "\ud800");`, fault.ExecutionFailed, "Run execution failed", "OperationError: \ufffd"},
		{`const e = new OperationError("UNAVAILABLE"); e.message = 5; throw e;`, fault.ExecutionFailed, "Run execution failed", "OperationError: 5"},
		{`throw new OperationError("UNAVAILABLE", "m", () => {});`, fault.ExecutionFailed, "Run execution failed", "OperationError: m"},
		{`throw new OperationError("UNAVAILABLE", "m", { get x() { return 1; } });`, fault.ExecutionFailed, "Run execution failed", "OperationError: m"},
		{`throw new OperationError("PROTOCOL_ERROR", "m");`, fault.ExecutionFailed, "Run execution failed", "OperationError: m"},
		{`throw new OperationError("CHANNEL_LOST", "m");`, fault.ExecutionFailed, "Run execution failed", "OperationError: m"},
		{`throw new OperationError("ODD", "m");`, fault.ExecutionFailed, "Run execution failed", "OperationError: m"},
		{`throw { code: "UNAVAILABLE", message: "forged", name: "OperationError" };`, fault.ExecutionFailed, "Run execution failed", "OperationError: forged"},
	} {
		e := run(t, flow{files: body(c.code)}).fails(c.want)
		require.Equal(t, c.message, e.err.Message, c.code)
		first, _, _ := strings.Cut(e.text, "\n")
		require.Equal(t, c.text, first, c.code)
		require.Zero(t, e.status, "a failed root is an answer like any other")
		if c.code != `throw null;` { // which is what the engine throws where memory is over
			require.Empty(t, e.diags)
		}
	}
	e := run(t, flow{files: body(`throw new OperationError("UNAVAILABLE", "m", { after: [1] });`)})
	require.JSONEq(t, `{"after":[1]}`, string(e.err.Details))
	for _, handler := range []string{`undefined`, `5`, `{}`} {
		run(t, flow{files: only(`import { handle } from "@jigging/flow"; await handle(` + handler + `);`)}).fails(fault.ExecutionFailed)
	}
	run(t, flow{files: only(`import { handle } from "@jigging/flow"; handle(() => ({ outcome: "done", output: 1 }));`)}).is("1")
	run(t, flow{files: only(`import { handle } from "@jigging/flow"; handle(() => ({ then: (f) => f({ outcome: "done", output: 2 }) }));`)}).is("2")
}

func TestAnErrorSaysWhereTheAuthorWroteIt(t *testing.T) {
	e := run(t, flow{files: map[string]string{
		"FLOW.ts":     "import { handle } from '@jigging/flow';\ntype Long = {\n  a: string,\n};\nimport { fail } from './lib/fail.ts';\nhandle(async (run) => {\n  const x: Long = fail(run.input as never);\n  return x as never;\n});\n",
		"lib/fail.ts": "interface I {\n  x: number\n}\n\nexport function fail(i: I): never {\n  throw new RangeError(`no ${i}`);\n}\n",
	}}).fails(fault.ExecutionFailed)
	require.Equal(t, "RangeError: no null\n    at fail (lib/fail.ts:6:13)\n    at FLOW.ts:7:19\n", e.text)
}

// rule: E-017, E-018, E-110
func TestResultsThatAreNone(t *testing.T) {
	done := func(output string) string { return `return { outcome: "done", output: ` + output + ` };` }
	for code, why := range map[string]string{
		`return { outcome: "done", output: 1, more: 1 };`: "nothing else", `return { outcome: "done" };`: "with both", `return { outcome: "Done", output: 1 };`: "lower-case",
		`return undefined;`: "is undefined", `return [];`: "{outcome, output}", `return { outcome: 1, output: 1 };`: "lower-case",
		`return new (class { outcome = "done"; output = 1; })();`:          "no plain object",
		`return { get outcome() { throw new Error("ran"); }, output: 1 };`: "/outcome is a getter",
		done(`undefined`): "/output is undefined", done(`"\ud800"`): "surrogate", done(`{ get x() { throw new Error("ran"); } }`): "/output/x is a getter",
		done(`JSON.parse("[".repeat(127) + "]".repeat(127))`): "does not fit a message", done(`["x".repeat(8e6), "x".repeat(8e6), "x".repeat(8e5)]`): "16777216 bytes",
	} {
		e := run(t, flow{files: body(code)}).fails(fault.InvalidResult)
		require.Equal(t, "Run result is invalid", e.err.Message)
		require.Contains(t, e.text, why, code)
		require.NotContains(t, e.text, "ran")
	}
	run(t, flow{files: body(`return { outcome: "not-found", output: null };`)}).fails(fault.InvalidResult) // nobody declared it
}

// rule: E-018, E-043, E-110
func TestValuesOutsideJSON0(t *testing.T) {
	checks(t, "", map[string]string{
		"an item is walked like a result": `
			const { send, receive } = await run.channel(); let ran = false;
			const bad = { "undefined": undefined, "Map": new Map(), "Set": new Set(), "Date": new Date(), "bigint": 10n, "function": () => 1, "symbol": Symbol(), "NaN": NaN, "Infinity": 1 / 0, "2^53": 2 ** 53, "-2^53": -(2 ** 53), "1e300": 1e300, "hole": [1, , 2], "extra": Object.assign([1], { x: 1 }), "length": Object.assign([], { length: 3 }),
				"getter": { get x() { ran = true; return 1; } }, "setter": { set x(v) {} }, "symbol key": { [Symbol("s")]: 1 }, "cycle": (() => { const o = {}; o.o = o; return o; })(), "high": "\ud800", "low": "a\udc00b", "name": { "\udc00": 1 }, "hidden": Object.defineProperty({}, "x", { value: 1 }), "class": new (class X {})(), "deep undefined": { a: [{ b: undefined }] },
				"inherits": Object.create({ x: 1 }), "bytes": new Uint8Array(1), "boxed": new String("x"), "promise": Promise.resolve(1), "subclass": new (class extends Array {})(), "error": new Error("x"), "proxy getter": new Proxy({}, { ownKeys: () => ["x"], getOwnPropertyDescriptor: () => ({ get() { ran = true; }, enumerable: true, configurable: true }) }), "array getter": Object.defineProperty([1], 0, { get() { ran = true; return 1; }, enumerable: true, configurable: true }),
				"65,537 items": new Array(65537).fill(0), "a name of 1,025 bytes": { ["x".repeat(1025)]: 1 }, "129 deep": JSON.parse("[".repeat(129) + "]".repeat(129)), "8 MiB and a byte": "x".repeat(8388609) };
			for (const [name, value] of Object.entries(bad)) { const e = await rejects(() => send.send(value)); assert.equal(e.name, "JsonViolation", name + " " + e); assert.ok(e instanceof Error && !(e instanceof OperationError), name); }
			assert.ok(!ran, "no getter runs"); await send.send({ shared: [1] }); assert.deepEqual((await receive.next()).value.shared, [1]); await receive.close();`,
	})
}

// The large ones are only tried with -long.
//
// rule: E-043, R-038
func TestTheLimitsOfJSON0CountBytes(t *testing.T) {
	checks(t, "", map[string]string{
		"an item is measured before anything else": `
			const { send, receive } = await run.channel(), signal = AbortSignal.abort(), verdict = async (value) => { const e = await rejects(send.send(value, { signal })); return e instanceof OperationError ? e.code : e.name; };
			const name = (s) => ({ [s]: 1 }), x = (n) => "x".repeat(n), han = (n) => "中".repeat(n), nested = (n) => JSON.parse("[".repeat(n) + "]".repeat(n));
			for (const [what, most, make] of [
				["a name", 1024, (n) => name(x(n))], ["a name in Chinese", 1024, (n) => name(han(341) + x(n - 1023))], ["a name of pairs", 1024, (n) => name("😀".repeat(255) + x(n - 1020))],
				["a text in Chinese", 8388608, (n) => han(2796202) + x(n - 8388606)], ["items", 65536, (n) => new Array(n).fill(1)], ["depth", 128, nested],
				...run.settings.long ? [["a text", 8388608, x], ["a document in Chinese", 16777216, (n) => [han(2796202), han(2796000), x(n - 16776616)]], ["a document", 16777216, (n) => [x(8388608), x(n - 8388615)]], ["values", 262144, (n) => [0, 1, 2, 3].map((i) => new Array(i < 3 ? 65536 : n - 196613).fill(0))]] : [],
			]) for (const n of [most - 1, most, most + 1]) if (n >= most || most < 1e6 || run.settings.long) assert.equal(await verdict(make(n)), n > most ? "JsonViolation" : "CANCELLED", what + " " + n);
			await receive.close();`,
	})
}

// rule: E-019, E-020, E-033, E-110, E-111
func TestResults(t *testing.T) {
	done := func(output string) string { return `return { outcome: "done", output: ` + output + ` };` }
	for code, want := range map[string]string{
		done(`(() => { const o = { a: 1 }; return [o, o]; })()`):                                                                                             `[{"a":1},{"a":1}]`,
		done(`Object.assign(Object.create(null), { ["__proto__"]: 5, toJSON: 7, constructor: 8 })`):                                                          `{"__proto__":5,"constructor":8,"toJSON":7}`,
		done(`[-0, 1e-7, 1e15, 9007199254740991, "\u2028\u0000", [], {}]`):                                                                                   "[0,1e-7,1000000000000000,9007199254740991,\"\u2028\\u0000\",[],{}]",
		`const o = { a: [1] }; setTimeout(() => { o.a.push(2); }, 0); Promise.resolve().then(() => {}).then(() => {}).then(() => o.a.push(4)); ` + done(`o`): `{"a":[1]}`,
		`const o = { a: [1] }, p = run.call({ operationId: "a", slot: "x", input: o }); o.a.push(2); ` + done(`(await p).output`):                            `{"a":[1]}`,
		`Array.prototype.toJSON = Object.prototype.toJSON = () => "stolen"; Array.prototype[Symbol.iterator] = Array.prototype.join = Array.prototype.push = () => { throw new Error("stolen"); }; Object.defineProperty(Array.prototype, "0", { set() { throw new Error("stolen"); }, get() { return "stolen"; } }); JSON.stringify = JSON.parse = Reflect.ownKeys = Object.keys = Array.isArray = () => { throw new Error("stolen"); }; Promise.prototype.then = undefined; Object.prototype.value = 1; Object.prototype.get = () => 1; String.prototype.isWellFormed = () => false; Number.isFinite = () => false; ` + done(`{ list: [1, "a"], o: { x: null } }`): `{"list":[1,"a"],"o":{"x":null}}`,
		`Object.prototype.outcome = "failed"; ` + done(`1`):                         `1`,
		`return Object.freeze({ __proto__: null, outcome: "done", output: true });`: `true`,
		done(`JSON.parse("[".repeat(126) + "]".repeat(126))`):                       strings.Repeat("[", 126) + strings.Repeat("]", 126),
	} {
		run(t, flow{files: body(code), serve: func(d *dispatch) { d.done(`{"outcome":"done","output":` + string(d.Input) + `}`) }}).is(want)
	}
}

// rule: E-005, E-006, E-007, E-054, E-055, E-061
func TestTheLifeOfAProcess(t *testing.T) {
	e := run(t, flow{files: only(`import { handle } from "@jigging/flow";
		console.log("top", { a: 1 }); process.stdout.write("raw\n");
		const { log } = console;
		await handle(async () => { log("in %s", "handle"); console.error("a\nb"); process.stdout.write(Buffer.from("bytes\n")); process.stderr.write("err\n"); console.table([1]); return { outcome: "done", output: 1 }; });
		console.log("after"); setTimeout(() => console.log("never"), 0); setInterval(() => {}, 1);`)}).is("1")
	require.Equal(t, "top { a: 1 }\nraw\nin handle\na\\nb\nbytes\nerr\n[ 1 ]\nafter\n", e.text)
	require.Equal(t, 1, strings.Count(e.wire, "\n"), "nothing but the answer is on the wire")

	e = run(t, flow{files: body(`setInterval(() => {}, 1); setTimeout(() => console.log("never"), 60_000); return { outcome: "done", output: 1 };`)}).is("1")
	require.Empty(t, e.text)

	e = run(t, flow{files: only(`import { handle } from "@jigging/flow"; await handle(() => { throw new Error("x"); }); console.log("resolved"); process.exitCode = 3;`)})
	require.Contains(t, e.text, "resolved")
	require.Equal(t, 3, e.status)
	e.fails(fault.ExecutionFailed)

	e = run(t, flow{files: only(`import "@jigging/flow"; console.log("idle");`)}).fails(fault.ChannelLost)
	require.Zero(t, e.status)
	e = run(t, flow{files: only(`await new Promise((r) => setTimeout(r, 5)); console.log("waited"); setTimeout(() => {}, 60_000).unref();`)}).fails(fault.ChannelLost)
	require.Equal(t, "waited\nthe Flow has ended without a call of handle\n", e.text)
	e = run(t, flow{files: only(`await new Promise(() => {});`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.text, "never happens")
	e = run(t, flow{files: only(`throw new Error("early");`)}).fails(fault.ExecutionFailed)
	require.Equal(t, 1, e.status)
	require.Equal(t, "Error: early\n    at FLOW.ts:1:11\n", e.text)
	e = run(t, flow{files: body(`process.exit(5);`)}).fails(fault.ExecutionFailed)
	require.Equal(t, 5, e.status)
	e = run(t, flow{files: body(`try { process.exit(0); } finally { console.log("never"); }`)}).fails(fault.ChannelLost)
	require.Empty(t, e.text)
	e = run(t, flow{files: body(`setTimeout(() => { throw new Error("in a timer"); }, 1); await new Promise(() => {});`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.text, "Error: in a timer")
	e = run(t, flow{files: body(`queueMicrotask(() => { throw new Error("in a microtask"); }); await new Promise(() => {});`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.text, "Error: in a microtask")
	e = run(t, flow{files: only(`import { handle } from "@jigging/flow"; handle(async () => ({ outcome: "done", output: 1 })); try { handle(() => {}); } catch (e) { console.log(e.message); }`)}).is("1")
	require.Equal(t, "handle is called once\n", e.text)
}

func TestARejectionThatNobodyHandlesEndsTheFlow(t *testing.T) {
	e := run(t, flow{files: body(`void (async () => { throw new Error("lost"); })(); await new Promise(() => {});`)})
	e.fails(fault.ExecutionFailed)
	require.Equal(t, 1, e.status)
	require.Equal(t, "Error: lost\n    at FLOW.ts:2:60\n    at FLOW.ts:2:75\n", e.text)
	run(t, flow{files: body(`const p = Promise.reject(new Error("in time")); await null; p.catch(() => {}); return { outcome: "done", output: 1 };`)}).is("1")
	e = run(t, flow{files: only(`async function main() { throw new Error("before handle"); } main();`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.text, "Error: before handle")
}

// rule: E-057
func TestALazyFlow(t *testing.T) {
	e := run(t, flow{files: map[string]string{
		"FLOW.ts": `import { handle } from "@jigging/flow"; await handle(async (run) => { const { main } = await import("./app.ts"); return main(run); });`,
		"app.ts":  `console.log("loading"); export const main = (run: { input: number }) => ({ outcome: "done", output: run.input + 1 });`,
	}, input: "41"}).is("42")
	require.Equal(t, "loading\n", e.text)
}

// rule: E-016
func TestConsoleLinesAreBounded(t *testing.T) {
	e := run(t, flow{files: body(`console.log("x".repeat(1_000_000)); console.log("end"); return { outcome: "done", output: 1 };`)}).is("1")
	first, rest, _ := strings.Cut(e.text, "\n")
	require.Less(t, len(first), 20_000)
	require.Equal(t, "end\n", rest)
}
