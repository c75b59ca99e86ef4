//go:build unix

package state

import (
	"os"
	"syscall"
)

// openFile opens a file of ours: never through a link.
func openFile(name string, flag int) (*os.File, error) {
	return os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
}
