package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

const nobody = 65534

// probe is the program that the tests run inside a scope: static, because a
// scope holds no library.
var probe string

// TestMain builds the probe, runs the tests as whoever it is, and where that is
// root once more as an ordinary user: the two ways into a scope differ.
func TestMain(m *testing.M) {
	if probe = os.Getenv("SANDBOX_TEST_PROBE"); probe != "" {
		os.Exit(m.Run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	probe = filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-o", probe, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
		return 1
	}
	if code := m.Run(); code != 0 || os.Geteuid() != 0 {
		return code
	}
	self := filepath.Join(dir, "sandbox.test")
	if err := copyFile(self, "/proc/self/exe", 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile") && !strings.HasPrefix(a, "-test.coverprofile") && !strings.HasPrefix(a, "-test.gocoverdir") &&
			!strings.HasPrefix(a, "-test.outputdir") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_PROBE="+probe, "HOME="+home, "TMPDIR="+home)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "as an ordinary user:", err)
		return 1
	}
	return 0
}

func copyFile(to, from string, mode os.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, mode)
}

func launcher(t testing.TB) *sandbox.Launcher {
	t.Helper()
	bwrap, err := exec.LookPath("bwrap")
	require.NoError(t, err, "bubblewrap is needed; make test installs it")
	l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: bwrap, UID: nobody, GID: nobody})
	require.NoError(t, err)
	return l
}

// spec is a Flow scope that runs the probe with the given arguments.
func spec(args ...string) sandbox.Spec { return sandbox.FlowSpec(probe, "", args...) }

// outcome runs s to its end and returns what the command wrote and how it ended.
func outcome(t *testing.T, s sandbox.Spec) (string, sandbox.Exit) {
	t.Helper()
	p, err := launcher(t).Start(context.Background(), s)
	require.NoError(t, err)
	require.NoError(t, p.Stdin.Close())
	errText := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(p.Stderr)
		errText <- string(b)
	}()
	out, err := io.ReadAll(p.Stdout)
	require.NoError(t, err)
	exit, err := p.Wait(context.Background())
	require.NoError(t, err, "stderr: %s", <-errText)
	require.NoError(t, p.Close())
	return string(out), exit
}
