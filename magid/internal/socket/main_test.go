package socket

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The test binary is also the small programs that some tests run: what a hardened process says
// of itself, what a process finds passed to it, and a client of another user.
func TestMain(m *testing.M) {
	switch mode := os.Getenv("SOCKET_TEST_CHILD"); mode {
	case "":
		os.Exit(m.Run())
	case "harden":
		childHarden()
	case "activated":
		childActivated()
	case "listen":
		_, err := Listen(os.Args[1])
		fmt.Println(err)
	case "connect":
		childConnect()
	default:
		fmt.Println("unknown mode", mode)
		os.Exit(2)
	}
	os.Exit(0)
}

// child prepares this test binary as another program.
func child(t *testing.T, mode string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "SOCKET_TEST_CHILD="+mode)
	cmd.Stderr = os.Stderr
	return cmd
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func childHarden() {
	if err := Harden(); err != nil {
		fmt.Println(err)
		return
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil {
		fmt.Println(err)
		return
	}
	dumpable, err := getDumpable()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("core %d/%d dumpable %d umask %04o\n", core.Cur, core.Max, dumpable, unix.Umask(0o077))
}

func childActivated() {
	l, err := Activated()
	switch {
	case err != nil:
		fmt.Println(err)
		return
	case l == nil:
		fmt.Println("nothing was passed")
		return
	}
	conn, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = fmt.Fprintf(conn, "served %v LISTEN_FDS=%q\n", l.Path() != "", os.Getenv("LISTEN_FDS"))
	_ = conn.Close()
	_ = l.Close()
}

func childConnect() {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	n, err := conn.Read(make([]byte, 1))
	fmt.Printf("%d bytes, %v\n", n, err)
}

// folder is a private folder with a short name: socket paths are short.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ms")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func withUmask(t *testing.T, mask int) {
	t.Helper()
	before := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(before) })
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func listen(t *testing.T, path string) *Listener {
	t.Helper()
	l, err := Listen(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// reachable says that a client gets through to whoever accepts.
func reachable(t *testing.T, l *Listener, path string) {
	t.Helper()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	accepted, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, accepted.Close())
	require.NoError(t, conn.Close())
}
