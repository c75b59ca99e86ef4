package state

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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

// endOrphans ends those holders of the lock at path that are what is left of a
// scope which was killed while it was made: bubblewrap makes the first process of
// a pid namespace, and where bubblewrap is killed before it lets that one go on,
// it waits for ever and hears no signal but the last.
func endOrphans(path string) {
	for _, pid := range holders(path) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		// Asked again now that the number cannot become another process's.
		if orphaned(pid) && slices.Contains(holders(path), pid) {
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		unix.Close(fd)
	}
}

// orphaned says whether a process is a bubblewrap that is the first one of a pid
// namespace and has lost the one that made it, which runs the same program. Others
// that are first are left alone: a jig may be, in a container.
func orphaned(pid int) bool {
	own, parent, first := lineage(pid)
	if !first || !strings.HasPrefix(own, "bwrap") {
		return false
	}
	maker, _, _ := lineage(parent)
	return own != maker
}

// lineage is the name of a process's program, its parent, and whether it is the
// first process of a pid namespace below ours.
func lineage(pid int) (name string, parent int, first bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return "", 0, false
	}
	for line := range bytes.Lines(status) {
		label, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":\t")
		switch label {
		case "Name":
			name = value
		case "PPid":
			parent, _ = strconv.Atoi(value)
		case "NSpid":
			numbers := strings.Fields(value)
			first = len(numbers) > 1 && numbers[len(numbers)-1] == "1"
		}
	}
	return name, parent, first
}
