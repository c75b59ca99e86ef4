package state

import (
	"io/fs"
	"os"
)

// instead says what stands in the place of a plain file, for a person; empty: such a
// file, or nothing at all.
func instead(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no plain file"
}
