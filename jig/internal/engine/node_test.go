package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// rule: E-067, E-068
func TestNodeFS(t *testing.T) {
	e := checks(t, "import fs from 'node:fs'; import * as fsp from 'node:fs/promises'; import { readFileSync } from 'fs'; import os from 'node:os'; import path from 'node:path'; import { pathToFileURL } from 'node:url';\nconst code = (f) => { try { f(); } catch (e) { return e.code; } return 'none'; };", map[string]string{
		"the package is read": `
			assert.equal(fs.readFileSync("data.txt", "utf8"), "text\n"); assert.equal(readFileSync("/package/dir/inner.txt").toString(), "inner"); assert.equal(await fsp.readFile(new URL("./data.txt", import.meta.url), "utf8"), "text\n");
			assert.equal(fs.readFileSync(pathToFileURL("/package/data.txt"), { encoding: "hex" }), "746578740a"); assert.ok(Buffer.isBuffer(fs.readFileSync("data.txt")));
			assert.deepEqual(fs.readdirSync("."), ["FLOW.ts", "data.txt", "dir"]); assert.deepEqual(await fsp.readdir("/package", { recursive: true }), ["FLOW.ts", "data.txt", "dir", "dir/again.ts", "dir/inner.txt"]);
			const d = fs.readdirSync("/package", { withFileTypes: true }); assert.ok(d[2].isDirectory() && d[0].isFile() && d[2].name === "dir" && d[2].parentPath === "/package");
			const s = await fsp.stat("data.txt"); assert.ok(s.isFile() && s.size === 5 && s.mtime instanceof Date && (s.mode & 0o170000) === 0o100000); assert.ok(fs.existsSync("dir") && !fs.existsSync("none"));
			assert.equal(await new Promise((r, j) => fs.readFile("data.txt", "utf8", (e, v) => e ? j(e) : r(v))), "text\n");`,
		"the package is not written": `
			for (const f of [() => fs.writeFileSync("x", "1"), () => fs.appendFileSync("data.txt", "1"), () => fs.mkdirSync("new"), () => fs.rmSync("data.txt"), () => fs.unlinkSync("data.txt"), () => fs.renameSync("data.txt", "b"), () => fs.renameSync("data.txt", "/scratch/b"), () => fs.copyFileSync("data.txt", "b"), () => fs.rmdirSync("dir"), () => fs.mkdtempSync("x"), () => fs.truncateSync("data.txt"), () => fs.accessSync("data.txt", fs.constants.W_OK)]) assert.equal(code(f), "EROFS", String(f));
			fs.accessSync("data.txt", fs.constants.R_OK);`,
		"nothing outside": `
			for (const p of ["/etc/passwd", "/proc/1/environ", "/", "..", "../../etc/passwd", "/packages", "/package/../etc/passwd", "/scratch/../etc", "/dev/null", "/jig/jig"]) for (const f of [() => fs.readFileSync(p), () => fs.readdirSync(p), () => fs.statSync(p), () => fs.writeFileSync(p, "1"), () => fs.mkdirSync(p + "/x"), () => fs.rmSync(p, { recursive: true, force: true })]) assert.equal(code(f), "EACCES", p + String(f));
			for (const p of ["/scratch/outside-link", "/scratch/outside-link/passwd", "/scratch/root-link/etc/passwd"]) { assert.ok(code(() => fs.readFileSync(p)) !== "none", p); assert.ok(code(() => fs.writeFileSync(p, "1")) !== "none", p); assert.ok(code(() => fs.copyFileSync(p, "/scratch/copied")) !== "none", p); assert.ok(code(() => fs.realpathSync(p)) !== "none"); }
			assert.ok(!fs.existsSync("/etc"));`,
		"scratch is read and written": `
			assert.equal(os.tmpdir(), "/scratch"); assert.equal(run.scratch, "/scratch"); const at = (n) => path.join(run.scratch, "w", n);
			assert.equal(fs.mkdirSync(at("a/b"), { recursive: true }), "/scratch/w"); assert.equal(fs.mkdirSync(at("a/b"), { recursive: true }), undefined); assert.equal(code(() => fs.mkdirSync(at("a"))), "EEXIST");
			await fsp.writeFile(at("f"), "one"); await fsp.appendFile(at("f"), new Uint8Array([0xc3, 0xa9])); assert.equal(fs.readFileSync(at("f"), "utf-8"), "oneé"); assert.equal(code(() => fs.writeFileSync(at("f"), "x", { flag: "wx" })), "EEXIST");
			fs.copyFileSync("data.txt", at("g")); assert.equal(code(() => fs.copyFileSync("data.txt", at("g"), fs.constants.COPYFILE_EXCL)), "EEXIST"); fs.renameSync(at("g"), at("a/h")); fs.copyFileSync(at("a/h"), at("a/h")); assert.equal(fs.readFileSync(at("a/h"), "utf8"), "text\n");
			const tmp = fs.mkdtempSync(at("t-")); assert.match(tmp, /^\/scratch\/w\/t-\w{6}$/); fs.rmdirSync(tmp); fs.cpSync("dir", at("copy"), { recursive: true }); assert.deepEqual(fs.readdirSync(at("copy")), ["again.ts", "inner.txt"]);
			assert.equal(code(() => fs.readFileSync(at("none"))), "ENOENT"); assert.equal(code(() => fs.readFileSync(at("a"))), "EISDIR"); assert.equal(code(() => fs.readdirSync(at("f"))), "ENOTDIR"); assert.equal(code(() => fs.rmSync(at("a"))), "EISDIR"); assert.equal(code(() => fs.rmdirSync(at("a"))), "ENOTEMPTY"); assert.equal(code(() => fs.unlinkSync(at("a"))), "EISDIR");
			assert.equal(fs.statSync(at("none"), { throwIfNoEntry: false }), undefined); fs.truncateSync(at("f"), 2); assert.equal(fs.readFileSync(at("f"), "latin1"), "on"); assert.equal(fs.realpathSync("/scratch/inner-link"), "/scratch/target"); assert.ok(fs.lstatSync("/scratch/inner-link").isSymbolicLink() && fs.statSync("/scratch/inner-link").isFile());
			fs.rmSync(at("a"), { recursive: true }); fs.rmSync(at("a"), { force: true }); assert.equal(code(() => fs.rmSync(at("a"))), "ENOENT"); assert.equal(code(() => fs.rmSync("/scratch", { recursive: true })), "EINVAL"); fs.writeFileSync("/scratch/kept", "yes");`,
		"errors are node's": `
			const e = throws(() => fs.readFileSync("none")); assert.ok(e instanceof Error && e.code === "ENOENT" && e.errno === -2 && e.syscall === "read" && e.path === "none"); assert.equal(e.message, "ENOENT: no such file or directory, read 'none'");
			await rejects(fsp.stat("none"), /ENOENT/); throws(() => fs.readFileSync(5), /must be a string/); throws(() => fs.readFileSync("a\0b"), /null bytes/); throws(() => fs.writeFileSync("/scratch/x", 5), /"data"/); throws(() => fs.readFile("x"), /"cb"/);
			assert.equal(code(() => fs.writeSync(9, "x")), "EBADF"); assert.equal(fs.writeSync(2, "é"), 2);`,
	})
	kept, err := os.ReadFile(filepath.Join(e.scratch, "kept"))
	require.NoError(t, err)
	require.Equal(t, "yes", string(kept))
}

