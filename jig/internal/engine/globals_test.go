package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// checks runs bodies that throw where something does not hold, all in one Flow.
// Each has assert and throws at hand.
func checks(t *testing.T, head string, bodies map[string]string) *ended {
	t.Helper()
	var b strings.Builder
	b.WriteString("import { handle, OperationError } from '@jigging/flow';\nimport assert from 'node:assert/strict';\n" + head + "\n")
	b.WriteString("const throws = (f, what) => { try { f(); } catch (e) { if (what !== undefined) assert.match(String(e), what); return e; } throw new Error('nothing was thrown'); };\n")
	b.WriteString("const rejects = async (f, what) => { try { await (typeof f === 'function' ? f() : f); } catch (e) { if (what !== undefined) assert.match(String(e), what); return e; } throw new Error('nothing was rejected'); };\n")
	b.WriteString("await handle(async (run) => { const failed = {};\n")
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		fmt.Fprintf(&b, "try { await (async () => {\n%s\n})(); } catch (e) { failed[%q] = String(e?.stack ?? '') + ' ' + String(e); }\n", bodies[name], name)
	}
	b.WriteString("return { outcome: 'done', output: failed };\n});\n")
	e := run(t, flow{files: map[string]string{"FLOW.ts": b.String(), "data.txt": "text\n", "dir/inner.txt": "inner", "dir/again.ts": "export { OperationError } from '@jigging/flow';"}, input: `{"a":[{"b":1}]}`, settings: fmt.Sprintf(`{"s":{"t":1},"long":%t}`, *long)})
	require.Nil(t, e.err, "%v\n%s%v", e.err, e.text, e.diags)
	var failed map[string]string
	require.NoError(t, json0.Decode([]byte(strings.TrimPrefix(e.result, "done ")), &failed))
	for name, why := range failed {
		t.Errorf("%s: %s", name, why)
	}
	return e
}

