package socket

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// rule: W-006
func TestSocketAndLockArePrivateWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o077, 0o377} {
		withUmask(t, mask)
		path := filepath.Join(folder(t), "magid.sock")
		l := listen(t, path)
		require.Equal(t, os.FileMode(0o600), mode(t, path))
		require.Equal(t, os.FileMode(0o600), mode(t, path+".lock"))
		reachable(t, l, path)
	}
}

// complaint: 48 docker/go-connections#75, alpacax/alpamon#409, marmot-protocol/mdk#345, joewalnes/websocketd#474, floatpane/matcha#1088 - a socket stood open to others between bind and chmod
// rule: M-129
func TestComplaint48GoConnections75SocketIsNeverSeenOpen(t *testing.T) {
	withUmask(t, 0)
	path := filepath.Join(folder(t), "magid.sock")
	stop := make(chan struct{})
	seen := make(chan os.FileMode, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			info, err := os.Lstat(path)
			if err == nil && info.Mode().Perm() != 0o600 {
				seen <- info.Mode().Perm()
				return
			}
		}
	})
	for range 40 {
		l, err := Listen(path)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
	close(stop)
	watching.Wait()
	select {
	case open := <-seen:
		require.Failf(t, "socket seen open", "mode %04o", open)
	default:
	}
}

// rule: M-129
func TestShortLivedNameIsNeverLongerThanTheFinalOne(t *testing.T) {
	for longest := 1; longest < 40; longest++ {
		require.LessOrEqual(t, len(asideName(longest)), longest)
		require.NotEmpty(t, asideName(longest))
	}
	dir := folder(t)
	l := listen(t, filepath.Join(dir, "s"))
	reachable(t, l, filepath.Join(dir, "s"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the socket and its lock, nothing else")
}

// rule: M-131
func TestOfTwentyAtOnceOneListens(t *testing.T) {
	path := filepath.Join(folder(t), "magid.sock")
	results := make(chan error, 20)
	listeners := make(chan *Listener, 20)
	start := make(chan struct{})
	for range 20 {
		go func() {
			<-start
			l, err := Listen(path)
			if err == nil {
				listeners <- l
			}
			results <- err
		}()
	}
	close(start)
	won := 0
	for range 20 {
		switch err := <-results; {
		case err == nil:
			won++
		default:
			require.ErrorIs(t, err, ErrServed)
		}
	}
	require.Equal(t, 1, won)
	l := <-listeners
	reachable(t, l, path)
	require.NoError(t, l.Close())
	listen(t, path) // and the next one may
}

func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.FileExists(t, path)
}

// rule: M-132
func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(folder(t), "magid.sock")
	stale(t, path)
	require.NoError(t, os.WriteFile(path+".lock", []byte("999999\n"), 0o644)) // and a lock file of its dead owner
	l := listen(t, path)
	reachable(t, l, path)
	require.Equal(t, os.FileMode(0o600), mode(t, path+".lock"))
	pid, err := Holder(path)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), pid)
}

// rule: M-133
func TestWhatIsNoSocketIsNeverRemoved(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"file":   func(p string) error { return os.WriteFile(p, []byte("precious"), 0o640) },
		"folder": func(p string) error { return os.Mkdir(p, 0o750) },
		"link":   func(p string) error { return os.Symlink("/nowhere", p) },
		"fifo":   func(p string) error { return unix.Mkfifo(p, 0o600) },
	} {
		path := filepath.Join(folder(t), "magid.sock")
		require.NoError(t, put(path), name)
		before, err := os.Lstat(path)
		require.NoError(t, err)
		_, err = Listen(path)
		require.ErrorContains(t, err, "is not a socket: it is left alone", name)
		after, err := os.Lstat(path)
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after), name)
		require.Equal(t, before.Mode(), after.Mode(), name)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, entries, 2, "%s: nothing but it and the lock file", name)
	}
}

func TestSocketOfAnotherProgramIsLeftAlone(t *testing.T) {
	path := filepath.Join(folder(t), "magid.sock")
	other, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	_, err = Listen(path)
	require.ErrorContains(t, err, "another program listens")
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestCloseRemovesOnlyItsOwnSocket(t *testing.T) {
	path := filepath.Join(folder(t), "magid.sock")
	l, err := Listen(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("somebody's"), 0o600))
	require.NoError(t, l.Close())
	require.NoError(t, l.Close(), "twice does nothing")
	require.FileExists(t, path)

	require.NoError(t, os.Remove(path))
	l, err = Listen(path)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoFileExists(t, path)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestReadOnlyFolderIsAClearError(t *testing.T) {
	dir := folder(t)
	closed := filepath.Join(dir, "ro")
	require.NoError(t, os.Mkdir(closed, 0o500))
	cmd := child(t, "listen", filepath.Join(closed, "m.sock"))
	if os.Geteuid() == 0 { // whom no mode stops
		require.NoError(t, os.Chmod(dir, 0o755))
		require.NoError(t, os.Chown(closed, 4711, 4711))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
		cmd.Path = worldReadableSelf(t, dir)
	}
	require.Equal(t, "lock file "+closed+"/m.sock.lock cannot be opened: permission denied", output(t, cmd))
	require.Equal(t, os.FileMode(0o500), mode(t, closed))
}
