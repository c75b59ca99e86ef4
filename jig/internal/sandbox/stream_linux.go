package sandbox

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Stream is an output of a scope. A fence bounds how long it is waited on for
// more, and takes nothing of what is there already. It has one reader.
type Stream struct{ file *os.File }

// Read implements [io.Reader].
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	// The scope is dead, and what it wrote may still be in the pipe: a busy
	// machine reads late. Whoever else holds the other end is not waited for.
	return s.left(b)
}

// left reads what is there at this moment.
func (s *Stream) left(b []byte) (int, error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n, rerr := 0, error(nil)
	if err := raw.Control(func(fd uintptr) {
		for {
			if n, rerr = unix.Read(int(fd), b); !errors.Is(rerr, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return 0, err
	}
	if len(b) > 0 && (n <= 0 || rerr != nil) {
		return 0, io.EOF
	}
	return n, nil
}

// SetReadDeadline bounds how long a read waits for more.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.file.SetReadDeadline(t) }