// rule: E-058, E-059, E-060, E-061, E-062, E-063, E-064, E-065, E-066, E-072, E-106, E-107
func TestGlobals(t *testing.T) {
	checks(t, "import * as nodeCrypto from 'node:crypto';", map[string]string{
		"TextDecoder": `
			const bom = new Uint8Array([0xef, 0xbb, 0xbf, 0x41]);
			assert.equal(new TextDecoder().decode(bom), "A");
			assert.equal(new TextDecoder("utf8", { ignoreBOM: true }).decode(bom), "\ufeffA");
			assert.equal(new TextDecoder().decode(new Uint8Array([0x41, 0xff, 0xe4, 0xb8])), "A\ufffd\ufffd");
			assert.ok(throws(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff]))) instanceof TypeError);
			assert.ok(throws(() => new TextDecoder("latin1")) instanceof RangeError);
			const d = new TextDecoder();
			assert.equal(d.decode(new Uint8Array([0xe4, 0xb8]), { stream: true }) + d.decode(new Uint8Array([0xad]), { stream: true }) + d.decode(), "中");
			assert.equal(new TextDecoder().decode(), "");`,
		"TextEncoder": `
			assert.deepEqual([...new TextEncoder().encode("a\ud800é😀")], [0x61, 0xef, 0xbf, 0xbd, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80]);
			const target = new Uint8Array(5);
			assert.deepEqual(new TextEncoder().encodeInto("é😀x", target), { read: 1, written: 2 });
			assert.deepEqual(new TextEncoder().encodeInto("\ud83d", target), { read: 1, written: 3 });
			assert.equal(new TextEncoder().encode().length, 0);`,
		"AbortController": `
			const seen = [], c = new AbortController(), s = c.signal;
			s.addEventListener("abort", () => { seen.push("first"); throw new Error("isolated"); });
			s.addEventListener("abort", { handleEvent() { seen.push("object"); } }, { once: true });
			s.onabort = () => seen.push("onabort");
			const gone = () => seen.push("removed");
			s.addEventListener("abort", gone);
			s.removeEventListener("abort", gone);
			c.abort(); c.abort("again");
			assert.deepEqual(seen, ["first", "object", "onabort"]);
			assert.ok(s.aborted && s.reason instanceof DOMException && s.reason.name === "AbortError" && s.reason.code === 20);
			assert.equal(throws(() => s.throwIfAborted()), s.reason);
			assert.equal(AbortSignal.abort("why").reason, "why");
			throws(() => new AbortSignal(), /Illegal/);`,
		"AbortSignal.any and timeout": `
			const a = new AbortController(), b = new AbortController(), any = AbortSignal.any([a.signal, b.signal]);
			let heard = 0;
			any.addEventListener("abort", () => heard++);
			b.abort("b"); a.abort("a");
			assert.deepEqual([any.reason, heard], ["b", 1]);
			assert.equal(AbortSignal.any([a.signal, b.signal]).reason, "a");
			assert.equal(AbortSignal.any([]).aborted, false);
			const t = AbortSignal.timeout(1);
			await new Promise((r) => t.addEventListener("abort", r));
			assert.equal(t.reason.name, "TimeoutError");`,
		"EventTarget": `
			const target = new EventTarget(), c = new AbortController(), got = [];
			target.addEventListener("x", (e) => got.push(e.type, e.target === target), { signal: c.signal });
			target.dispatchEvent(new Event("x"));
			c.abort();
			target.dispatchEvent(new Event("x"));
			target.addEventListener("y", (e) => { got.push(e.detail); e.stopImmediatePropagation(); });
			target.addEventListener("y", () => got.push("never"));
			target.dispatchEvent(new CustomEvent("y", { detail: 7 }));
			assert.deepEqual(got, ["x", true, 7]);`,
		"timers": `
			const order = [];
			setTimeout((v) => order.push(v), 2, "two");
			setTimeout(() => order.push("one"), 1);
			setImmediate(() => order.push("immediate"));
			queueMicrotask(() => order.push("micro"));
			process.nextTick((v) => order.push(v), "tick");
			const never = setTimeout(() => order.push("never"), 1);
			clearTimeout(never);
			await new Promise((r) => { let n = 0; const i = setInterval(() => { if (++n === 3) { clearInterval(i); r(); } }, 1); });
			assert.deepEqual(order.slice(0, 2), ["micro", "tick"]);
			assert.deepEqual([...order].sort(), ["immediate", "micro", "one", "tick", "two"]);
			const t = setTimeout(() => {}, 1000);
			assert.ok(t.hasRef() && !t.unref().hasRef() && typeof +t === "number");
			clearTimeout(+t);
			throws(() => setTimeout("code"), /function/);`,
		"a timer runs after the microtasks of the one before": `
			const order = [];
			await new Promise((r) => { setTimeout(() => { order.push(1); Promise.resolve().then(() => order.push("micro")); }, 1); setTimeout(() => { order.push(2); r(); }, 1); });
			assert.deepEqual(order, [1, "micro", 2]);`,
		"structuredClone": `
			const v = { d: new Date(5), m: new Map([[{ k: 1 }, new Set([1, "x"])]]), t: new Float64Array([1.5, 2]), r: /a+/gi, b: 10n, u: undefined, e: new RangeError("no"), n: [1, , 3] };
			v.self = v;
			const c = structuredClone(v);
			assert.ok(c !== v && c.self === c && c.d.getTime() === 5 && c.m.size === 1 && [...c.m.values()][0].has("x") && c.t[1] === 2 && c.r.flags === "gi" && c.b === 10n && "u" in c);
			assert.ok(c.e instanceof RangeError && c.e.message === "no" && !(1 in c.n) && c.n.length === 3);
			assert.equal(throws(() => structuredClone(() => {})).name, "DataCloneError");
			throws(() => structuredClone(Symbol()), /DataCloneError|cloned/);
			const buffer = new ArrayBuffer(4);
			assert.equal(structuredClone(buffer, { transfer: [buffer] }).byteLength, 4);
			assert.equal(buffer.byteLength, 0);`,
		"crypto": `
			assert.match(crypto.randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
			assert.notEqual(crypto.randomUUID(), nodeCrypto.randomUUID());
			assert.ok(crypto.getRandomValues(new Uint32Array(8)).some((x) => x !== 0));
			throws(() => crypto.getRandomValues(new Float64Array(1)), /integer/);
			throws(() => crypto.getRandomValues(new Uint8Array(65537)), /65,536/);
			const hex = (b) => Buffer.from(b).toString("hex");
			assert.equal(hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
			await rejects(crypto.subtle.digest("MD5", new Uint8Array()), /Unrecognized/);
			assert.equal(nodeCrypto.createHash("sha256").update("a").update(Buffer.from("bc")).digest("hex"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
			assert.equal(nodeCrypto.createHash("sha1").update("abc").digest("base64"), "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
			assert.equal(nodeCrypto.createHmac("sha256", "key").update("The quick brown fox jumps over the lazy dog").digest("hex"), "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
			throws(() => nodeCrypto.createHash("nothing"), /not supported/);
			const h = nodeCrypto.createHash("md5"); h.digest(); throws(() => h.update("x"), /already/);
			assert.equal(nodeCrypto.randomBytes(7).length, 7);
			for (let i = 0; i < 50; i++) { const n = nodeCrypto.randomInt(3, 5); assert.ok(n === 3 || n === 4); }
			assert.ok(nodeCrypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")));`,
		"atob, btoa": `
			assert.equal(atob("aGk="), "hi"); assert.equal(atob(" aG k"), "hi"); assert.equal(btoa("h\u00ff"), "aP8=");
			assert.equal(throws(() => atob("a")).name, "InvalidCharacterError"); assert.equal(throws(() => btoa("\u0100")).name, "InvalidCharacterError");`,
		"Buffer": `
			const b = Buffer.from("é😀");
			assert.equal(b.length, 6); assert.ok(b instanceof Uint8Array && Buffer.isBuffer(b) && Buffer.isBuffer(b.subarray(1)) && b.slice(0, 2).toString() === "é");
			assert.equal(b.toString("hex"), "c3a9f09f9880"); assert.equal(b.toString("base64"), "w6nwn5iA"); assert.equal(Buffer.from("w6nwn5iA", "base64").toString(), "é😀");
			assert.equal(Buffer.from("-_8", "base64url").toString("hex"), "fbff"); assert.equal(Buffer.from("fbff", "hex").toString("base64url"), "-_8");
			assert.equal(Buffer.from("abzz", "hex").toString("hex"), "ab"); assert.equal(Buffer.from("aGk=\n??", "base64").toString(), "hi");
			assert.equal(Buffer.concat([Buffer.from("a"), new Uint8Array([98])]).toString(), "ab"); assert.equal(Buffer.concat([Buffer.from("abc")], 2).toString(), "ab");
			assert.equal(Buffer.byteLength("é"), 2); assert.equal(Buffer.byteLength("abcd", "hex"), 2); assert.equal(Buffer.from("ÿ", "latin1").length, 1);
			assert.equal(Buffer.from("ab", "utf16le").toString("utf16le"), "ab"); assert.deepEqual(JSON.parse(JSON.stringify(Buffer.from("a"))), { type: "Buffer", data: [97] });
			assert.equal(Buffer.alloc(3, "ab").toString(), "aba"); assert.equal(Buffer.from([256, 1]).toString("hex"), "0001"); assert.ok(Buffer.from("a").equals(new Uint8Array([97])));
			assert.equal(Buffer.compare(Buffer.from("a"), Buffer.from("b")), -1); assert.equal(Buffer.from("hello").indexOf("l"), 2); assert.ok(Buffer.from("hello").includes("llo"));
			const n = Buffer.alloc(8); n.writeUInt32BE(0xdeadbeef, 0); n.writeInt16LE(-2, 4); assert.equal(n.readUInt32BE(0), 0xdeadbeef); assert.equal(n.readInt16LE(4), -2); assert.equal(n.readUint8(0), 0xde);
			throws(() => n.readUInt32BE(5), /out of range/); throws(() => Buffer.from(5), /takes/); throws(() => b.toString("nothing"), /Unknown encoding/);
			const w = Buffer.alloc(4); assert.equal(w.write("€€"), 3);`,
		"what the standard adds": `
			const { promise, resolve } = Promise.withResolvers(); resolve(1); assert.equal(await promise, 1);
			assert.deepEqual(Object.groupBy([1, 2, 3], (x) => x % 2 ? "odd" : "even").odd, [1, 3]); assert.equal(Map.groupBy([1], () => 1).size, 1);
			assert.deepEqual(await Array.fromAsync((async function* () { yield 1; yield 2; })()), [1, 2]); assert.deepEqual(await Array.fromAsync([Promise.resolve(3)], (x) => x + 1), [4]);
			assert.deepEqual(await Array.fromAsync({ length: 2, 0: "a", 1: Promise.resolve("b") }), ["a", "b"]);
			assert.ok(!"\ud800".isWellFormed() && "\ud800".toWellFormed() === "\ufffd"); assert.deepEqual([1, 2, 3].values().map((x) => x * 2).filter((x) => x > 2).toArray(), [4, 6]);
			assert.ok(typeof WeakRef === "function" && new WeakRef(run).deref() === run && typeof FinalizationRegistry === "function"); assert.deepEqual([3, 1].toSorted(), [1, 3]);`,
		"the language": `
			class A { #x = 1; static #n = 0; static { A.#n++; } get x() { return this.#x; } static has(o) { return #x in o; } accessor = 2; }
			assert.ok(new A().x === 1 && A.has(new A()) && !A.has({}));
			async function* g() { try { yield 1; yield 2; } finally { g.done = true; } }
			for await (const v of g()) { assert.equal(v, 1); break; }
			assert.ok(g.done); assert.equal(2n ** 64n, 18446744073709551616n); assert.match("Größe", /^\p{L}+$/u); assert.match("x😀", /^.{2}$/u); assert.equal("2024-01".match(/(?<y>\d+)-(?<m>\d+)/).groups.m, "01");
			assert.equal(Symbol.asyncIterator, Symbol.asyncIterator); let a = null; a ??= { b: [1, { c: 2 }] }; assert.equal(a?.b?.[1]?.c, 2);
			enum E { X = 1, Y } ; const s: unknown = E.Y satisfies number; assert.equal(s as number, 2);
			const label = { x: 1, ...{ y: 2 } }; const { x, ...rest } = label; assert.deepEqual(rest, { y: 2 });`,
		"what is not there": `
			for (const name of ["fetch", "WebSocket", "XMLHttpRequest", "WebAssembly", "SharedArrayBuffer", "Atomics", "eval", "require", "module", "Bun", "Deno", "window", "self", "__host", "__internal", "__reason", "Worker", "navigator"]) assert.equal(typeof globalThis[name], "undefined", name);
			assert.equal(typeof fetch, "undefined"); throws(() => eval("1"), /eval/);`,
		"no code out of text": `
			const made = [Function, (async () => {}).constructor, (function* () {}).constructor, (async function* () {}).constructor, Object.getPrototypeOf(async () => {}).constructor, Function.prototype.constructor, (() => {}).constructor, class {}.constructor];
			for (const f of made) { throws(() => f("return 1"), /refused/); throws(() => new f("return 1"), /refused/); throws(() => Reflect.construct(f, ["return 1"]), /refused/); }
			assert.ok((() => {}) instanceof Function && (async () => {}) instanceof Function);
			throws(() => { "use strict"; Function.prototype.constructor = null; }); throws(() => Object.defineProperty(Function.prototype, "constructor", { value: 1 }));
			throws(() => setTimeout("globalThis.x = 1", 0));`,
		"process": `
			assert.deepEqual(Object.keys(process.env), []); assert.deepEqual({ ...process.versions }, { jig: process.versions.jig }); assert.equal(process.versions.node, undefined); assert.equal(process.versions.bun, undefined);
			assert.equal(process.cwd(), "/package"); assert.equal(process.argv[1], "/package/FLOW.ts"); assert.equal(process.platform, "linux"); assert.equal(process.exitCode, undefined);
			process.env.X = "1"; assert.equal(process.env.X, "1"); assert.equal(typeof process.hrtime.bigint(), "bigint"); assert.equal(process.hrtime().length, 2); assert.equal(String(process), "[object process]");
			assert.equal(process.on("SIGTERM", () => {}), process); assert.equal(process.stdin.isTTY, undefined);`,
		"performance and Date": `const a = performance.now(); await new Promise((r) => setTimeout(r, 2)); assert.ok(performance.now() > a && Date.now() > 1.6e12 && new Date(performance.timeOrigin + performance.now()).getFullYear() === new Date().getFullYear());`,
		"DOMException":         `const e = new DOMException("m", "NotFoundError"); assert.ok(e instanceof Error && e.name === "NotFoundError" && e.code === 8 && String(e) === "NotFoundError: m");`,
		"globals are hidden":   `assert.deepEqual(Object.keys(globalThis), []); globalThis.URL = 1; assert.equal(URL, 1);`,
	})
}

