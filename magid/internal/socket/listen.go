package socket

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is the daemon's socket and the lock that goes with it.
//
// A Listener is safe for concurrent use.
type Listener struct {
	unix   *net.UnixListener
	path   string // "" for an activated socket without a path
	lock   *os.File
	folder *os.File // nil for an activated socket, whose file is not ours to remove
	born   identity

	unlistening, closing sync.Once
	failure              error // of Unlisten
}

// identity tells one file from another of the same name.
type identity struct{ dev, ino uint64 }

// Listen makes the socket at this path and starts to listen. Nobody else's
// socket is taken: of any number of daemons that call it at once one succeeds
// and the others get [ErrServed].
func Listen(path string) (*Listener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	path = filepath.Clean(path)
	folder, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	held, err := lock(path)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	l := &Listener{path: path, lock: held, folder: folder}
	if err := l.bind(); err != nil {
		return nil, errors.Join(err, held.Close(), folder.Close())
	}
	return l, nil
}

// bind listens under a short-lived name, closes the socket to others, and gives it
// its final name.
func (l *Listener) bind() error {
	final := filepath.Base(l.path)
	if err := l.checkOccupant(final); err != nil {
		return err
	}
	listener, name, err := bindAside(l.path)
	if err != nil {
		return err
	}
	// The file is removed by Close, under the name it has then.
	listener.SetUnlinkOnClose(false)
	born, err := l.publish(name, final)
	if err != nil {
		return errors.Join(err, listener.Close(), ignoreMissing(unix.Unlinkat(int(l.folder.Fd()), name, 0)))
	}
	l.unix, l.born = listener, born
	return nil
}

func (l *Listener) publish(name, final string) (identity, error) {
	dir := int(l.folder.Fd())
	if err := unix.Fchmodat(dir, name, 0o600, 0); err != nil {
		return identity{}, fmt.Errorf("socket %s: its mode cannot be set: %w", l.path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return identity{}, fmt.Errorf("socket %s: %w", l.path, err)
	}
	// A file system that ignores modes, or a folder swapped since it was checked,
	// shows itself here.
	if st.Mode != unix.S_IFSOCK|0o600 || int(st.Uid) != os.Geteuid() {
		return identity{}, fmt.Errorf("socket %s: its mode is %#o after it was set to 0600", l.path, st.Mode&0o7777)
	}
	if err := l.checkOccupant(final); err != nil {
		return identity{}, err
	}
	if err := unix.Renameat(dir, name, dir, final); err != nil {
		return identity{}, fmt.Errorf("socket %s: it cannot be given its name: %w", l.path, err)
	}
	return identity{uint64(st.Dev), st.Ino}, nil
}

// checkOccupant says whether whatever lies at the final name may be replaced: nothing, or
// a socket on which nobody listens. We hold the lock, so no other daemon of ours does.
func (l *Listener) checkOccupant(final string) error {
	var st unix.Stat_t
	err := unix.Fstatat(int(l.folder.Fd()), final, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("socket %s: %w", l.path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return fmt.Errorf("%s exists and is not a socket: it is left alone; remove it or choose another path with MAGI_SOCKET", l.path)
	}
	// A refusal is the one answer that means nobody has this socket open any more. A
	// full backlog, say, is another, and means the contrary.
	conn, err := net.DialTimeout("unix", l.path, time.Second)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	taken := fmt.Errorf("another program listens at %s without holding %s.lock: stop it or choose another path with MAGI_SOCKET", l.path, l.path)
	if err == nil {
		return errors.Join(taken, conn.Close())
	}
	return taken
}

// bindAside binds a socket under a name of its own beside the final path. The name is
// never longer than the final one, so a path of the greatest length works.
func bindAside(path string) (*net.UnixListener, string, error) {
	dir, final := filepath.Split(path)
	for range 64 {
		name := asideName(len(final))
		if name == final {
			continue
		}
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + name, Net: "unix"})
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("socket %s cannot be made: %w", path, plainCause(err))
		}
		return listener, name, nil
	}
	return nil, "", fmt.Errorf("socket %s cannot be made: every short-lived name beside it is taken", path)
}

// asideName is random: a name derived from the final one could be the final name of
// another daemon's socket in the same folder.
func asideName(longest int) string {
	random := make([]byte, 8)
	rand.Read(random) //nolint:errcheck // never fails, says its documentation
	name := "." + hex.EncodeToString(random)
	if longest < 2 {
		return name[1:2]
	}
	return name[:min(len(name), longest)]
}

// plainCause strips the address of the short-lived name, which tells a person nothing.
func plainCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Path is where the socket lies, "" for an activated socket that has no path.
func (l *Listener) Path() string { return l.path }

// Addr is the socket's address.
func (l *Listener) Addr() net.Addr { return l.unix.Addr() }

// SetDeadline bounds the Accept calls under way and to come.
func (l *Listener) SetDeadline(t time.Time) error { return l.unix.SetDeadline(t) }

// Unlisten stops listening and removes the socket if it is still the one we made. The lock is
// kept: while a daemon ends its work no other takes its place.
func (l *Listener) Unlisten() error {
	l.unlistening.Do(func() {
		l.failure = l.unix.Close()
		if l.folder != nil {
			l.failure = errors.Join(l.failure, l.remove(), l.folder.Close())
		}
	})
	return l.failure
}

// Close is Unlisten, and gives up the lock. The lock file stays.
func (l *Listener) Close() error {
	err := l.Unlisten()
	l.closing.Do(func() {
		if l.lock != nil {
			err = errors.Join(err, l.lock.Close())
		}
	})
	return err
}

func (l *Listener) remove() error {
	dir, final := int(l.folder.Fd()), filepath.Base(l.path)
	var st unix.Stat_t
	if err := unix.Fstatat(dir, final, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return ignoreMissing(err)
	}
	if (identity{uint64(st.Dev), st.Ino}) != l.born {
		return nil
	}
	return ignoreMissing(unix.Unlinkat(dir, final, 0))
}

func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
