package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// hostileCode is code that never ends or takes all there is.
var hostileCode = map[string]string{
	"endless loop": `for (;;) {}`,
	"memory":       `const a = []; for (;;) a.push("x".repeat(1000000))`,
	"recursion":    `const f = (n) => 1 + f(n + 1); f(0)`,
	"regex":        `/^(a+)+$/.test("a".repeat(50) + "b")`,
	"native":       `Array.prototype.sort.call({ length: 2 ** 31 })`,
	"join":         `new Array(2 ** 31).join("x")`,
}

// flat says that the host's own memory did not grow with what it ran.
func flat(t *testing.T, r *running) {
	t.Helper()
	usage, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	require.Less(t, usage.Maxrss, int64(80<<10), "KiB of the host")
}

// rule: J-061
func TestHostileCodeInAFlowEndsAtItsLimit(t *testing.T) {
	files := map[string]string{}
	for name, code := range hostileCode {
		files["flows/"+strings.ReplaceAll(name, " ", "-")+"/FLOW.ts"] = flow(code + "\nreturn { outcome: \"done\", output: 1 }")
	}
	p := reviewed(t, files)
	for name := range hostileCode {
		timeout := "3s"
		if name == "memory" || name == "recursion" {
			timeout = "5m" // they end by themselves, on a busy machine after a while
		}
		r := p.start(p.command("run", "flow:flows/"+strings.ReplaceAll(name, " ", "-"), "--timeout", timeout))
		o := r.wait()
		flat(t, r)
		switch name {
		case "memory", "recursion":
			o.is(1, "code", `"EXECUTION_FAILED"`)
			require.Contains(t, string(o.record()["diagnostics"]), `"code":"RESOURCE_EXHAUSTED"`, name)
		default:
			require.Contains(t, []string{`"DEADLINE_EXCEEDED"`, `"RESOURCE_EXHAUSTED"`}, string(o.record()["code"]), "%s: %s", name, o)
			require.Equal(t, 1, o.exit)
		}
	}
	p.jig("status").is(0, "runs", "[]")
}

// rule: J-046, J-047
func TestHostileCodeInADeclarationEndsAtItsLimit(t *testing.T) {
	for name, code := range hostileCode {
		p := newPlace(t, map[string]string{"bindings/x.ts": code + "\nexport default 1\n"})
		r := p.start(p.command("review"))
		if name == "endless loop" {
			require.True(t, eventually(func() bool { return len(descendants(r.cmd.Process.Pid, "__declare")) > 0 }))
			require.Len(t, descendants(r.cmd.Process.Pid, "__declare"), 1, "one process a review")
		}
		o := r.wait()
		flat(t, r)
		require.Equal(t, 1, o.exit, "%s: %s", name, o)
		require.Contains(t, o.stdout, `"path":"bindings/x.ts"`)
		switch name {
		case "memory", "recursion":
			// These end by themselves, if they are given the time.
			e := evaluator(t)
			e.Each, e.All = 5*time.Minute, 5*time.Minute
			_, err := e.Evaluate(t.Context(), "x.ts", func(string) ([]byte, error) { return []byte(code + "\nexport default 1\n"), nil })
			require.ErrorContains(t, err, map[string]string{"memory": "more memory than declarations have", "recursion": "calls too deep"}[name])
		default:
			require.Contains(t, o.stdout, `"code":"PROJECT_EVALUATION_LIMIT"`, name)
			require.Contains(t, o.stderr, "longer than 3s", name)
			require.Greater(t, o.took, 3*time.Second)
		}
	}
}

// descendants are the processes below pid that have word in their command line.
func descendants(pid int, word string) (found []string) {
	parents := map[string]string{}
	lines := map[string]string{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue
		}
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		line, _ := os.ReadFile(dir + "/cmdline")
		parents[filepath.Base(dir)], lines[filepath.Base(dir)] = rest[1], string(line)
	}
	for p, line := range lines {
		if !strings.HasPrefix(line, "/jig/jig\x00") || !strings.Contains(line, word) {
			continue
		}
		for up := p; up != "" && up != "0"; up = parents[up] {
			if up == strconv.Itoa(pid) {
				found = append(found, p)
				break
			}
		}
	}
	return found
}

func eventually(fn func() bool) bool {
	for range 3000 {
		if fn() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func evaluator(t *testing.T) *project.ScopeEvaluator {
	t.Helper()
	bwrap, _, err := sandbox.FindBwrap(sandbox.Search{Path: "/usr/bin:/bin"})
	require.NoError(t, err)
	l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: bwrap, UID: nobody, GID: nobody})
	require.NoError(t, err)
	e := &project.ScopeEvaluator{Launcher: l, Jig: jig}
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// rule: J-047
func TestAllDeclarationsTogetherHaveTheirTime(t *testing.T) {
	source := func(text string) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return []byte(text), nil }
	}
	e := evaluator(t)
	e.All = 4 * time.Second
	_, err := e.Evaluate(t.Context(), "a.ts", source("export default { a: 1 }"))
	require.NoError(t, err)
	var refusal *project.Refusal
	// Ten busy ones, none of which is too slow by itself.
	for i := 0; err == nil && i < 1000; i++ {
		_, err = e.Evaluate(t.Context(), fmt.Sprintf("b%d.ts", i), source("let n = 0; while (n < 2e6) n++\nexport default { n }"))
	}
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, project.CodeEvaluationLimit, refusal.Diagnostics[0].Code)
	require.Contains(t, refusal.Diagnostics[0].Message, "all declarations together took longer than 4s")

	e = evaluator(t)
	e.Each = 300 * time.Millisecond
	_, err = e.Evaluate(t.Context(), "slow.ts", source("for (;;) {}\nexport default 1"))
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "slow.ts", refusal.Diagnostics[0].Path)
	require.Contains(t, refusal.Diagnostics[0].Message, "longer than 300ms")
}

// TestAnAnswerAtTheVeryEndOfItsTime has its time end about when the answer comes:
// it is the value, or it was too slow, and no other declaration is blamed for it.
func TestAnAnswerAtTheVeryEndOfItsTime(t *testing.T) {
	source := func(string) ([]byte, error) {
		return []byte("let n = 0; while (n < 3e4) n++\nexport default { n }"), nil
	}
	e := evaluator(t)
	begun := time.Now()
	_, err := e.Evaluate(t.Context(), "first.ts", source)
	require.NoError(t, err)
	e.Each = time.Since(begun) / 4
	for i := range 200 {
		path := fmt.Sprintf("d%d.ts", i)
		if _, err = e.Evaluate(t.Context(), path, source); err == nil {
			e.Each = e.Each * 19 / 20
			continue
		}
		var refusal *project.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, path, refusal.Diagnostics[0].Path)
		require.Contains(t, refusal.Diagnostics[0].Message, "took longer than")
		return
	}
	t.Fatal("no declaration was too slow")
}