// rule: E-064
func TestURL(t *testing.T) {
	checks(t, "", map[string]string{
		"parts": `
			const u = new URL("HTTPS://user:p%40ss@Example.COM:8443/a/./b/../c%20d/?q=1&q=2&x=%C3%A9#frag ment");
			assert.deepEqual([u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin], ["https:", "user", "p%40ss", "example.com:8443", "example.com", "8443", "/a/c%20d/", "?q=1&q=2&x=%C3%A9", "#frag%20ment", "https://example.com:8443"]);
			assert.equal(u.href, "https://user:p%40ss@example.com:8443/a/c%20d/?q=1&q=2&x=%C3%A9#frag%20ment"); assert.equal(String(u), u.href); assert.equal(JSON.stringify({ u }), JSON.stringify({ u: u.href }));
			assert.deepEqual(u.searchParams.getAll("q"), ["1", "2"]); assert.equal(u.searchParams.get("x"), "é"); assert.equal(Object.prototype.toString.call(u), "[object URL]");`,
		"forms": `
			const same = { "http://a": "http://a/", "http://a:80/": "http://a/", "https://a:443": "https://a/", "http://a/ü?ü#ü": "http://a/%C3%BC?%C3%BC#%C3%BC", "http:\\\\a\\b": "http://a/b", "  http://a \n": "http://a/", "http://0x7f.1/": "http://127.0.0.1/", "http://256/": "http://0.0.1.0/",
				"http://[::1]:1/": "http://[::1]:1/", "http://[2001:DB8:0:0:1:0:0:1]/": "http://[2001:db8::1:0:0:1]/", "http://[::ffff:1.2.3.4]/": "http://[::ffff:102:304]/", "file:///a/../b": "file:///b", "file:/a": "file:///a", "mailto:x@y?z": "mailto:x@y?z", "data:text/plain,a b": "data:text/plain,a b", "javascript:1": "javascript:1", "custom://host/p": "custom://host/p", "http://a/%7Eb": "http://a/%7Eb", "http://a?": "http://a/?", "http://a/..//b": "http://a//b", "http://%61/": "http://a/" };
			for (const [from, to] of Object.entries(same)) assert.equal(new URL(from).href, to, from);
			for (const bad of ["", "a", "/x", "http://", "http:///", "http://a b/", "http://a:99999/", "http://a:x/", "http://[1]/", "http://1.2.3.4.5/", "http://256.1.1.1/", "//x", "http://ä/", "http://a%2fb/"]) { assert.equal(throws(() => new URL(bad)).code, "ERR_INVALID_URL", bad); assert.ok(!URL.canParse(bad)); }
			assert.equal(URL.parse("nothing"), null);`,
		"relative": `
			const cases = { "b": "http://h/a/b", "/b": "http://h/b", "../b": "http://h/b", "../../../b": "http://h/b", "?x": "http://h/a/c?x", "#x": "http://h/a/c?q#x", "//o/p": "http://o/p", "": "http://h/a/c?q", "./": "http://h/a/", ".": "http://h/a/", "http:b": "http://h/a/b", "https://o": "https://o/" };
			for (const [to, want] of Object.entries(cases)) assert.equal(new URL(to, "http://h/a/c?q#f").href, want, to);
			assert.equal(new URL("./x.ts", "file:///package/FLOW.ts").href, "file:///package/x.ts"); throws(() => new URL("x", "mailto:y"), /Invalid/);`,
		"URLSearchParams": `
			const s = new URLSearchParams("?a=1&b=%20+x&a=2&c"); assert.equal(s.size, 4); assert.equal(s.get("b"), "  x"); assert.equal(s.get("c"), ""); assert.equal(s.get("none"), null); assert.deepEqual([...s.keys()], ["a", "b", "a", "c"]);
			s.append("é", "& ="); s.set("a", "9"); s.delete("c"); s.sort(); assert.equal(s.toString(), "a=9&b=++x&%C3%A9=%26+%3D"); assert.ok(s.has("a", "9") && !s.has("a", "1"));
			assert.equal(new URLSearchParams({ x: "1", y: 2 }).toString(), "x=1&y=2"); assert.equal(new URLSearchParams([["x", "1"]]).toString(), "x=1"); assert.equal(new URLSearchParams(s).toString(), s.toString());
			const u = new URL("http://a/?x=1"); u.searchParams.append("y", "2"); assert.equal(u.href, "http://a/?x=1&y=2"); u.search = "?z=3"; assert.equal(u.searchParams.get("z"), "3"); u.searchParams.delete("z"); assert.equal(u.href, "http://a/");
			u.hash = "h"; u.pathname = "/p q"; assert.equal(u.href, "http://a/p%20q#h"); throws(() => new URLSearchParams([["x"]]));`,
	})
}
