package sandbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func openUp(dir string) error {
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func dupWithoutCloexec(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	require.NoError(t, err)
	return os.NewFile(uintptr(fd), "leaked")
}

func walkProcesses(visit func(pid, cmdline string)) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if b, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && e.Name()[0] >= '1' && e.Name()[0] <= '9' {
			visit(e.Name(), string(b))
		}
	}
	return nil
}

func running(t *testing.T, marker string) (n int) {
	t.Helper()
	require.NoError(t, walkProcesses(func(_, cmdline string) {
		if strings.Contains(cmdline, marker) && strings.Contains(cmdline, "stay") {
			n++
		}
	}))
	return n
}

func TestExitIsWhatTheCommandDid(t *testing.T) {
	_, exit := outcome(t, spec("exit", "0"))
	require.Equal(t, sandbox.Exit{Code: 0}, exit)
	_, exit = outcome(t, spec("exit", "7"))
	require.Equal(t, sandbox.Exit{Code: 7}, exit)
	_, exit = outcome(t, spec("signal", "15"))
	require.Equal(t, sandbox.Exit{Code: 128 + 15}, exit, "bubblewrap reports a death by signal as 128+n")
}

func TestFenceProvesTheEndOfEverything(t *testing.T) {
	// rule: J-151, J-154
	p, err := launcher(t).Start(context.Background(), spec("stay", "fence-marker"))
	require.NoError(t, err)
	defer p.Close()
	line := make([]byte, 8)
	_, err = io.ReadFull(p.Stdout, line)
	require.NoError(t, err)
	require.NotZero(t, running(t, "fence-marker"), "it ignores TERM and runs")
	exit, err := p.Fence()
	require.NoError(t, err)
	require.True(t, exit.Killed)
	require.Equal(t, -1, exit.Code)
	require.Zero(t, running(t, "fence-marker"))
	select {
	case <-p.Ended():
	default:
		t.Fatal("a confirmed fence has ended")
	}
}

// held lets nothing reap pid once it is dead, until the returned function is
// called: this thread traces it, and never looks at what it traces. A namespace
// ends when all in it have been reaped, so its init outlives its own kill.
func held(t *testing.T, pid int) (release func()) {
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

// pidOf is the process on the host whose command line is the given one.
func pidOf(t *testing.T, cmdline ...string) (found int) {
	t.Helper()
	require.NoError(t, walkProcesses(func(pid, line string) {
		if line == strings.Join(cmdline, "\x00")+"\x00" {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			found = n
		}
	}))
	require.NotZero(t, found)
	return found
}

func TestAFenceWithoutProofIsUnconfirmed(t *testing.T) {
	// rule: J-152
	require.Equal(t, 5*time.Second, sandbox.FenceTimeout)
	p, err := launcher(t).Start(context.Background(), spec("stay", "unproved-marker"))
	require.NoError(t, err)
	line := make([]byte, 8)
	_, err = io.ReadFull(p.Stdout, line)
	require.NoError(t, err)
	release := held(t, pidOf(t, "/jig/jig", "stay", "unproved-marker"))

	began := time.Now()
	_, err = p.Fence()
	require.ErrorIs(t, err, sandbox.ErrUnconfirmed)
	require.GreaterOrEqual(t, time.Since(began), sandbox.FenceTimeout)
	select {
	case <-p.Ended():
		t.Fatal("nothing has proved its end")
	default:
	}
	// Nobody waits for what it may still write.
	for _, r := range []io.Reader{p.Stdout, p.Stderr} {
		_, _ = io.ReadAll(r)
	}

	// The proof can come while it is waited for, and then it is one.
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	release()
	require.NoError(t, <-closed)
	exit, err := p.Fence()
	require.NoError(t, err)
	require.True(t, exit.Killed)
	require.Zero(t, running(t, "unproved-marker"))
}

// complaint: B1.2 agentclientprotocol/rust-sdk#249 - killing the wrapper left the real program running on the host
func TestComplaintB1_2RustSdk249(t *testing.T) {
	// rule: J-153
	p, err := launcher(t).Start(context.Background(), spec("orphan", "orphan-marker"))
	require.NoError(t, err)
	defer p.Close()
	// The command ends at once; its grandchild holds standard output open. The
	// init waits for the command only, and takes the grandchild with it.
	exit, err := p.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, 0, exit.Code)
	_, err = io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.Zero(t, running(t, "orphan-marker"))
}

func TestKillBeforeReadingAndTwiceIsHarmless(t *testing.T) {
	p, err := launcher(t).Start(context.Background(), spec("stay", "twice"))
	require.NoError(t, err)
	p.Kill()
	p.Kill()
	exit, err := p.Wait(context.Background())
	require.NoError(t, err)
	require.True(t, exit.Killed)
	require.NoError(t, p.Close())
	p.Kill()
	require.NoError(t, p.Close())
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := launcher(t).Start(ctx, spec("stay", "cancelled-marker"))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, running(t, "cancelled-marker"))
}

// TestStartCancelledAtAnyMomentLeavesNothing cancels while bubblewrap is being
// started: the start was faster or is refused with the reason, and is fenced.
func TestStartCancelledAtAnyMomentLeavesNothing(t *testing.T) {
	l := launcher(t)
	for i := range 12 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
		p, err := l.Start(ctx, spec("stay", "midway-marker"))
		if err == nil {
			_, err = p.Fence()
			require.NoError(t, err)
			require.NoError(t, p.Close())
		} else {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		cancel()
		require.Zero(t, running(t, "midway-marker"))
	}
}

