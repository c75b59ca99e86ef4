package launch

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// both are the two ends of one socket.
func both(t *testing.T) (*Evidence, *Reporter) {
	t.Helper()
	e, child, err := New()
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	r, err := NewReporter(dup(t, child))
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	require.NoError(t, child.Close())
	return e, r
}

// dup is a descriptor of f that its taker owns.
func dup(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	require.NoError(t, err)
	return fd
}

func soon(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "it did not come")
	}
}

// rule: J-162, J-163
func TestEvidenceArrives(t *testing.T) {
	e, r := both(t)
	_, known := e.Exited()
	require.False(t, known)
	require.NoError(t, r.Started(42))
	soon(t, e.Started())
	require.NoError(t, r.Failed(Auth))
	require.NoError(t, r.Failed("words of the client"), "an unknown kind is not sent")
	require.NoError(t, r.Failed(""))
	require.NoError(t, r.Exited(Exit{Signal: new("SIGTERM"), Terminated: true}))
	soon(t, e.Ended())
	x, known := e.Exited()
	require.True(t, known)
	require.Equal(t, Exit{Signal: new("SIGTERM"), Terminated: true}, x)
	require.Equal(t, []Category{Auth}, e.Categories())
	require.Nil(t, e.Sessions())
}

// rule: J-162
func TestSocketKeepsMessagesApart(t *testing.T) {
	e, child, err := New()
	require.NoError(t, err)
	defer e.Close()
	defer child.Close()
	kind, err := unix.GetsockoptInt(int(child.Fd()), unix.SOL_SOCKET, unix.SO_TYPE)
	require.NoError(t, err)
	require.Equal(t, unix.SOCK_SEQPACKET, kind)
}

func TestReporterWantsItsKindOfSocket(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	_, err = NewReporter(int(r.Fd()))
	require.Error(t, err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	_, err = NewReporter(pair[0])
	require.Error(t, err)
}

// rule: J-164, J-220
func TestSessionsFolderIsHandedOver(t *testing.T) {
	e, r := both(t)
	folder := t.TempDir()
	f, err := os.Open(folder)
	require.NoError(t, err)
	require.NoError(t, r.Sessions(f))
	require.NoError(t, f.Close())
	require.NoError(t, r.Started(1))
	soon(t, e.Started())
	require.NoError(t, os.WriteFile(filepath.Join(folder, "later"), nil, 0o600))

	got := e.Sessions()
	require.NotNil(t, got)
	defer got.Close()
	require.Nil(t, e.Sessions(), "it is given once")
	flags, err := unix.FcntlInt(got.Fd(), unix.F_GETFD, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.FD_CLOEXEC)
	names, err := got.Readdirnames(-1)
	require.NoError(t, err)
	require.Equal(t, []string{"later"}, names)
}

func TestFolderNobodyAskedForIsClosed(t *testing.T) {
	e, r := both(t)
	f, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, r.Sessions(f))
	require.NoError(t, r.Started(1))
	soon(t, e.Started())
	held := e.sessions
	require.NoError(t, e.Close())
	require.ErrorIs(t, held.Close(), os.ErrClosed)
	require.Nil(t, e.Sessions())
}

func TestTerminateArrivesOnce(t *testing.T) {
	e, r := both(t)
	select {
	case <-r.Terminate():
		require.FailNow(t, "nobody asked")
	default:
	}
	require.NoError(t, e.Terminate())
	soon(t, r.Terminate())
	require.NoError(t, e.Terminate(), "the second one sends nothing")
	require.NoError(t, r.Started(1))
	soon(t, e.Started())
}

// rule: J-167
func TestNoEventIsNoEvidence(t *testing.T) {
	e, r := both(t)
	require.NoError(t, r.Started(1))
	soon(t, e.Started())
	require.NoError(t, r.Close())
	soon(t, e.Ended())
	_, known := e.Exited()
	require.False(t, known)
	require.Error(t, e.Terminate(), "there is nobody to ask")
}

// Whatever comes that is none ends the evidence, and what came before stays.
func TestForeignMessagesEndTheEvidence(t *testing.T) {
	folder, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer folder.Close()
	rights := func(n int) []byte {
		var fds []int
		for range n {
			fds = append(fds, int(folder.Fd()))
		}
		return unix.UnixRights(fds...)
	}
	long := make([]byte, MaxEventBytes+1)
	for name, send := range map[string]func(*net.UnixConn){
		"no event":                func(c *net.UnixConn) { c.Write([]byte(`{"event":"x"}`)) },
		"second start":            func(c *net.UnixConn) { c.Write([]byte(`{"event":"started","pid":2}`)) },
		"folder after the start":  func(c *net.UnixConn) { c.WriteMsgUnix([]byte(`{"event":"sessions"}`), rights(1), nil) },
		"unannounced descriptor":  func(c *net.UnixConn) { c.WriteMsgUnix([]byte(`{"event":"failed","category":"auth"}`), rights(1), nil) },
		"terminate the wrong way": func(c *net.UnixConn) { c.Write([]byte(`{"event":"terminate"}`)) },
		"more descriptors":        func(c *net.UnixConn) { c.WriteMsgUnix([]byte(`{"event":"sessions"}`), rights(40), nil) },
		"long":                    func(c *net.UnixConn) { c.Write(long) },
	} {
		t.Run(name, func(t *testing.T) {
			e, r := both(t)
			require.NoError(t, r.Started(1))
			soon(t, e.Started())
			send(r.conn)
			soon(t, e.Ended())
			_, known := e.Exited()
			require.False(t, known)
			require.Nil(t, e.Sessions())
		})
	}
}

func TestNothingComesBeforeTheStart(t *testing.T) {
	for _, first := range []string{`{"event":"exited","exitCode":0,"signal":null,"terminated":false}`, `{"event":"failed","category":"auth"}`, `{"event":"sessions"}`} {
		e, r := both(t)
		_, err := r.conn.Write([]byte(first))
		require.NoError(t, err)
		soon(t, e.Ended())
		_, known := e.Exited()
		require.False(t, known, first)
		require.Empty(t, e.Categories())
	}
}

func TestCategoriesAreBounded(t *testing.T) {
	e, r := both(t)
	require.NoError(t, r.Started(1))
	for range MaxCategories + 4 {
		require.NoError(t, r.Failed(Rate))
	}
	require.NoError(t, r.Exited(Exit{Code: new(0)}))
	soon(t, e.Ended())
	require.Len(t, e.Categories(), MaxCategories)
}
