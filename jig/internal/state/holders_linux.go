package state

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// holders are the processes that have the file at path open, as far as this user
// may know.
func holders(path string) (pids []int) {
	file, err := os.Stat(path)
	if err != nil {
		return nil
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", p.Name(), "fd")
		open, _ := os.ReadDir(dir) // it may have ended, or be another user's
		if slices.ContainsFunc(open, func(fd os.DirEntry) bool {
			is, err := os.Stat(filepath.Join(dir, fd.Name()))
			return err == nil && os.SameFile(is, file)
		}) {
			pids = append(pids, pid)
		}
	}
	return pids
}
