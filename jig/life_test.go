package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holders are the processes that have a file open, jig's contained ones included.
func holders(t *testing.T, path string) []string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return holdersOf(t, info)
}

func holdersOf(t *testing.T, want os.FileInfo) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/fd/*")
	require.NoError(t, err)
	for _, fd := range all {
		if info, err := os.Stat(fd); err == nil && os.SameFile(info, want) {
			pids = append(pids, strings.Split(fd, "/")[2])
		}
	}
	return pids
}

// waiting starts a Flow that waits, and returns its run's folder.
func waiting(t *testing.T, p *place) (*running, string) {
	t.Helper()
	r := p.start(p.command("run", "flow:flows/wait", "--timeout", "1h"))
	r.says("| waiting")
	folders, err := filepath.Glob(filepath.Join(p.dir, ".jig", "runs", "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	return r, folders[0]
}

// rule: J-119, J-128, J-118
func TestAKilledJigLeavesNothingAliveAndItsRunIsLost(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"]})
	r, folder := waiting(t, p)
	lock, err := os.Stat(filepath.Join(folder, "scope.lock"))
	require.NoError(t, err)
	require.Greater(t, len(holdersOf(t, lock)), 1, "the scope holds it too")
	require.NoError(t, r.cmd.Process.Kill())
	r.cmd.Wait()
	r.ended = true

	o := p.jig("status").is(0) // it looks and waits for nobody
	require.Contains(t, o.stdout, `"target":"flow:flows/wait"`)
	o = p.jig("runs").is(0)
	require.Contains(t, o.stderr, "was lost")
	require.Contains(t, o.stdout, `"status":"lost"`)
	require.Empty(t, holdersOf(t, lock))
	require.NoDirExists(t, folder)
	id := filepath.Base(folder)
	shown := p.jig("runs", "show", id).is(0).record()
	require.Contains(t, string(shown["record"]), `"code":"COORDINATOR_LOST"`)
	require.Contains(t, string(shown["record"]), `"status":"lost"`)
}

// rule: J-112, J-116, J-124, J-117
func TestWhileARunIsAliveEverythingElseWorks(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"], "flows/hello/FLOW.ts": hello})
	r, folder := waiting(t, p)
	require.Equal(t, []string{fmt.Sprint(r.cmd.Process.Pid)}, holders(t, filepath.Join(folder, "coordinator.lock")), "no child holds it")
	require.Contains(t, p.jig("status").is(0).stdout, `"status":"running"`)
	p.jig("run", "flow:flows/hello").is(0)
	p.write(map[string]string{"flows/hello/FLOW.ts": "// changed\n" + hello, "flows/wait/FLOW.ts": hello})
	p.approve()
	require.Contains(t, p.jig("run", "flow:flows/wait").is(0).stdout, "Hello, world!")
	p.jig("runs", "prune").is(0)
	require.Contains(t, p.jig("status").is(0).stdout, `"generation":1,`, "the old run runs what was admitted when it began")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	r.wait().is(2, "code", `"CANCELLED"`)
	runs := p.jig("runs").is(0)
	require.Contains(t, runs.stdout, `"status":"failed"`)
}

// rule: J-068
func TestAChangedByteOfWhatWasCapturedIsRefused(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	files, err := filepath.Glob(filepath.Join(p.dir, ".jig/packages/*/FLOW.ts"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Chmod(files[0], 0o644))
	require.NoError(t, os.WriteFile(files[0], []byte(strings.Replace(hello, "Hello", "Jello", 1)), 0o644))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)
	require.NoError(t, os.WriteFile(files[0], []byte(hello), 0o644))
	p.jig("run", "flow:flows/hello").is(0)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(files[0]), "more.ts"), nil, 0o644))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)

	p = reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	db := filepath.Join(p.dir, ".jig/state.db")
	b, err := os.ReadFile(db)
	require.NoError(t, err)
	require.Contains(t, string(b), "flow:flows/hello")
	require.NoError(t, os.WriteFile(db, []byte(strings.ReplaceAll(string(b), "flow:flows/hello", "flow:flows/jello")), 0o600))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)
	o := p.jig("review", "--yes")
	require.Equal(t, 1, o.exit)
	require.Contains(t, o.stdout, "PROJECT_STATE_INVALID")

}

// rule: J-068
func TestAChangedByteOfACompiledPackageIsRefusedUntilTheNextReview(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	forms, err := filepath.Glob(filepath.Join(p.dir, ".jig/compiled/*"))
	require.NoError(t, err)
	require.Len(t, forms, 1)
	b, err := os.ReadFile(forms[0])
	require.NoError(t, err)
	require.Contains(t, string(b), "Hello")
	require.NoError(t, os.Remove(forms[0]))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)
	require.NoError(t, os.WriteFile(forms[0], bytes.Replace(b, []byte("Hello"), []byte("Jello"), 1), 0o444))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)
	p.jig("review").is(0, "status", `"unchanged"`)
	require.Contains(t, p.jig("run", "flow:flows/hello").is(0).stdout, "Hello, world!")
}

