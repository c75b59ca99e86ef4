package sandbox_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

func TestScopeHasItsOwnNamespacesAndSession(t *testing.T) {
	// rule: J-125
	out, _ := outcome(t, spec("namespaces"))
	for line := range strings.Lines(out) {
		name, inside, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok)
		if name == "session" {
			require.NotEqual(t, "0", inside, "the session leader is inside the scope")
			continue
		}
		outside, err := os.Readlink("/proc/self/ns/" + name)
		require.NoError(t, err)
		require.NotEmpty(t, inside)
		require.NotEqual(t, outside, inside, name)
	}
}

func TestNetworkIsSharedOnlyWhereTheSpecSaysSo(t *testing.T) {
	// rule: J-126
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	out, _ := outcome(t, spec("dial", listener.Addr().String()))
	require.Contains(t, out, "error:")
	shared := spec("dial", listener.Addr().String())
	shared.Network = true
	out, _ = outcome(t, shared)
	require.Equal(t, "ok\n", out)
}

func TestScopeHasNoCapabilityAndNoWayToGainOne(t *testing.T) {
	// rule: J-128, J-144, J-146
	out, _ := outcome(t, spec("status"))
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		require.Contains(t, out, set+":\t0000000000000000\n")
	}
	require.Contains(t, out, "NoNewPrivs:\t1\n")
	require.NotContains(t, out, "Uid:\t0\t", "no contained process has host uid 0")
	out, _ = outcome(t, spec("userns"))
	require.Contains(t, out, "error:")
	nested := spec("userns")
	nested.NestedUserns = true
	out, _ = outcome(t, nested)
	require.Equal(t, "ok\n", out)
}

func TestScopeSeesOnlyWhatWasBound(t *testing.T) {
	// rule: J-130
	out, _ := outcome(t, spec("ls", "/"))
	require.Equal(t, "dev\njig\nproc\nscratch\ntmp\nok\n", out)
	for _, dir := range []string{"/usr", "/etc", "/home", "/root", "/sys"} {
		out, _ := outcome(t, spec("ls", dir))
		require.Contains(t, out, "error:", dir)
	}
	out, _ = outcome(t, spec("ls", "/proc"))
	pids := 0
	for line := range strings.Lines(out) {
		if line[0] >= '0' && line[0] <= '9' {
			pids++
		}
	}
	require.Equal(t, 2, pids, "only the init and the command")
}

func TestRootAndDevicesCannotBeWritten(t *testing.T) {
	for _, path := range []string{"/x", "/dev/x", "/dev/shm/x", "/jig/x", "/proc/sys/kernel/core_pattern"} {
		out, _ := outcome(t, spec("write", path))
		require.Contains(t, out, "error:", path)
	}
}

func TestSysctlsAndReadOnlyBindsStayAsTheyAre(t *testing.T) {
	// rule: J-147
	out, _ := outcome(t, spec("open-write", "/proc/sys/kernel/hostname"))
	require.Contains(t, out, "error:")
	out, _ = outcome(t, spec("remount", "/jig/jig"))
	require.Contains(t, out, "error:")
	out, _ = outcome(t, spec("open-write", "/jig/jig"))
	require.Contains(t, out, "error:")
}

