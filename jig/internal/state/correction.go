package state

import (
	"errors"
	"io/fs"
	"syscall"
)

// Correction says what a person can do about an error of this package that is an
// [ErrUnsafe]. It is never empty for one, and holds no path but that of the folder
// .jig.
func Correction(err error) string {
	var f *failure
	if errors.As(err, &f) && f.fix != "" {
		return f.fix
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room on the disk that the project is on, and try again"
	case errors.Is(err, syscall.EROFS):
		return "the project is on a read-only file system; work on a copy that can be written"
	case errors.Is(err, fs.ErrPermission):
		return "let the user who runs jig write in the project's folder and in .jig, or run jig as their owner"
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return "look at what stands in .jig in the place of a file or folder of jig's, and move it away"
	}
	return "look at the folder .jig and at the disk it is on, and try again"
}

// fixed adds to a failure what can be done about it.
func fixed(err error, fix string) error {
	var f *failure
	if errors.As(err, &f) {
		f.fix = fix
	}
	return err
}