func TestAPackageThatDoesNotCompileSaysSoWhenItRuns(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello, "flows/net/FLOW.ts": "import \"node:net\";\n" + hello})
	forms, err := filepath.Glob(filepath.Join(p.dir, ".jig/compiled/*"))
	require.NoError(t, err)
	require.Len(t, forms, 1)
	require.Contains(t, p.jig("run", "flow:flows/net").is(1).stdout, "a Flow has no network")
	p.write(map[string]string{"flows/net/FLOW.ts": hello})
	require.NoError(t, os.Remove(filepath.Join(p.dir, "flows/hello/FLOW.ts")))
	p.write(map[string]string{"flows/hello/FLOW.ts": strings.Replace(hello, "Hello", "Good day", 1)})
	p.approve()
	require.Contains(t, p.jig("run", "flow:flows/net").is(0).stdout, "Hello, world!")
	require.Contains(t, p.jig("run", "flow:flows/hello").is(0).stdout, "Good day, world!")
	require.FileExists(t, forms[0], "it is the form of the other Flow now")
}

func TestAChangedCopyOfJigIsRefused(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	binary, err := filepath.Glob(filepath.Join(p.dir, ".jig/bin/*"))
	require.NoError(t, err)
	require.Len(t, binary, 1)
	require.NoError(t, os.Chmod(binary[0], 0o755))
	f, err := os.OpenFile(binary[0], os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("more")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, os.Chmod(binary[0], 0o555))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_STATE_INVALID"`)
}

// complaint: B7.63 etcd-io/etcd#20276 - a second process waits for ever for the database of the first
// rule: J-111, J-036
func TestComplaintB7_63Etcd20276ABusyProjectIsSaidSoon(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	f, err := os.OpenFile(filepath.Join(p.dir, ".jig/state.db"), os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	for _, args := range [][]string{{"status"}, {"run", "flow:flows/hello"}, {"review"}} {
		o := p.jig(args...)
		require.Equal(t, 2, o.exit, o)
		require.Contains(t, o.stdout, "PROJECT_BUSY")
		require.Less(t, o.took, 20*time.Second)
	}
	require.NoError(t, f.Close())
	p.jig("status").is(0)
}

// rule: J-103, J-104
func TestACopiedProjectHasToBeReviewed(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/wait/FLOW.ts": kinds["flows/wait/FLOW.ts"], "flows/hello/FLOW.ts": hello})
	r, _ := waiting(t, p)
	copied := newPlace(t, nil)
	require.NoError(t, exec.Command("cp", "-a", p.dir, filepath.Join(copied.dir, "copy")).Run())
	copied.dir = filepath.Join(copied.dir, "copy")
	o := copied.jig("run", "flow:flows/hello").is(2, "code", `"ADMISSION_MISSING"`)
	require.Contains(t, o.stderr, "copied from another place")
	copied.jig("status").is(0, "generation", "0", "runs", "[]")
	copied.approve()
	copied.jig("run", "flow:flows/hello").is(0)
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	r.wait().is(2, "code", `"CANCELLED"`)
	require.NotContains(t, p.jig("runs").is(0).stdout, "lost")
}

func TestAMovedProjectIsTheSame(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	moved := p.dir + "-moved"
	require.NoError(t, os.Rename(p.dir, moved))
	p.dir = moved
	p.jig("run", "flow:flows/hello").is(0)
}

// rule: P-185
func TestAStateThatOthersCouldReadIsUnsafe(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	require.NoError(t, os.Chmod(filepath.Join(p.dir, ".jig"), 0o755))
	p.jig("run", "flow:flows/hello").is(1, "code", `"PROJECT_UNSAFE"`, "message", `".jig is open to others"`,
		"diagnostics", `[{"code":"PROJECT_UNSAFE","hint":"run: chmod 700 .jig","message":".jig is open to others"}]`)
	o := p.jig("review", "--yes")
	require.Equal(t, 1, o.exit)
	require.Contains(t, o.stdout, `{"code":"PROJECT_UNSAFE","hint":"run: chmod 700 .jig","message":".jig is open to others"}`)
	require.NoError(t, os.Chmod(filepath.Join(p.dir, ".jig"), 0o700))
	p.jig("run", "flow:flows/hello").is(0)
}

func TestAnUpgradedJigRunsWhatWasApproved(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	b, err := os.ReadFile(jig)
	require.NoError(t, err)
	upgraded := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(upgraded, append(b, "another build"...), 0o755))
	cmd := p.command("run", "flow:flows/hello")
	cmd.Path = upgraded
	p.start(cmd).wait().is(0, "output", `"Hello, world!"`)
	copies, err := filepath.Glob(filepath.Join(p.dir, ".jig/bin/*"))
	require.NoError(t, err)
	require.Len(t, copies, 2)
	p.jig("runs", "prune").is(0)
}
