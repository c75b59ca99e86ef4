package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rule: J-001
func TestTheProgramIsOneStaticBinary(t *testing.T) {
	f, err := elf.Open(jig)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type)
	}
	libraries, err := f.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
}

var kinds = map[string]string{
	"flows/hello/FLOW.ts":  hello,
	"flows/throw/FLOW.ts":  flow(`throw new Error("my own words")`),
	"flows/code/FLOW.ts":   flow(`throw new OperationError("INVALID_INPUT", "not that", { at: 3 })`),
	"flows/odd/FLOW.ts":    flow(`return { outcome: "undeclared", output: 1 }`),
	"flows/wait/FLOW.ts":   flow(`console.log("waiting"); await new Promise(() => {})`),
	"flows/deaf/FLOW.ts":   flow(`console.log("waiting"); for (;;) {}`),
	"flows/loads/FLOW.ts":  "import \"node:net\"\n" + hello,
	"flows/never/FLOW.ts":  "export {}\n",
	"flows/deep/FLOW.ts":   flow(`const f = (n) => 1 + f(n + 1); return { outcome: "done", output: f(0) }`),
	"flows/exits/FLOW.ts":  "import process from \"node:process\"\nprocess.exit(3)\n",
	"flows/python/FLOW.py": "pass\n",
	"flows/prose/FLOW.md":  "# Do it\n",
	"flows/slot/FLOW.ts":   hello, "flows/slot/FLOW.meta.json": `{"uses":{"any":{}}}`,
	"flows/text/FLOW.ts": hello, "flows/text/FLOW.contract.json": `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json","input":{"type":"string"},"outcomes":{"limit":"It was too much."}}`,
	"flows/limit/FLOW.ts": flow(`return { outcome: "limit", output: null }`), "flows/limit/FLOW.contract.json": `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json","outcomes":{"limit":"It was too much."}}`,
}

// rule: J-032, J-035, J-036, J-038, J-044, J-045, J-063, J-064, J-070
func TestEveryKindOfEndHasItsRecordAndItsExitStatus(t *testing.T) {
	p := reviewed(t, kinds)
	run := func(args ...string) outcome { return p.jig(append([]string{"run"}, args...)...) }

	run("flow:flows/hello").is(0, "status", `"succeeded"`, "outcome", `"done"`, "output", `"Hello, world!"`)
	run("flow:flows/limit").is(0, "status", `"succeeded"`, "outcome", `"limit"`, "output", "null")

	o := run("flow:flows/throw").is(1, "status", `"failed"`, "code", `"EXECUTION_FAILED"`)
	require.NotContains(t, o.stdout, "my own words")
	require.Contains(t, o.stderr, "flow:flows/throw | Error: my own words\n")
	run("flow:flows/code").is(1, "status", `"failed"`, "code", `"INVALID_INPUT"`, "message", `"not that"`, "details", `{"at":3}`)
	run("flow:flows/odd").is(1, "status", `"failed"`, "code", `"INVALID_RESULT"`)
	run("flow:flows/exits").is(1, "status", `"failed"`, "code", `"EXECUTION_FAILED"`)
	run("flow:flows/never").is(1, "status", `"failed"`, "code", `"CHANNEL_LOST"`)
	o = run("flow:flows/loads").is(1, "status", `"failed"`)
	require.Contains(t, string(o.record()["diagnostics"]), "node:net")
	o = run("flow:flows/deep").is(1, "status", `"failed"`, "code", `"EXECUTION_FAILED"`)
	require.Contains(t, string(o.record()["diagnostics"]), "RESOURCE_EXHAUSTED")
	run("flow:flows/wait", "--timeout", "300ms").is(1, "status", `"failed"`, "code", `"DEADLINE_EXCEEDED"`)

	for _, refusal := range []struct {
		args []string
		exit int
		code string
	}{
		{[]string{"flow:flows/python"}, 2, "UNAVAILABLE"},
		{[]string{"flow:flows/prose"}, 2, "UNAVAILABLE"},
		{[]string{"flow:flows/slot"}, 1, "JIG_RUN_TARGET_INVALID"},
		{[]string{"flow:flows/text"}, 1, "JIG_RUN_INPUT_INVALID"},
		{[]string{"flow:flows/hello", "--input", "{"}, 1, "JIG_RUN_INPUT_INVALID"},
		{[]string{"flow:flows/hello", "--input", "@none.json"}, 1, "JIG_RUN_INPUT_INVALID"},
		{[]string{"flow:flows/hell"}, 1, "JIG_RUN_TARGET_NOT_FOUND"},
		{[]string{"binding:hello"}, 1, "JIG_RUN_TARGET_NOT_FOUND"},
		{[]string{"hello"}, 1, "JIG_RUN_TARGET_INVALID"},
		{[]string{"npm:hello"}, 1, "FEATURE_UNAVAILABLE"},
		{[]string{}, 1, "JIG_RUN_TARGET_INVALID"},
		{[]string{"flow:flows/hello", "--timeout", "0s"}, 1, "JIG_RUN_TIMEOUT_INVALID"},
		{[]string{"flow:flows/hello", "--timeout", "01s"}, 1, "JIG_RUN_TIMEOUT_INVALID"},
		{[]string{"flow:flows/hello", "--receive", "news"}, 1, "JIG_RUN_INPUT_INVALID"},
		{[]string{"flow:flows/hello", "--nothing"}, 2, "JIG_USAGE"},
		{[]string{"flow:flows/hello", "more"}, 2, "JIG_USAGE"},
	} {
		o := run(refusal.args...)
		r := o.record()
		if strings.Contains(strings.Join(refusal.args, " "), "--receive") {
			require.Equal(t, `"terminal"`, string(r["type"]))
			r = record(t, string(r["result"]))
			o.exit = o.is(refusal.exit).exit
		}
		require.Equal(t, refusal.exit, o.exit, "%v %s", refusal.args, o)
		require.Equal(t, `"failed"`, string(r["status"]), "%v", refusal.args)
		require.Equal(t, `"`+refusal.code+`"`, string(r["code"]), "%v %s", refusal.args, o)
		require.Nil(t, r["runId"], "%v", refusal.args)
	}
	o = p.jig("runs").is(0)
	require.Equal(t, 10, strings.Count(o.stdout, `"id":`), "only what ran is recorded")
	o = run("flow:flows/python")
	require.Contains(t, o.stderr, "FLOW.ts, FLOW.js and FLOW.mjs are supported")
}