func TestNodeModules(t *testing.T) {
	checks(t, `import path, { join, posix } from 'node:path'; import * as util from 'node:util'; import { EventEmitter, once } from 'node:events'; import url, { fileURLToPath, pathToFileURL } from 'node:url'; import * as timers from 'node:timers/promises'; import proc from 'node:process'; import { Buffer as B } from 'node:buffer'; import loose from 'node:assert'; import os from 'os'; import EE from 'events'; import { performance as perf } from 'node:perf_hooks'; import { setTimeout as st } from 'node:timers'; import types from 'node:util/types';`, map[string]string{
		"path": `
			const same = [[join("a", "..", "b/", "./c"), "b/c"], [join(""), "."], [path.normalize("/a//b/../c/."), "/a/c"], [path.normalize("a/../.."), ".."], [path.normalize("/../a/"), "/a/"], [path.resolve("x"), "/package/x"], [path.resolve("/a", "../b", "c"), "/b/c"], [path.relative("/a/b/c", "/a/d"), "../../d"], [path.relative("/a", "/a"), ""],
				[path.dirname("/a/b/"), "/a"], [path.dirname("/a"), "/"], [path.dirname("a"), "."], [path.dirname("/"), "/"], [path.basename("/a/b.ts/"), "b.ts"], [path.basename("b.ts", ".ts"), "b"], [path.basename("/"), ""], [path.extname("a.b.c"), ".c"], [path.extname(".a"), ""], [path.extname("a."), "."], [path.format({ dir: "/a", name: "b", ext: ".c" }), "/a/b.c"], [path.isAbsolute("/a"), true], [posix, path]];
			for (const [got, want] of same) assert.equal(got, want); assert.deepEqual(path.parse("/a/b.c"), { root: "/", dir: "/a", base: "b.c", ext: ".c", name: "b" }); assert.deepEqual(path.parse("b"), { root: "", dir: "", base: "b", ext: "", name: "b" }); assert.throws(() => path.join(1), { code: "ERR_INVALID_ARG_TYPE" });`,
		"util": `
			assert.equal(util.format("%s %d %i %j %o %%", "a", 1.5, 2.9, { x: 1 }, [1]), 'a 1.5 2 {"x":1} [ 1 ] %'); assert.equal(util.format("a", { b: "c" }, 1n), "a { b: 'c' } 1n"); assert.equal(util.format("%s"), "%s");
			const o = { a: [1, , 3], f() {}, get g() { throw 1; }, m: new Map([["k", new Set([1])]]), d: new Date(0), r: /x/g, s: Symbol("q"), n: null, u: undefined, [Symbol("z")]: 1, e: Object.create(null) }; o.self = o;
			assert.equal(util.inspect(o), "{ a: [ 1, <1 empty items>, 3 ], f: [Function: f], g: [Getter], m: Map(1) { 'k' => Set(1) { 1 } }, d: 1970-01-01T00:00:00.000Z, r: /x/g, s: Symbol(q), n: null, u: undefined, e: [Object: null prototype] {}, self: [Circular], [Symbol(z)]: 1 }");
			assert.equal(util.inspect({ a: { b: { c: { d: 1 } } } }), "{ a: { b: { c: [Object] } } }"); assert.equal(util.inspect(new (class Foo { x = 1; })()), "Foo { x: 1 }"); assert.equal(util.inspect("it's\n"), '"it\'s\\n"'); assert.match(util.inspect(new TypeError("bad")), /^\[TypeError: bad/); assert.equal(util.inspect(-0), "-0"); assert.equal(util.inspect(class A {}), "[class A]"); assert.equal(util.inspect(new Uint8Array([1, 2])), "Uint8Array(2) [ 1, 2 ]");
			const p = util.promisify((x, cb) => cb(null, x + 1)); assert.equal(await p(1), 2); await rejects(util.promisify((cb) => cb(new Error("no")))(), /no/);
			assert.ok(util.isDeepStrictEqual({ a: [1, new Map([[1, { b: 2 }]])] }, { a: [1, new Map([[1, { b: 2 }]])] }) && !util.isDeepStrictEqual([1], ["1"]) && !util.isDeepStrictEqual({ a: undefined }, {}) && types.isDate(new Date()) && util.types.isPromise(Promise.resolve()) && !types.isMap(new Set()));`,
		"events": `
			const e = new EventEmitter(), got = []; e.on("x", (...a) => got.push(a)); e.once("x", () => got.push("once")); e.prependListener("x", () => got.unshift("first")); assert.ok(e.emit("x", 1, 2)); e.emit("x"); assert.deepEqual(got, ["first", "first", [1, 2], "once", []]); assert.equal(EE, EventEmitter);
			const f = () => {}; e.on("y", f).off("y", f); assert.equal(e.listenerCount("y"), 0); assert.ok(!e.emit("y")); throws(() => e.emit("error", new RangeError("loud")), /loud/); setTimeout(() => e.emit("z", 5), 1); assert.deepEqual(await once(e, "z"), [5]); class Mine extends EventEmitter { constructor() { super(); this.q = 1; } } assert.ok(new Mine().on("a", f) instanceof EE); assert.deepEqual(e.eventNames(), ["x"]);`,
		"url": `
			assert.equal(fileURLToPath("file:///a%20b/c"), "/a b/c"); assert.equal(pathToFileURL("/a b/#?.ts").href, "file:///a%20b/%23%3F.ts"); assert.equal(fileURLToPath(pathToFileURL("/ü/%41")), "/ü/%41"); assert.equal(pathToFileURL("x").pathname, "/package/x"); throws(() => fileURLToPath("http://a/"), /scheme/); assert.equal(url.URL, URL);`,
		"assert": `
			const fails = (f) => assert.throws(f, loose.AssertionError); fails(() => assert.equal(1, "1")); loose.equal(1, "1"); fails(() => assert.ok(0)); fails(() => assert.deepEqual({ a: 1 }, { a: 2 })); fails(() => assert.throws(() => {})); assert.throws(() => { throw new TypeError("x"); }, TypeError); assert.throws(() => { throw new Error("abc"); }, /b/); assert.throws(() => { throw Object.assign(new Error("m"), { code: "C" }); }, { code: "C", message: "m" }); await assert.rejects(Promise.reject(new Error("r")), /r/); await assert.doesNotReject(async () => {}); fails(() => assert.fail("x")); fails(() => assert.match("a", /b/)); fails(() => loose.notEqual(1, 1)); assert.ifError(null); assert.notDeepEqual([1], [2]);`,
		"timers/promises": `
			assert.equal(await timers.setTimeout(1, "v"), "v"); const c = new AbortController(); setTimeout(() => c.abort(), 1); assert.equal((await rejects(timers.setTimeout(60_000, 0, { signal: c.signal }))).name, "AbortError"); let n = 0; for await (const _ of timers.setInterval(1)) if (++n === 2) break; await timers.setImmediate(); assert.equal(st, setTimeout);`,
		"the rest": `assert.equal(proc, process); assert.equal(B, Buffer); assert.equal(os.EOL, "\n"); assert.equal(perf, performance); assert.equal(os.homedir(), "/scratch");`,
	})
}

