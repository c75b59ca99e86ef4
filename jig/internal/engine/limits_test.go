package engine_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// The test binary is a Flow's process as well, for what only the end of a process
// ends.
const asFlow = "JIG_TEST_FLOW"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asFlow); dir != "" {
		os.Exit(engine.Flow{Package: dir, Scratch: os.Getenv("TMPDIR"), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}.Run())
	}
	args := strings.Fields(os.Getenv("JIG_TEST_ARGS"))
	switch word := os.Getenv(asMain); word {
	case "":
		os.Exit(m.Run())
	case "__flow":
		os.Exit(engine.FlowMain(args))
	case "__declare":
		os.Exit(engine.DeclareMain(args))
	case "__compile":
		os.Exit(engine.CompileMain(args))
	default:
		panic("no such word: " + word) // never the tests again
	}
}

// rule: J-061, J-137, E-108
func TestMemoryIsLimited(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"one array too large":       body(`new Uint8Array(200 << 20);`),
		"many that are kept":        {"FLOW.ts": `import { handle } from "@jigging/flow"; const kept = []; await handle(async () => { for (;;) kept.push(new Uint8Array(1 << 20)); });`},
		"many small ones":           {"FLOW.ts": `import { handle } from "@jigging/flow"; const kept = []; await handle(async () => { for (;;) kept.push({ a: kept.length, b: "x" + kept.length }); });`},
		"no room for an error":      body(`const kept = []; for (;;) kept.push({ a: 1, b: [1, 2] });`),
		"in a callback, and no end": {"FLOW.ts": `import { handle } from "@jigging/flow"; const kept = []; await handle(() => new Promise((r) => { setTimeout(() => { try { for (;;) kept.push(new Uint8Array(60000)); } catch {} }, 1); }));`},
	} {
		t.Run(name, func(t *testing.T) {
			e := run(t, flow{files: files, heap: 16 << 20}).fails(fault.ExecutionFailed)
			require.Len(t, e.diags, 1, e.text)
			require.Equal(t, engine.CodeMemory, e.diags[0].Code)
			require.Contains(t, e.diags[0].Message, "16 MiB")
		})
	}
	e := run(t, flow{files: body(`new Uint8Array(120 << 20); new Uint8Array(129 << 20);`)}).fails(fault.ExecutionFailed)
	require.Contains(t, e.diags[0].Message, "128 MiB")
	require.Contains(t, e.text, "FLOW.ts:2:61", "the second one")
	run(t, flow{files: body(`let n = 0; try { new Uint8Array(200 << 20); } catch (e) { n = e instanceof Error ? 1 : 2; } return { outcome: "done", output: n };`)}).is("1")
	e = run(t, flow{heap: 16 << 20, files: only(`const kept = []; for (;;) kept.push(new Uint8Array(1 << 20));`)}).fails(fault.ExecutionFailed)
	require.Equal(t, engine.CodeMemory, e.diags[0].Code)
}

// rule: J-061, E-108
func TestTheDepthOfCallsIsLimited(t *testing.T) {
	e := run(t, flow{files: body(`const deep = (n: number): number => n === 0 ? 0 : 1 + deep(n - 1); const f = () => f(); let caught = ""; try { f(); } catch (e) { caught = e.name + ": " + e.message; } return { outcome: "done", output: [deep(5000), caught] };`)})
	e.is(`[5000,"InternalError: stack overflow"]`)
	require.Empty(t, e.diags, "what the author catches is the author's")
	e = run(t, flow{files: body(`const f = async () => { await f(); }; await f();`)}).fails(fault.ExecutionFailed)
	require.NotEmpty(t, e.diags)
	require.Equal(t, engine.CodeStack, e.diags[0].Code)
	require.Contains(t, e.diags[0].Message, "8192")
	// What recurses inside the engine is an author's exception as well.
	run(t, flow{files: body(`const names = []; const o = {}; o.toString = () => String(o); for (const f of [() => new RegExp("(".repeat(1e5)), () => JSON.parse("[".repeat(1e6)), () => String(o)]) try { f(); names.push("nothing"); } catch (e) { names.push(e.constructor.name); } return { outcome: "done", output: names };`)}).is(`["SyntaxError","SyntaxError","InternalError"]`)
}

// rule: E-109, J-060
func TestWhatOnlyTheEndOfTheProcessEnds(t *testing.T) {
	for name, code := range map[string]string{
		"an endless loop":             `for (;;);`,
		"endless jobs":                `const f = () => { Promise.resolve().then(f); }; f(); await new Promise(() => {});`,
		"a catastrophic regex":        `/^(a+)+$/.test("a".repeat(40) + "!");`,
		"sort over 2^31 elements":     `Array.prototype.sort.call({ length: 2 ** 31 });`,
		"join over 2^31 elements":     `new Array(2 ** 31).join("x");`,
		"indexOf over 2^53 elements":  `Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`,
		"nothing at all":              `await new Promise(() => {});`,
		"a loop that catches all":     `for (;;) { try { for (;;); } catch {} finally { } }`,
		"a getter that never returns": `return { outcome: "done", output: new Proxy({}, { ownKeys() { for (;;); } }) };`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, body(`process.stderr.write("up\n"); `+code))
			c := exec.Command(os.Args[0])
			c.Env = []string{asFlow + "=" + dir, "TMPDIR=" + t.TempDir(), "GOCOVERDIR=" + t.TempDir()}
			in, err := c.StdinPipe()
			require.NoError(t, err)
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			stderr, err := c.StderrPipe()
			require.NoError(t, err)
			h := &host{party: 1, broker: channel.New(channel.Limits{}), ledger: run0.NewLedger(run0.Limits{})}
			s, err := run0.New(run0.Options{In: in, Out: out, Handler: h, Run: run0.Run{Input: jsontext.Value("null"), Scratch: "/scratch"}})
			require.NoError(t, err)
			require.NoError(t, c.Start())
			s.Start()
			lines := bufio.NewReader(stderr)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "up\n", line)
			s.Cancel(fault.New(fault.DeadlineExceeded, "time is over"))
			s.Killed()
			require.NoError(t, c.Process.Kill())
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			require.Empty(t, string(rest))
			<-s.Drained()
			c.Wait()
			ending := s.End(run0.Exit{Code: -1, Killed: true, Confirmed: true, Cleanup: true})
			require.NotNil(t, ending.Err)
			require.Equal(t, fault.DeadlineExceeded, ending.Err.Code)
		})
	}
}

// rule: E-112
func TestEveryFlowHasARealmOfItsOwn(t *testing.T) {
	for range 2 {
		run(t, flow{files: body(`const seen = globalThis.seen ?? Array.prototype.seen; globalThis.seen = Array.prototype.seen = 1; return { outcome: "done", output: seen === undefined };`)}).is("true")
	}
}

func TestALargeInputAndResult(t *testing.T) {
	n := 1 << 18
	if *long {
		n = 3 << 20 // nearly a whole frame each way
	}
	input := fmt.Sprintf(`[%q,%q]`, strings.Repeat("x", n), strings.Repeat("é", n))
	e := run(t, flow{files: body(`return { outcome: "done", output: [run.input[0].length, run.input[1].length, run.input[1], run.input[0]] };`), input: input})
	require.Nil(t, e.err)
	require.True(t, strings.HasPrefix(e.result, fmt.Sprintf(`done [%d,%d,"éé`, n, n)))
	require.Greater(t, len(e.result), 3*n)
}