// rule: J-006, J-007
func TestNoTargetIsGuessed(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	o := p.jig("run").is(1, "code", `"JIG_RUN_TARGET_INVALID"`, "details", `{"targets":["flow:flows/hello"]}`)
	require.Contains(t, o.stderr, "flow:flows/hello")
	o = p.jig("run", "flow:flows/helo").is(1, "code", `"JIG_RUN_TARGET_NOT_FOUND"`)
	require.Contains(t, o.stderr, "targets: flow:flows/hello")
	p.jig("runs").is(0, "runs", "[]")
}

// rule: P-176
func TestAnInputIsJSONAFileOrStandardInput(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/echo/FLOW.ts": flow(`return { outcome: "done", output: run.input }`), "in.json": `{"from": "a file"}`})
	p.jig("run", "flow:flows/echo").is(0, "output", "{}")
	p.jig("run", "flow:flows/echo", "--input", `[1, 1.0, "é"]`).is(0, "output", `[1,1,"é"]`)
	p.jig("run", "flow:flows/echo", "--input", "@in.json").is(0, "output", `{"from":"a file"}`)
	cmd := p.command("run", "flow:flows/echo", "--input", "@-")
	cmd.Stdin = strings.NewReader(`"from standard input"`)
	p.start(cmd).wait().is(0, "output", `"from standard input"`)
	o := p.jig("run", "flow:flows/echo", "--input", "{\n \"a\": 1,\n \"a\": 2}").is(1, "code", `"JIG_RUN_INPUT_INVALID"`, "details", `{"column":2,"line":3}`)
	require.Contains(t, o.stderr, "duplicate member name")
}

// complaint: B1.10 openai/codex#20919 - a program that inherits an open standard input waits for it for ever
// rule: J-021, J-022
func TestComplaintB1_10Codex20919StandardInputIsLeftAlone(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	_, err = out.WriteString("not for you\n")
	require.NoError(t, err)
	for _, args := range [][]string{{"run", "flow:flows/hello"}, {"review"}, {"status"}, {"doctor"}} {
		cmd := p.command(args...)
		cmd.Stdin = in
		require.Equal(t, 0, p.start(cmd).wait().exit, args)
	}
	require.NoError(t, out.Close())
	left, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "not for you\n", string(left))
}

