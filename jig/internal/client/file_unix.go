//go:build unix

package client

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fileError is a login file that is not the user's own private one.
type fileError struct{ cause cause }

func (*fileError) Error() string { return "it is no private file" }

var errNoFile = errors.New("it is no regular file, or is too large")

// readPrivate reads a file that belongs to this user alone: a regular one with one
// link and nothing for group or others, to which no link leads (finite-acp 4).
func readPrivate(path string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real != path {
		return nil, &fileError{causeLink}
	}
	f, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, &fileError{causeNoFile}
	case int(st.Uid) != os.Geteuid():
		return nil, &fileError{causeOwner}
	case st.Nlink != 1:
		return nil, &fileError{causeNames}
	case st.Mode&0o077 != 0:
		return nil, &fileError{causeMode}
	case st.Size > MaxLoginBytes:
		return nil, &fileError{causeSize}
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxLoginBytes+1))
	if err == nil && len(b) > MaxLoginBytes {
		err = &fileError{causeSize}
	}
	return b, err
}

// openPlain opens a file without waiting for one and without following a link.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
}

// readBounded reads a file that holds no secret, at the end of whatever links.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, errNoFile
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = errNoFile
	}
	return b, err
}
