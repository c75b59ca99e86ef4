package socket

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// activated runs this binary with a descriptor passed as a service manager passes it.
// The shell is there to know the process ID before the program starts.
func activated(t *testing.T, file *os.File, count string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0"`, self)
	cmd.Env = append(os.Environ(), "SOCKET_TEST_CHILD=activated", "LISTEN_FDS="+count)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = os.Stderr
	return cmd
}

// rule: M-137
func TestPassedSocketIsServed(t *testing.T) {
	path := filepath.Join(folder(t), "magid.sock")
	manager, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	file, err := manager.File()
	require.NoError(t, err)
	cmd := activated(t, file, "1")
	require.NoError(t, cmd.Start())
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "served true LISTEN_FDS=\"\"\n", string(answer))
	require.NoError(t, cmd.Wait())
	require.FileExists(t, path)
	require.NoError(t, file.Close())
	require.NoError(t, manager.Close())
}

// rule: M-137
func TestWhatCannotBeServedIsAClearError(t *testing.T) {
	dir := folder(t)
	regular, err := os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	require.Contains(t, output(t, activated(t, regular, "1")), "socket activation: descriptor 3")
	require.Contains(t, output(t, activated(t, regular, "2")), "exactly one socket")
	require.NoError(t, regular.Close())

	for text, want := range map[string]struct{ domain, kind int }{
		"is not a Unix socket":   {unix.AF_INET, unix.SOCK_STREAM},
		"is not a stream socket": {unix.AF_UNIX, unix.SOCK_DGRAM},
		"does not listen":        {unix.AF_UNIX, unix.SOCK_STREAM},
	} {
		fd, err := unix.Socket(want.domain, want.kind, 0)
		require.NoError(t, err)
		unix.CloseOnExec(fd)
		file := os.NewFile(uintptr(fd), "socket")
		require.Contains(t, output(t, activated(t, file, "1")), text)
		require.NoError(t, file.Close())
	}
}

func TestVariablesForAnotherProcessAreNotOurs(t *testing.T) {
	for _, pid := range []string{"", "1", strconv.Itoa(os.Getpid() + 1)} {
		t.Setenv("LISTEN_FDS", "1")
		t.Setenv("LISTEN_PID", pid)
		l, err := Activated()
		require.NoError(t, err)
		require.Nil(t, l)
		require.Empty(t, os.Getenv("LISTEN_FDS"))
		require.Empty(t, os.Getenv("LISTEN_PID"))
	}
}

// rule: M-138
func TestNotifyTellsTheServiceManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	require.NoError(t, Notify(Ready))
	for _, name := range []string{filepath.Join(folder(t), "notify"), "@magid-test-" + strconv.Itoa(os.Getpid())} {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		require.NoError(t, err)
		t.Setenv("NOTIFY_SOCKET", name)
		require.NoError(t, Notify(Ready))
		text := make([]byte, 64)
		n, err := manager.Read(text)
		require.NoError(t, err)
		require.Equal(t, "READY=1", string(text[:n]))
		require.NoError(t, manager.Close())
	}
	require.Error(t, Notify(Stopping), "a manager that is gone is reported")
}

// rule: M-135
func TestHardenedProcessLeavesNoCoreAndIsClosedToDebuggers(t *testing.T) {
	require.Equal(t, "core 0/0 dumpable 0 umask 0077", output(t, child(t, "harden")))
}
