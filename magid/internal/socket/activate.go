package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstDescriptor is where a service manager puts the sockets it passes.
const firstDescriptor = 3

// Activated takes over the socket that a service manager passed (LISTEN_FDS,
// LISTEN_PID). It answers nil where none was passed. The variables are removed, so that
// no child believes them meant for it.
//
// The folder and mode of such a socket are the manager's business and are not
// checked; who connects is checked as always. The lock is taken as for any
// other socket.
func Activated() (*Listener, error) {
	count, pid := os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_PID")
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("socket activation: %w", err)
		}
	}
	// Variables inherited from an activated parent name that parent, not us.
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count != "1" {
		return nil, fmt.Errorf("socket activation: LISTEN_FDS is %s and the daemon serves exactly one socket", strconv.Quote(count))
	}
	return adopt(firstDescriptor)
}

func adopt(fd int) (*Listener, error) {
	unix.CloseOnExec(fd)
	if got, err := family(fd); err != nil {
		return nil, fmt.Errorf("socket activation: descriptor %d: %w", fd, err)
	} else if got != unix.AF_UNIX {
		return nil, fmt.Errorf("socket activation: descriptor %d is not a Unix socket", fd)
	}
	for _, want := range []struct {
		option, value int
		text          string
	}{
		{unix.SO_TYPE, unix.SOCK_STREAM, "is not a stream socket (use ListenStream=)"},
		{unix.SO_ACCEPTCONN, 1, "does not listen (use Accept=no)"},
	} {
		got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want.option)
		if err != nil {
			return nil, fmt.Errorf("socket activation: descriptor %d: %w", fd, err)
		}
		if got != want.value {
			return nil, fmt.Errorf("socket activation: descriptor %d %s", fd, want.text)
		}
	}
	file := os.NewFile(uintptr(fd), "activated socket")
	generic, err := net.FileListener(file) // duplicates the descriptor
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("socket activation: %w", err)
	}
	listener := generic.(*net.UnixListener) //nolint:forcetypeassert // the family was checked above
	listener.SetUnlinkOnClose(false)        // the manager made the file and goes on listening
	l := &Listener{unix: listener}
	if path := listener.Addr().String(); filepath.IsAbs(path) {
		held, err := lock(path)
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		l.path, l.lock = path, held
	}
	return l, nil
}
