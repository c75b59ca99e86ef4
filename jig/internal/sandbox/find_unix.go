//go:build unix

package sandbox

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// executable says whether this user may execute path.
func executable(path string) bool { return unix.Access(path, unix.X_OK) == nil }
