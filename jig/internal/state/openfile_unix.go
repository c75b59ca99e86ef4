//go:build unix

package state

import (
	"errors"
	"os"
	"syscall"
)

// openFile opens a file of ours: never through a link, and never waiting for the
// other end of a pipe that somebody put in its place.
func openFile(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, errors.New("it is not a plain file"))
	}
	return f, nil
}