// TestScopeDiesWithItsHost kills the host of a scope, a re-execution of this
// test, and waits on the scope's own lock for the news that it is gone.
func TestScopeDiesWithItsHost(t *testing.T) {
	// rule: J-128, J-118
	lock := filepath.Join(t.TempDir(), "scope.lock")
	host := exec.Command("/proc/self/exe", "-test.run=^TestHostOfAScope$", "-test.v")
	host.Env = append(os.Environ(), "SANDBOX_TEST_PROBE="+probe, "SANDBOX_TEST_LOCK="+lock)
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	buffer := make([]byte, 4096)
	for seen := ""; !strings.Contains(seen, "staying"); {
		n, err := out.Read(buffer)
		require.NoError(t, err, seen)
		seen += string(buffer[:n])
	}
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.ErrorIs(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, host.Process.Kill())
	host.Wait()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX), "the lock is free once the scope is dead")
	// Bubblewrap's monitor, outside the scope, ends right after.
	require.Eventually(t, func() bool { return running(t, "host-marker") == 0 }, 30*time.Second, time.Millisecond)
}

func TestHostOfAScope(t *testing.T) {
	path := os.Getenv("SANDBOX_TEST_LOCK")
	if path == "" {
		return // only the test above gives it work
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	s := spec("stay", "host-marker")
	s.Sync = f
	p, err := launcher(t).Start(context.Background(), s)
	require.NoError(t, err)
	io.Copy(os.Stdout, p.Stdout)
}

func TestStarterThreadOutlivesItsCallers(t *testing.T) {
	// rule: J-129
	started := make(chan *sandbox.Process)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		p, err := launcher(t).Start(context.Background(), spec("cat"))
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	require.NotNil(t, p)
	defer p.Close()
	for range 20 { // churn threads, so that the caller's one is surely gone
		done := make(chan struct{})
		go func() { runtime.LockOSThread(); close(done) }()
		<-done
	}
	_, err := p.Stdin.WriteString("still here\n")
	require.NoError(t, err)
	require.NoError(t, p.Stdin.Close())
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	require.Equal(t, "still here\n", string(out))
}

func TestResidentMemoryIsWatched(t *testing.T) {
	// rule: J-140
	if launcher(t).Bounds() != "rlimit" {
		t.Log("a cgroup bounds memory here; the kernel's own kill is looked at instead")
	}
	s := spec("eat", "200")
	s.Limits.MemoryBytes = 64 << 20
	p, err := launcher(t).Start(context.Background(), s)
	require.NoError(t, err)
	defer p.Close()
	exit, err := p.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, "memory", exit.Limit)
	require.True(t, exit.Killed)
}

func TestMissingSourceIsAnErrorWithNothingRunning(t *testing.T) {
	// rule: J-155
	s := spec("cat")
	s.Binds = append(s.Binds, sandbox.Bind{Source: filepath.Join(t.TempDir(), "absent"), Dest: "/x"})
	p, err := launcher(t).Start(context.Background(), s)
	if err == nil { // bubblewrap found out by itself, after it had made its init
		_, err = p.Wait(context.Background())
		require.NoError(t, p.Close())
	}
	require.Error(t, err)
	if os.Geteuid() != 0 {
		require.ErrorIs(t, err, sandbox.ErrUnavailable)
	}
}

func TestBrokenBubblewrapIsRefusedInWords(t *testing.T) {
	// rule: J-155
	dir := t.TempDir()
	require.NoError(t, openUp(dir))
	fake := filepath.Join(dir, "bwrap")
	for name, script := range map[string]string{
		"Operation not permitted": "#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n",
		"Permission denied":       "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
		"Unknown option":          "#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n",
	} {
		require.NoError(t, os.WriteFile(fake, []byte(script), 0o755))
		l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: fake, UID: nobody, GID: nobody})
		require.NoError(t, err)
		_, err = l.Start(context.Background(), spec("cat"))
		require.ErrorIs(t, err, sandbox.ErrUnavailable)
		require.ErrorContains(t, err, name)
		var u *sandbox.UnavailableError
		require.True(t, errors.As(err, &u))
		require.NotEmpty(t, u.Fix)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestSpecIsCheckedBeforeAnythingStarts(t *testing.T) {
	l := launcher(t)
	for name, change := range map[string]func(*sandbox.Spec){
		"no command":       func(s *sandbox.Spec) { s.Command = nil },
		"relative command": func(s *sandbox.Spec) { s.Command = []string{"jig"} },
		"unclean folder":   func(s *sandbox.Spec) { s.Dir = "/a/../b" },
		"bind on root":     func(s *sandbox.Spec) { s.Binds = []sandbox.Bind{{Source: "/etc", Dest: "/"}} },
		"relative bind":    func(s *sandbox.Spec) { s.Binds = []sandbox.Bind{{Source: "etc", Dest: "/x"}} },
		"no tmpfs size":    func(s *sandbox.Spec) { s.Tmpfs = []sandbox.Tmpfs{{Dest: "/x"}} },
		"no memory limit":  func(s *sandbox.Spec) { s.Limits.MemoryBytes = 0 },
		"no task limit":    func(s *sandbox.Spec) { s.Limits.Tasks = -1 },
		"nameless env":     func(s *sandbox.Spec) { s.Env = []string{"=x"} },
		"NUL":              func(s *sandbox.Spec) { s.Env = []string{"A=\x00--bind"} },
	} {
		s := spec("cat")
		change(&s)
		_, err := l.Start(context.Background(), s)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, sandbox.ErrUnavailable, name)
	}
}

// TestCommandsThatEndAtOnce start and end faster than the host takes hold of
// them; none is taken for a bubblewrap that cannot be used.
func TestCommandsThatEndAtOnce(t *testing.T) {
	for range 40 {
		_, exit := outcome(t, spec("exit", "0"))
		require.Equal(t, sandbox.Exit{Code: 0}, exit)
	}
}
