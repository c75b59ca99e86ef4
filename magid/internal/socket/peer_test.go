package socket

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-007
func TestPeerOfAnotherUserIsRefused(t *testing.T) {
	l := listen(t, filepath.Join(folder(t), "magid.sock"))
	conn, err := net.Dial("unix", l.Path())
	require.NoError(t, err)
	accepted, err := l.unix.AcceptUnix()
	require.NoError(t, err)
	require.NoError(t, checkPeer(accepted, os.Geteuid()))
	require.ErrorIs(t, checkPeer(accepted, os.Geteuid()+1), ErrForeignPeer)
	require.NoError(t, accepted.Close())
	require.NoError(t, conn.Close())
}

// rule: W-007
func TestForeignProcessGetsNoByteAndTheNextIsServed(t *testing.T) {
	// A real process of another user, where we may make one. It needs a socket that lets it
	// through to the check, as only a service manager would make one.
	dir := folder(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "open.sock")
	passed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o666))
	file, err := passed.File()
	require.NoError(t, err)
	l, err := adopt(dup(t, file))
	require.NoError(t, err)

	cmd := child(t, "connect", path)
	want := error(nil)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
		cmd.Path = worldReadableSelf(t, dir)
		want = ErrForeignPeer
	}
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	require.Equal(t, "0 bytes, EOF", output(t, cmd))
	require.ErrorIs(t, <-accepted, want)
	reachable(t, l, path)
	require.NoError(t, l.Close())
	require.FileExists(t, path, "an adopted socket belongs to who made it")
	require.NoError(t, file.Close())
	require.NoError(t, passed.Close())
}

// worldReadableSelf copies the test binary to where another user can run it.
func worldReadableSelf(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(dir, "client")
	require.NoError(t, os.WriteFile(path, data, 0o755))
	require.NoError(t, os.Chmod(path, 0o755))
	return path
}

func dup(t *testing.T, file *os.File) int {
	t.Helper()
	fd, err := syscall.Dup(int(file.Fd()))
	require.NoError(t, err)
	return fd
}
