package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openFolder makes the folder and its missing parents, each 0700, and opens it.
// A folder that was there is checked and never changed (wire-v2 1).
func openFolder(dir string) (*os.File, error) {
	if err := makeFolders(dir); err != nil {
		return nil, err
	}
	// The checks and everything after them go through this descriptor, so a folder
	// swapped behind our back is not the one we bind in.
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket folder %s cannot be opened: %w", dir, err)
	}
	folder := os.NewFile(uintptr(fd), dir)
	if err := checkFolder(folder, os.Geteuid()); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

func checkFolder(folder *os.File, uid int) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &st); err != nil {
		return fmt.Errorf("socket folder %s: %w", folder.Name(), err)
	}
	if int(st.Uid) != uid {
		return fmt.Errorf("socket folder %s belongs to user %d and the daemon runs as user %d: choose a folder of your own with MAGI_SOCKET", folder.Name(), st.Uid, uid)
	}
	if mode := st.Mode & 0o777; mode&0o077 != 0 {
		return fmt.Errorf("socket folder %s is open to group or others (mode %04o): close it with `chmod 700`, or choose another with MAGI_SOCKET", folder.Name(), mode)
	}
	return nil
}

// makeFolders is os.MkdirAll, but each folder it makes is 0700 whatever the
// umask, and no folder that exists is touched.
func makeFolders(dir string) error {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("socket folder %s is not a folder", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("socket folder %s: %w", dir, err)
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeFolders(parent); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // another daemon starting beside us was quicker; its folder is checked like any other
	}
	if err != nil {
		return fmt.Errorf("socket folder %s cannot be made: %w", dir, err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("socket folder %s: %w", dir, err)
	}
	return nil
}
