//go:build unix

package flowpkg

import (
	"io/fs"
	"syscall"
)

func identify(info fs.FileInfo) (inode, uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(st.Dev), uint64(st.Ino)}, uint64(st.Nlink)
	}
	return inode{}, 1
}
