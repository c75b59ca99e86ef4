package flowpkg

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncsAll says that [syncAll] does something.
const syncsAll = true

// syncAll brings everything on the disk that dir lies on.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
