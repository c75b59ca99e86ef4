package state

import (
	"os"

	"golang.org/x/sys/unix"
)

func fingerprintOf(f *os.File) (fingerprint, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fingerprint{}, err
	}
	return fingerprint{Device: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}, nil
}
