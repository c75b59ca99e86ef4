//go:build unix

package project

import (
	"io/fs"
	"syscall"
)

// openFlags: a special file must not be waited for, and the last name must not
// be a link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