// rule: P-177
func TestATimeoutIsANumberAndAUnit(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	for _, fine := range []string{"20s", "30000ms", "1440m", "24h", "86400s", "86400000ms"} {
		p.jig("run", "flow:flows/hello", "--timeout", fine).is(0)
	}
	for _, bad := range []string{"", "0s", "0ms", "01s", "25h", "1441m", "86401s", "86400001ms", "1d", "1", "s", "-1s", "+1s", "1.5s", " 1s", "1 s", "1S", "99999999999999999999h"} {
		p.jig("run", "flow:flows/hello", "--timeout="+bad).is(1, "code", `"JIG_RUN_TIMEOUT_INVALID"`)
	}
}

// rule: P-178, J-015
func TestAnOptionIsGivenOnceAndOthersAreRefused(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	for _, args := range [][]string{
		{"--json", "--json"}, {"--input", "1", "--input", "1"}, {"--timeout", "1s", "--timeout=1s"}, {"--receive", "a", "--receive", "a"},
		{"--attach", "a=b"}, {"--select", "a=b"}, {"--out", "x"}, {"--timeout"}, {"--receive", ""},
	} {
		o := p.jig(append([]string{"run", "flow:flows/hello"}, args...)...)
		require.Equal(t, 2, o.exit, "%v %s", args, o)
		require.Contains(t, o.stdout, `"code":"JIG_USAGE"`, args)
	}
	receive := []string{"run", "flow:flows/hello"}
	for i := range 16 {
		receive = append(receive, "--receive", fmt.Sprintf("c%d", i))
	}
	require.Contains(t, p.jig(receive...).stdout, "JIG_RUN_INPUT_INVALID", "sixteen are understood")
	require.Contains(t, p.jig(append(receive, "--receive", "last")...).stdout, "JIG_USAGE")
}

// rule: J-024, J-029, J-033
func TestTheFirstSignalCancelsAndTheRecordSaysSo(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		p := reviewed(t, map[string]string{"flows/tidy/FLOW.ts": flow(`
			console.log("waiting")
			await new Promise((resolve) => run.signal.addEventListener("abort", resolve))
			console.log("tidied up")
			return { outcome: "done", output: 1 }`)})
		r := p.start(p.command("run", "flow:flows/tidy", "--json"))
		r.says("| waiting")
		require.NoError(t, r.cmd.Process.Signal(sig))
		o := r.wait()
		o.is(2, "status", `"failed"`, "code", `"CANCELLED"`, "command", `{"status":"interrupted"}`)
		require.Contains(t, o.stderr, "| tidied up", "it was asked, not killed")
		p.jig("status").is(0, "runs", "[]")
	}
}

