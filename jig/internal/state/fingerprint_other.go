//go:build !linux

package state

import "os"

func fingerprintOf(f *os.File) (fingerprint, error) {
	info, err := f.Stat()
	if err != nil {
		return fingerprint{}, err
	}
	at, _ := placeOf(info)
	return fingerprint{Device: at.Device, Inode: at.Inode, Size: info.Size(), Mtime: info.ModTime().UnixNano()}, nil
}