// rule: E-069, E-106, E-073
func TestModules(t *testing.T) {
	run(t, flow{files: map[string]string{
		"FLOW.ts": `import { handle } from "@jigging/flow";
			import def, { named, count } from "./lib/a.ts"; import * as ns from "./lib/a.js"; import data from "./data.json" with { type: "json" }; import common, { one } from "common"; import esm from "esm/sub"; import "#side"; import { nested } from "common/nested.cjs";
			const top = await Promise.resolve("awaited");
			await handle(async () => { const lazy = await import("./lib/" + "lazy.ts"); const again = await import("./lib/lazy.ts");
				return { outcome: "done", output: { def: typeof def, named, ns: Object.keys(ns), data, common, one, esm, top, lazy: lazy.value, same: lazy === again, side: globalThis.side, count: count(), nested,
					meta: [import.meta.url, import.meta.dirname, import.meta.filename, import.meta.main, import.meta.dir, import.meta.path], inner: lazy.meta } }; });`,
		"lib/a.ts":    `let n = 0; export const named: string = "n"; export default class { }; export const count = () => ++n; console.log("once");`,
		"lib/lazy.ts": `export const value = await new Promise<number>((r) => setTimeout(() => r(7), 1)); export const meta = [import.meta.url, import.meta.dirname, import.meta.main];`,
		"data.json":   `{"x":[1,"é"]}`, "side.js": `globalThis.side = true;`, "package.json": `{"imports":{"#side":"./side.js"}}`,
		"node_modules/common/package.json": `{"main":"index.js"}`, "node_modules/common/index.js": `const fs = require("fs"); const other = require("./other"); exports.one = 1; exports.other = other.v; exports.json = require("./j.json").k; exports.file = __filename; exports.fs = typeof fs.readFileSync; exports.main = typeof require.main; try { require("net") } catch (e) { exports.refused = e.code }`,
		"node_modules/common/other.js": `exports.v = "before"; require("./index.js"); module.exports = { v: "after" };`, "node_modules/common/j.json": `{"k":"json"}`, "node_modules/common/nested.cjs": `module.exports.nested = typeof require("@jigging/flow").OperationError;`,
		"node_modules/esm/package.json": `{"type":"module","exports":{"./sub":{"node":"./node.js","default":"./sub.js"}}}`, "node_modules/esm/sub.js": `export default "sub";`, "node_modules/esm/node.js": `export default "node";`,
	}}).is(`{"common":{"file":"/package/node_modules/common/index.js","fs":"function","json":"json","main":"undefined","one":1,"other":"after","refused":"MODULE_NOT_FOUND"},"count":1,"data":{"x":[1,"é"]},"def":"function","esm":"sub","inner":["file:///package/lib/lazy.ts","/package/lib",false],"lazy":7,"meta":["file:///package/FLOW.ts","/package","/package/FLOW.ts",true,"/package","/package/FLOW.ts"],"named":"n","nested":"function","ns":["count","default","named"],"one":1,"same":true,"side":true,"top":"awaited"}`)
}

