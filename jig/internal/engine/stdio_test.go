package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// ownSDK is a package that speaks Run/0 by itself over process.stdin and
// process.stdout. read is how it reads frames: a function that calls frame with
// each.
func ownSDK(read, handler string) map[string]string {
	return map[string]string{
		"sdk.ts": `let next = 0; const pending = new Map<string, { resolve: (v: unknown) => void, reject: (e: Error) => void }>();
const put = (m: object) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
const call = (params: object) => new Promise((resolve, reject) => { const id = "own:" + ++next; pending.set(id, { resolve, reject }); put({ id, method: "flow/call", params }); });
export const handle = (f: (run: any) => Promise<object>) => new Promise<void>((resolve) => {
	const frame = async (text: string) => {
		const m = JSON.parse(text);
		if (m.method === "flow/run") {
			try { put({ id: m.id, result: await f({ ...m.params, call }) }); } catch (e) { put({ id: m.id, error: { code: -32000, message: "Run execution failed", data: { code: "EXECUTION_FAILED" } } }); }
			stop(); resolve();
		} else if (m.result !== undefined) pending.get(m.id)!.resolve(m.result); else if (m.error) pending.get(m.id)!.reject(new Error(m.error.data.code));
	};
	let stop = () => {};
	` + read + `
});`,
		"FLOW.ts": "import { handle } from './sdk.ts';\nawait handle(async (run) => {" + handler + "\n});\nconsole.log('after');\n",
	}
}

var readers = map[string]string{
	"events":   `let rest = Buffer.alloc(0); const on = (c: Buffer) => { rest = Buffer.concat([rest, c]); for (let i; (i = rest.indexOf(10)) >= 0; rest = rest.subarray(i + 1)) frame(rest.toString("utf8", 0, i)); }; process.stdin.on("data", on); process.stdin.on("end", () => console.log("end")); stop = () => { process.stdin.off("data", on); process.stdin.pause(); };`,
	"encoding": `let rest = ""; process.stdin.setEncoding("utf8"); process.stdin.on("data", (c: string) => { if (typeof c !== "string") throw new Error("bytes"); rest += c; for (let i; (i = rest.indexOf("\n")) >= 0; rest = rest.slice(i + 1)) frame(rest.slice(0, i)); }); stop = () => process.stdin.destroy();`,
	"iterator": `(async () => { const decoder = new TextDecoder(); let rest = ""; outer: for await (const c of process.stdin) { rest += decoder.decode(c, { stream: true }); for (let i; (i = rest.indexOf("\n")) >= 0; rest = rest.slice(i + 1)) frame(rest.slice(0, i)); } })(); stop = () => process.stdin.unref();`,
	"readable": `let rest = ""; process.stdin.setEncoding("utf-8").on("readable", () => { for (let c; (c = process.stdin.read()) !== null;) { rest += c; for (let i; (i = rest.indexOf("\n")) >= 0; rest = rest.slice(i + 1)) frame(rest.slice(0, i)); } }); stop = () => process.stdin.unref();`,
}

// rule: E-056
func TestAFlowThatBringsItsOwnSDK(t *testing.T) {
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			e := run(t, flow{files: ownSDK(read, `console.log("console"); const r = await run.call({ operationId: "a", slot: "worker", input: run.input.big }); const no = await run.call({ operationId: "b", slot: "none", input: 1 }).catch((e) => e.message); return { outcome: "done", output: [r.output, run.input.text, no] };`),
				input: `{"text":"é😀","big":"` + strings.Repeat("中", 50_000) + `"}`,
				serve: func(d *dispatch) {
					if d.Slot == "none" {
						d.fail(fault.Unavailable)
						return
					}
					if len(d.Input) != 150_002 {
						t.Errorf("%d bytes came", len(d.Input))
					}
					d.done(`{"outcome":"done","output":"` + strings.Repeat("é", 40_000) + `"}`)
				}})
			e.is(`["` + strings.Repeat("é", 40_000) + `","é😀","UNAVAILABLE"]`)
			require.Equal(t, "console\nafter\n", e.text)
		})
	}
}

// rule: E-056
func TestNoiseOfAFlowThatBringsItsOwnSDK(t *testing.T) {
	e := run(t, flow{files: ownSDK(readers["events"], `process.stdout.write("noise\n"); return { outcome: "done", output: 1 };`)}).fails(fault.ProtocolError)
	require.Contains(t, e.err.Message, "noise")
	run(t, flow{files: ownSDK(readers["events"], `return { outcome: "done", output: 1 };`+"\n});\nprocess.stdout.write('late');\nawait (async () => {")}).fails(fault.ProtocolError)
	run(t, flow{files: only(`process.stdout.write("{}\n"); process.stdout.end(); process.stdout.write("x");`)}).fails(fault.ProtocolError)
	// With the engine's SDK the same noise is harmless, wherever it comes from.
	run(t, flow{files: map[string]string{"FLOW.ts": `import { handle } from "@jigging/flow"; import "noisy"; import fs from "node:fs"; fs.writeSync(1, "also"); handle(() => ({ outcome: "done", output: 1 }));`, "node_modules/noisy/index.js": `process.stdout.write("noise");`}}).is("1")
	e = run(t, flow{files: only(`process.stdin.resume(); const { handle } = await import("@jigging/flow"); await handle(() => ({}));`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.text, "standard input was read before handle was called")
}

func TestStandardInputEnds(t *testing.T) {
	e := run(t, flow{files: only(`let n = 0; for await (const c of process.stdin) { n += c.length; process.stdin.destroy(); } console.log(n > 100, process.stdin.destroyed);`)}).fails(fault.ChannelLost)
	require.Equal(t, "true true\n", e.text)
}
