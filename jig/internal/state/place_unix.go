//go:build unix

package state

import (
	"io/fs"
	"syscall"
)

// place tells one .jig from a copy of it.
type place struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"`
}

func placeOf(info fs.FileInfo) (at place, owner int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return place{}, -1
	}
	return place{Device: uint64(st.Dev), Inode: uint64(st.Ino)}, int(st.Uid)
}