func TestACommonJSFlow(t *testing.T) {
	run(t, flow{files: map[string]string{
		"FLOW.js":   `const { handle } = require("@jigging/flow"); const { helper } = require("./helper"); handle(async (run) => ({ outcome: "done", output: [helper(run.input), require.main === module, require("./data.json").x, await import("./esm.mjs").catch((e) => e.message), __dirname] }));`,
		"helper.js": `exports.helper = (x) => x + 1;`, "data.json": `{"x":"json"}`, "esm.mjs": `export default "esm";`,
	}, input: "1"}).is(`[2,true,"json","FLOW.js: \"./esm.mjs\" is refused: a CommonJS file has no import()","/package"]`)
}

// rule: E-070, E-071, E-073, E-113
func TestWhatCannotBeLoadedEndsTheFlowBeforeItStarts(t *testing.T) {
	for _, c := range []struct{ text, code, path, message string }{
		{"console.log('never');\nimport net from 'node:net'; net;", "MODULE_REFUSED", "FLOW.ts", `"node:net" is refused: a Flow has no network`},
		{"import 'bun:ffi';", "MODULE_REFUSED", "FLOW.ts", `"bun:ffi" is refused: this is not Bun`},
		{"import './x.node';", "MODULE_REFUSED", "FLOW.ts", `"./x.node" is refused: a native addon`},
		{"import 'left-pad';", "MODULE_REFUSED", "FLOW.ts", `"left-pad" is refused: it is neither`},
		{"await import('./inner.ts')", "MODULE_REFUSED", "inner.ts", `"node:vm" is refused: code cannot`},
		{"const x = ;", "SYNTAX_ERROR", "FLOW.ts", `Unexpected ";"`},
		{"import { none } from './fine.ts'; none();", "SYNTAX_ERROR", "FLOW.ts", `No matching export in "fine.ts" for import "none"`},
	} {
		e := run(t, flow{files: map[string]string{"FLOW.ts": c.text, "x.node": "", "inner.ts": "import 'node:vm';", "fine.ts": "export const x = 1;"}})
		e.fails(fault.ExecutionFailed)
		require.Equal(t, 1, e.status)
		require.Empty(t, e.text, "nothing of the package has run")
		require.Empty(t, e.wire)
		require.Len(t, e.diags, 1, c.text)
		require.Equal(t, c.code, e.diags[0].Code)
		require.Equal(t, c.path, e.diags[0].Path)
		require.Contains(t, e.diags[0].Message, c.message)
		require.NotZero(t, e.diags[0].Line*e.diags[0].Column)
	}
	e := run(t, flow{files: map[string]string{"FLOW.md": "# no"}})
	e.fails(fault.ExecutionFailed)
	require.Contains(t, e.diags[0].Message, "FLOW.ts, FLOW.js or FLOW.mjs")
}