// complaint: B3.39 opencontainers/runc#3422 - a contained program overwrote the host's binary through /proc/self/exe
func TestComplaintB3_39Runc3422(t *testing.T) {
	before, err := os.ReadFile(probe)
	require.NoError(t, err)
	for _, path := range []string{"/proc/self/exe", "/proc/1/exe", "/jig/jig"} {
		out, _ := outcome(t, spec("open-write", path))
		require.Contains(t, out, "error:", path)
	}
	after, err := os.ReadFile(probe)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// complaint: B3.36 containers/bubblewrap#142 - a contained program typed into the operator's terminal
func TestComplaintB3_36Bubblewrap142(t *testing.T) {
	out, _ := outcome(t, spec("tty"))
	require.Contains(t, out, "error:")
}

func TestEnvironmentIsExactlyTheListedOne(t *testing.T) {
	// rule: J-132
	t.Setenv("JIG_CANARY", "must-not-be-seen")
	s := spec("env")
	s.Env = []string{"A=1", "B=two=2"}
	out, _ := outcome(t, s)
	require.Equal(t, "A=1\nB=two=2\nPWD=/scratch\n", out, "PWD is bubblewrap's own")
}

func TestOnlyAgreedDescriptorsReachTheCommand(t *testing.T) {
	// rule: J-133
	// A descriptor that jig inherited without close-on-exec.
	leak, err := os.CreateTemp(t.TempDir(), "leak")
	require.NoError(t, err)
	defer leak.Close()
	leaked := dupWithoutCloexec(t, leak)
	defer leaked.Close()
	extra, err := os.CreateTemp(t.TempDir(), "extra")
	require.NoError(t, err)
	defer extra.Close()
	lock, err := os.CreateTemp(t.TempDir(), "lock")
	require.NoError(t, err)
	defer lock.Close()
	s := spec("fds")
	s.Data = []sandbox.Data{{Dest: "/etc/hosts", Content: []byte("127.0.0.1 localhost\n")}}
	s.Sync = lock
	out, _ := outcome(t, s)
	require.Equal(t, "0\n1\n2\n", out)
	s.Extra = []*os.File{extra}
	out, _ = outcome(t, s)
	require.Equal(t, "0\n1\n2\n3\n", out)
}

// Bubblewrap's own first process holds the run's lock, and whoever runs as the same
// user could take it from there, or trace the process and make it outlive its parent.
func TestAClientCannotSeizeTheFirstProcessOfItsScope(t *testing.T) {
	lock, err := os.CreateTemp(t.TempDir(), "lock")
	require.NoError(t, err)
	defer lock.Close()
	s := sandbox.NativeSpec(sandbox.Native{Binds: []sandbox.Bind{{probe, sandbox.AdapterPath}}})
	s.Command, s.Sync = []string{sandbox.AdapterPath, "first"}, lock
	out, exit := outcome(t, s)
	require.Equal(t, "pid 1\nlook: true\ntake: operation not permitted\n", out)
	require.Zero(t, exit.Code)
}

func TestArgumentsStandInNoCommandLine(t *testing.T) {
	// rule: J-134
	s := spec("cat")
	s.Env = append(s.Env, "MARK=argument-canary")
	p, err := launcher(t).Start(context.Background(), s)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, walkProcesses(func(pid, cmdline string) {
		require.NotContains(t, cmdline, "argument-canary", pid)
	}))
	require.NoError(t, p.Stdin.Close())
	_, err = io.ReadAll(p.Stdout)
	require.NoError(t, err)
}

func TestTmpfsSizesHold(t *testing.T) {
	// rule: J-135
	for _, c := range []struct {
		path  string
		bytes int64
	}{{"/scratch/f", sandbox.FlowScratchBytes}, {"/tmp/f", sandbox.FlowTmpBytes}} {
		out, _ := outcome(t, spec("fill", c.path, itoa(c.bytes)))
		require.Equal(t, "ok\n", out, c.path)
		out, _ = outcome(t, spec("fill", c.path, itoa(c.bytes+1)))
		require.Contains(t, out, "no space left on device", c.path)
	}
}

func TestSourcesOutOfARootOnlyFolderAreReadable(t *testing.T) {
	// rule: J-145, J-148
	dir := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(dir, 0o700))
	pkg := filepath.Join(dir, "package")
	require.NoError(t, os.Mkdir(pkg, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pkg, "FLOW.ts"), []byte("captured"), 0o444))
	s := sandbox.FlowSpec(probe, pkg, "read", "/package/FLOW.ts")
	out, _ := outcome(t, s)
	require.Equal(t, "capturedok\n", out)
	s = sandbox.FlowSpec(probe, pkg, "write", "/package/FLOW.ts")
	out, _ = outcome(t, s)
	require.Contains(t, out, "error:")
	s = sandbox.FlowSpec(probe, pkg, "write", "/package/new")
	out, _ = outcome(t, s)
	require.Contains(t, out, "error:")
}

func TestDataIsReadableAndNowhereElse(t *testing.T) {
	s := spec("read", "/etc/resolv.conf")
	s.Data = []sandbox.Data{{Dest: "/etc/resolv.conf", Content: []byte("nameserver 127.0.0.1\n")}}
	out, _ := outcome(t, s)
	require.Equal(t, "nameserver 127.0.0.1\nok\n", out)
}

// complaint: B1.5 openclaw/openclaw#68691 - zombies piled up under the first process until no task was left
func TestComplaintB1_5Openclaw68691(t *testing.T) {
	out, _ := outcome(t, spec("zombies"))
	require.Equal(t, "zombies 0\n", out)
}

// complaint: B3.34 anthropics/claude-code#74081 - many mounts and long paths overflowed the argument list
func TestComplaintB3_34ClaudeCode74081(t *testing.T) {
	s := spec("read", "/m/127")
	dir := t.TempDir()
	source := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(source, []byte("bound"), 0o444))
	require.NoError(t, openUp(dir))
	for i := range 128 {
		s.Binds = append(s.Binds, sandbox.Bind{Source: source, Dest: "/m/" + itoa(int64(i))})
		s.Binds = append(s.Binds, sandbox.Bind{Source: source, Dest: "/" + strings.Repeat("d"+strings.Repeat("x", 200)+"/", 19) + itoa(int64(i))})
	}
	out, _ := outcome(t, s)
	require.Equal(t, "boundok\n", out)
	for range 1000 {
		s.Binds = append(s.Binds, sandbox.Bind{Source: source, Dest: "/many"})
	}
	_, err := launcher(t).Start(context.Background(), s)
	require.ErrorContains(t, err, "above the limit of 2999")
}