// rule: J-024
func TestASignalEndsTheWaitForAnInput(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	pipe := filepath.Join(p.dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	require.NoError(t, os.Chmod(pipe, 0o666))
	for _, input := range []string{"@pipe", "@-"} {
		cmd := p.command("run", "flow:flows/hello", "--json", "--input", input)
		stdin, writer, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stdin = stdin
		r := p.start(cmd)
		if input == "@pipe" {
			require.NoError(t, writer.Close())
			writer, err = os.OpenFile(pipe, os.O_WRONLY, 0) // returns when jig has opened it
			require.NoError(t, err)
		}
		// More than a pipe holds: when it is written, jig is reading.
		_, err = writer.Write(bytes.Repeat([]byte(" "), 256<<10))
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		r.wait().is(2, "status", `"failed"`, "code", `"JIG_COMMAND_INTERRUPTED"`)
		require.NoError(t, stdin.Close())
		require.NoError(t, writer.Close())
	}
}

func TestSignalsEndWhoWaitsForAReader(t *testing.T) {
	p := newPlace(t, nil)
	for _, args := range [][]string{{"nonsense"}, {"review", "--nonsense"}} {
		cmd := p.command(args...)
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		// A pipe that holds nothing more, and that nobody reads.
		require.NoError(t, writer.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		_, err = writer.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		cmd.Stdout = writer
		r := p.start(cmd)
		r.says("[JIG_USAGE]")
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} { // of one kind, two can become one
			require.NoError(t, cmd.Process.Signal(sig))
		}
		require.Equal(t, 2, r.wait().exit)
		require.NoError(t, reader.Close())
		require.NoError(t, writer.Close())
	}
}

// rule: J-024
func TestTheSecondSignalKillsAtOnce(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/deaf/FLOW.ts": kinds["flows/deaf/FLOW.ts"]})
	r := p.start(p.command("run", "flow:flows/deaf"))
	r.says("| waiting")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait().is(2, "status", `"failed"`, "code", `"CANCELLED"`, "command", `{"status":"interrupted"}`)
}

// rule: J-023
func TestASignalToTheWholeGroupReachesOnlyJig(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/tidy/FLOW.ts": flow(`
		console.log("waiting")
		await new Promise((resolve) => run.signal.addEventListener("abort", resolve))
		console.log("tidied up")
		return { outcome: "done", output: 1 }`)})
	cmd := p.command("run", "flow:flows/tidy")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r := p.start(cmd)
	r.says("| waiting")
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	o := r.wait().is(2, "code", `"CANCELLED"`)
	require.Contains(t, o.stderr, "| tidied up")
}

// rule: J-060
func TestAFlowWithNothingToDoStaysUntilTheDeadline(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"]})
	o := p.jig("run", "flow:flows/wait", "--timeout", "1500ms").is(1, "code", `"DEADLINE_EXCEEDED"`)
	require.GreaterOrEqual(t, o.took, 1500*time.Millisecond)
}

// rule: J-031, J-019, J-020
func TestWhatAFlowPrintsComesEscapedLineByLine(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/loud/FLOW.ts": flow(`
		console.log("plain é 中")
		console.log("\x1b]0;title\x07\x1b[2Kgone \u202eevil\u200b")
		console.error("two\nlines")
		console.log("x".repeat(5000))
		await new Promise(() => {})`)})
	r := p.start(p.command("run", "flow:flows/loud", "--timeout", "20s"))
	r.says("| plain é 中\n") // while it runs
	r.says(`| two\nlines` + "\n")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	o := r.wait()
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u200b"} {
		require.NotContains(t, o.stderr, bad)
		require.NotContains(t, o.stdout, bad)
	}
	require.Contains(t, o.stderr, `\u{1b}]0;title\u{7}`)
	for line := range strings.Lines(o.stderr) {
		require.Less(t, len(line), 3000)
	}
	id := strings.Trim(string(o.record()["runId"]), `"`)
	shown := p.jig("runs", "show", id).is(0).record()
	require.Contains(t, string(shown["stderr"]), "plain é 中")
}

func TestTheKeptStandardErrorIsBounded(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/loud/FLOW.ts": flow(`for (let i = 0; i < 200; i++) console.log("y".repeat(1000)); return { outcome: "done", output: 1 }`)})
	o := p.jig("run", "flow:flows/loud").is(0)
	require.Greater(t, len(o.stderr), 200_000)
	shown := p.jig("runs", "show", strings.Trim(string(o.record()["runId"]), `"`)).is(0).record()
	require.LessOrEqual(t, len(shown["stderr"]), 64<<10+1000)
	require.Greater(t, len(shown["stderr"]), 60<<10)
}

// rule: J-034
func TestOutputThatCannotBeDeliveredFailsTheCommand(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	closed, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	defer writer.Close()
	for _, out := range []*os.File{full, writer} {
		cmd := p.command("run", "flow:flows/hello")
		cmd.Stdout = out
		o := p.start(cmd).wait()
		require.Equal(t, 2, o.exit)
		require.Contains(t, o.stderr, "standard output could not be written")
	}
}

func TestALargeResultIsPrintedWhole(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/large/FLOW.ts": flow(`return { outcome: "done", output: ["z".repeat(7_000_000), Array(60_000).fill(1)] }`)})
	o := p.jig("run", "flow:flows/large")
	require.Equal(t, 0, o.exit, o.stderr)
	require.True(t, bytes.HasPrefix([]byte(o.stdout), []byte(`{"diagnostics":[],"outcome":"done","output":["zzz`)))
	require.Greater(t, len(o.stdout), 7_100_000)
	r := p.jig("runs").is(0)
	require.Contains(t, r.stdout, `"succeeded"`)
}

func TestNothingIsLeftOfARun(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	p.jig("run", "flow:flows/hello").is(0)
	entries, err := os.ReadDir(filepath.Join(p.dir, ".jig", "runs"))
	require.NoError(t, err)
	require.Empty(t, entries)
	entries, err = os.ReadDir(p.dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{".jig", "flows", "jig.json", "jig.lock"}, names)
}