// rule: E-070, E-073
func TestComputedImportsAreRefusedWhenTheyAreAskedFor(t *testing.T) {
	e := run(t, flow{files: map[string]string{
		"FLOW.ts": `import { handle } from "@jigging/flow"; await handle(async () => { const out = []; for (const s of ["node:net", "left-pad", "../x.ts", "./bad.ts", "./broken.ts", "jig:internal", "jig:refused/0", "__internal"]) { try { await import(s); out.push("loaded"); } catch (e) { out.push(e.message); } } return { outcome: "done", output: out }; });`,
		"bad.ts":  "\nimport { createServer } from 'node:net'; createServer();", "broken.ts": "let = 1",
	}}).is(`["FLOW.ts: \"node:net\" is refused: a Flow has no network; powers come through slots","FLOW.ts: \"left-pad\" is refused: it is neither a module of this host nor in the node_modules of the package","FLOW.ts: \"../x.ts\" is refused: it leaves the package","bad.ts:2:30: \"node:net\" is refused: a Flow has no network; powers come through slots","broken.ts:1:1: \"let\" is a reserved word and cannot be used in an ECMAScript module","FLOW.ts: \"jig:internal\" is refused: only files of the package and its node_modules can be loaded","FLOW.ts: \"jig:refused/0\" is refused: only files of the package and its node_modules can be loaded","FLOW.ts: \"__internal\" is refused: it is neither a module of this host nor in the node_modules of the package"]`)
	require.Len(t, e.diags, 8)
	require.Equal(t, "MODULE_REFUSED", e.diags[0].Code)
	require.Equal(t, 2, e.diags[3].Line)
}
