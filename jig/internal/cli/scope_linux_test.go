package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/jig/internal/state"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// standIn builds the program that takes jig's part inside a scope. What is tested
// with it is what the host makes of an engine that goes wrong, for which the real
// one gives no occasion.
var standIn = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "jig-cli-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "engine")
	build := exec.Command("go", "build", "-o", path, "./testdata/engine")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, os.Chmod(dir, 0o755)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := standIn(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// bench is a project whose scopes hold the stand-in.
type bench struct {
	t   *testing.T
	dir string
	err *noted // standard error of all commands
}

func newBench(t *testing.T, more ...string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{t: t, dir: filepath.Join(dir, "project"), err: &noted{}}
	const discover = `{"flows":{"kind":"discover","roots":["flows"]},"bindings":{"kind":"discover","roots":["bindings"]}}`
	for _, name := range append(more, "jig.json", "flows/it/FLOW.ts") {
		text := "export {}\n"
		if name == "jig.json" {
			text = discover
		}
		path := filepath.Join(b.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return b
}

func (b *bench) app() *app {
	b.t.Helper()
	self, err := standIn()
	require.NoError(b.t, err)
	return &app{
		env: project.NewEnvironment([]string{"PATH=" + os.Getenv("PATH")}), dir: b.dir, self: self, started: time.Now(),
		out: &output{w: io.Discard}, stderr: b.err, json: true, force: make(chan struct{}), exit: func(int) {},
	}
}

// noted is standard error that can be waited for.
type noted struct {
	mu  sync.Mutex
	all bytes.Buffer // guarded by mu
}

func (n *noted) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.Write(b)
}

func (n *noted) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.String()
}

// inScopes are the processes below this one that run the stand-in in a scope.
func inScopes(t *testing.T, command string) (pids []int) {
	t.Helper()
	parents, found := map[int]int{}, []int{}
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		parents[pid], _ = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if words := strings.Split(string(line), "\x00"); words[0] == "/jig/jig" && slices.Contains(words, command) {
			found = append(found, pid)
		}
	}
	for _, pid := range found {
		for up := pid; up > 1; up = parents[up] {
			if up == os.Getpid() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// hold lets nothing reap pid once it is dead, until the returned function is
// called: this thread traces it, and never looks at what it traces. A namespace
// ends when all in it have been reaped, so its end cannot be proved.
func hold(t *testing.T, pid int) (release func()) {
	t.Helper()
	seized, done, gone := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		runtime.LockOSThread() // never unlocked: the hold ends with the thread
		seized <- unix.PtraceSeize(pid)
		<-done
		unix.Wait4(pid, nil, unix.WALL|unix.WNOHANG, nil) // or with this, where it is dead
	}()
	require.NoError(t, <-seized)
	release = sync.OnceFunc(func() { close(done); <-gone })
	t.Cleanup(release)
	return release
}

// holdNext holds the first process that appears with this command.
func holdNext(t *testing.T, command string) (release func()) {
	t.Helper()
	var pids []int
	require.Eventually(t, func() bool { pids = inScopes(t, command); return len(pids) > 0 }, 30*time.Second, time.Millisecond, "no "+command)
	return hold(t, pids[0])
}

// text is a member of a record as it is printed.
func text(t *testing.T, r record, name string) string {
	t.Helper()
	line, err := r.encode()
	require.NoError(t, err)
	var members map[string]jsontext.Value
	require.NoError(t, json0.Decode(line, &members))
	return string(members[name])
}

// gone waits until nothing of the scopes is left.
func gone(t *testing.T, command string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(inScopes(t, command)) == 0 }, 30*time.Second, time.Millisecond)
}

// rule: J-152
func TestAReviewWhoseScopeIsNotProvedDeadFails(t *testing.T) {
	b := newBench(t, "flows/it/stay")
	for _, status := range []string{statusFailed, statusApproved} {
		done := make(chan ending)
		go func() { done <- b.app().review(context.Background(), reviewOptions{yes: true}) }()
		release := func() {}
		if status == statusFailed {
			release = holdNext(t, CompileCommand)
		}
		e := <-done
		release()
		gone(t, CompileCommand)
		require.Equal(t, `"`+status+`"`, text(t, e.record, "status"), b.err)
		if status == statusApproved {
			require.Equal(t, 0, e.exit)
			require.Equal(t, "1", text(t, e.record, "generation"))
			continue
		}
		require.Equal(t, 2, e.exit)
		require.Contains(t, text(t, e.record, "diagnostics"), "the end of a scope could not be confirmed")
	}
}

// reviewed is a bench with an admitted project.
func (b *bench) reviewed() *bench {
	b.t.Helper()
	e := b.app().review(context.Background(), reviewOptions{yes: true})
	require.Equal(b.t, 0, e.exit, b.err)
	return b
}

