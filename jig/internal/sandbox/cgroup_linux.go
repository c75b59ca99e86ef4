package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroupRoot is a cgroup v2 folder below which this user may make groups that
// bound memory and tasks.
type cgroupRoot struct {
	path string
	next atomic.Uint64
}

// findCgroup returns the delegated folder, or nil where there is none: cgroup
// v1, a folder that is not ours, or controllers that are not handed down.
func findCgroup(mount, self string) *cgroupRoot {
	b, err := os.ReadFile(self)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		// Processes may only live in leaves, so groups are made beside jig's own
		// one, in the parent that was handed to this user.
		parent := filepath.Join(mount, filepath.Dir(own))
		controllers, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
		if err != nil || !hasWord(string(controllers), "memory") || !hasWord(string(controllers), "pids") {
			return nil
		}
		if unix.Access(parent, unix.W_OK) != nil || unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK) != nil {
			return nil
		}
		return &cgroupRoot{path: parent}
	}
	return nil
}

func hasWord(text, word string) bool {
	return slices.Contains(strings.Fields(text), word)
}

// cgroup is one scope's group. A nil cgroup bounds nothing.
type cgroup struct {
	path string
	dir  *os.File
}

func (r *cgroupRoot) make(l Limits) (*cgroup, error) {
	path := filepath.Join(r.path, fmt.Sprintf("jig-%d-%d", os.Getpid(), r.next.Add(1)))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("sandbox: cgroup: %w", err)
	}
	for _, f := range [][2]string{
		{"memory.max", strconv.FormatInt(l.MemoryBytes, 10)},
		{"memory.swap.max", "0"},
		{"memory.oom.group", "1"},
		{"pids.max", strconv.Itoa(l.Tasks)},
	} {
		err := os.WriteFile(filepath.Join(path, f[0]), []byte(f[1]), 0)
		if err != nil && !(f[0] == "memory.swap.max" && os.IsNotExist(err)) {
			os.Remove(path)
			return nil, fmt.Errorf("sandbox: cgroup: %w", err)
		}
	}
	dir, err := os.Open(path)
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("sandbox: cgroup: %w", err)
	}
	return &cgroup{path, dir}, nil
}

// killedForMemory says whether the kernel ended the scope for its memory.
func (c *cgroup) killedForMemory() bool {
	if c == nil {
		return false
	}
	b, _ := os.ReadFile(filepath.Join(c.path, "memory.events"))
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

func (c *cgroup) remove() {
	if c != nil {
		c.dir.Close()
		os.Remove(c.path)
	}
}