// start begins a run that is over at its deadline.
func (b *bench) start(input, timeout string) <-chan ending {
	done := make(chan ending, 1)
	go func() {
		done <- b.app().run(context.Background(), runOptions{target: "flow:flows/it", input: input, given: true, timeout: timeout})
	}()
	return done
}

// recorded is the record of the only run, as it was kept.
func (b *bench) recorded(e ending) {
	b.t.Helper()
	line, err := e.record.encode()
	require.NoError(b.t, err)
	d, err := state.Open(b.dir)
	require.NoError(b.t, err)
	require.NoError(b.t, d.View(func(tx *state.Tx) error {
		runs, err := tx.Runs()
		require.NoError(b.t, err)
		require.Len(b.t, runs, 1)
		end, err := tx.Terminal(runs[0])
		require.Equal(b.t, string(line), string(end.Record))
		return err
	}))
}

// rule: J-062
func TestAnEngineThatIsKilledHasExhaustedItsResources(t *testing.T) {
	t.Run("at its memory limit", func(t *testing.T) {
		b := newBench(t).reviewed()
		e := <-b.start(`"eat"`, "5m")
		require.Equal(t, 1, e.exit)
		require.Equal(t, `"failed"`, text(t, e.record, "status"))
		require.Equal(t, `"RESOURCE_EXHAUSTED"`, text(t, e.record, "code"))
		require.Equal(t, `"memory above the limit"`, text(t, e.record, "message"))
		require.Empty(t, text(t, e.record, "cleanup"))
		b.recorded(e)
	})
	t.Run("by the system", func(t *testing.T) {
		b := newBench(t).reviewed()
		done := b.start(`"stay"`, "5m")
		require.Eventually(t, func() bool { return strings.Contains(b.err.String(), "| staying") }, 30*time.Second, time.Millisecond)
		pids := inScopes(t, FlowCommand)
		require.Len(t, pids, 1)
		require.NoError(t, unix.Kill(pids[0], unix.SIGKILL))
		e := <-done
		require.Equal(t, 1, e.exit)
		require.Equal(t, `"RESOURCE_EXHAUSTED"`, text(t, e.record, "code"))
		require.Equal(t, `"the process was killed"`, text(t, e.record, "message"))
		b.recorded(e)
	})
}

// rule: J-034, J-038, J-152
func TestARunWhoseScopeIsNotProvedDeadExitsTwoAndSaysSo(t *testing.T) {
	b := newBench(t).reviewed()
	done := b.start(`"stay"`, "1s")
	release := holdNext(t, FlowCommand)
	e := <-done
	release()
	gone(t, FlowCommand)
	require.Equal(t, 2, e.exit)
	require.Equal(t, `"failed"`, text(t, e.record, "status"))
	require.Equal(t, `"UNCERTAIN"`, text(t, e.record, "code"))
	require.Equal(t, `{"code":"PROJECT_CLOSE_FAILED","status":"failed"}`, text(t, e.record, "cleanup"))
	require.NotEmpty(t, text(t, e.record, "runId"))
	b.recorded(e)
}

// rule: J-034
func TestAStartThatIsNotProvedDeadExitsTwoAndSaysSo(t *testing.T) {
	l := &launcher{}
	err := l.failed(fmt.Errorf("killed: %w", sandbox.ErrUnconfirmed))
	require.ErrorIs(t, err, tree.ErrUnproved)
	require.True(t, l.unclean())

	l = &launcher{}
	require.NotErrorIs(t, l.failed(io.ErrUnexpectedEOF), tree.ErrUnproved)
	require.False(t, l.unclean())
}

func TestARunThatAReviewOvertakesIsToBeRunAgain(t *testing.T) {
	b := newBench(t).reviewed()
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	a := b.app()
	a.stdin = in
	done := make(chan ending, 1)
	go func() {
		done <- a.run(context.Background(), runOptions{target: "flow:flows/it", input: "@-", given: true, timeout: "5s"})
	}()
	// More than a pipe holds: once it is written, the run reads its input, and knows
	// its generation.
	_, err = out.WriteString(strings.Repeat(" ", 1<<20) + `"eat"`)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "flows/it/FLOW.ts"), []byte("export const changed = 1\n"), 0o644))
	b.reviewed()
	require.NoError(t, out.Close())
	e := <-done
	require.Equal(t, 2, e.exit)
	require.Equal(t, `"REVIEW_REQUIRED"`, text(t, e.record, "code"))
	require.Equal(t, `"another generation was admitted while the run began"`, text(t, e.record, "message"))
	require.Empty(t, text(t, e.record, "runId"))
}
