package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"
)

// Bounds of the scopes (jig.md 6). Sizes are bytes.
const (
	FlowScratchBytes = 64 << 20
	FlowTmpBytes     = 16 << 20
	NativeTmpBytes   = 256 << 20
	SessionsBytes    = 16 << 20

	FlowMemoryBytes   = 256 << 20
	FlowTasks         = 64
	NativeMemoryBytes = 1792 << 20
	NativeTasks       = 512

	// FlowDataBytes is RLIMIT_DATA of a Flow where no cgroup bounds it.
	FlowDataBytes = 512 << 20
	// OpenFiles is RLIMIT_NOFILE inside every scope.
	OpenFiles = 1024

	// MaxArguments is the most bubblewrap arguments a scope may need. Bubblewrap
	// itself refuses above 9,000.
	MaxArguments = 3000

	// FenceTimeout is how long the proof of an end is waited for.
	FenceTimeout = 5 * time.Second
	// WatchInterval is how often resident memory is read where no cgroup bounds it.
	WatchInterval = 100 * time.Millisecond
	// startTimeout bounds the time until bubblewrap has made its namespaces.
	startTimeout = 10 * time.Second
)

// Bind shows the host file or folder Source read-only at Dest. Both are
// absolute. The bytes bound are those Source names when the scope starts.
type Bind struct {
	Source string
	Dest   string
}

// Tmpfs is empty writable memory of at most Bytes at Dest.
type Tmpfs struct {
	Dest  string
	Bytes int64 // required; a tmpfs without a size is refused
}

// Data shows Content as a read-only file at Dest. Content is never on disk.
type Data struct {
	Dest    string
	Content []byte
}

// Limits bounds what a scope may use.
type Limits struct {
	MemoryBytes int64 // resident memory of the whole scope; required
	Tasks       int   // processes and threads, where a cgroup counts them; required
}

// Spec says what a scope holds and what runs in it. It is read once, by Start.
type Spec struct {
	Network      bool // share the host's network; a Flow never does
	NestedUserns bool // allow further user namespaces inside (Codex runs its own bubblewrap)

	// Init makes the command the first process of its scope, in place of
	// bubblewrap's own, which whoever runs as the same user inside may trace and
	// whose descriptors he may take. The command has to see to both, and to reap.
	Init bool

	Binds   []Bind
	Tmpfs   []Tmpfs
	Data    []Data
	Env     []string // the whole environment, as NAME=value
	Dir     string   // working folder; required
	Command []string // absolute path inside the scope, then arguments; required

	Extra []*os.File // descriptors 3, 4, … of the command; optional
	Sync  *os.File   // kept open until the scope is dead (the run's scope.lock); optional

	Limits Limits
}

// FlowSpec is the scope of a Flow: the jig binary at /jig/jig, a package at
// /package, scratch and /tmp in memory, and nothing else (jig.md 3, 6).
func FlowSpec(jig, packageDir string, args ...string) Spec {
	s := Spec{
		Binds: []Bind{{jig, "/jig/jig"}},
		Tmpfs: []Tmpfs{{"/tmp", FlowTmpBytes}, {"/scratch", FlowScratchBytes}},
		Env:   []string{"HOME=/scratch", "TMPDIR=/tmp", "LANG=C.UTF-8", "PATH=/nonexistent"},
		Dir:   "/scratch",
		Command: append([]string{
			"/jig/jig",
		}, args...),
		Limits: Limits{MemoryBytes: FlowMemoryBytes, Tasks: FlowTasks},
	}
	if packageDir != "" {
		s.Binds = append(s.Binds, Bind{packageDir, "/package"})
		s.Dir = "/package"
	}
	return s
}

func (s *Spec) check() error {
	if len(s.Command) == 0 || !clean(s.Command[0]) {
		return errors.New("sandbox: a scope needs a command with a clean absolute path")
	}
	if !clean(s.Dir) {
		return errors.New("sandbox: a scope needs a clean absolute working folder")
	}
	if s.Limits.MemoryBytes <= 0 || s.Limits.Tasks <= 0 {
		return errors.New("sandbox: a scope needs memory and task limits above zero")
	}
	for _, b := range s.Binds {
		if !clean(b.Source) || !clean(b.Dest) || b.Dest == "/" {
			return fmt.Errorf("sandbox: bind to %q is not a clean absolute path", b.Dest)
		}
	}
	for _, t := range s.Tmpfs {
		if !clean(t.Dest) || t.Dest == "/" || t.Bytes <= 0 {
			return fmt.Errorf("sandbox: tmpfs at %q needs a clean absolute path and a size", t.Dest)
		}
	}
	for _, d := range s.Data {
		if !clean(d.Dest) || d.Dest == "/" {
			return fmt.Errorf("sandbox: data at %q needs a clean absolute path", d.Dest)
		}
	}
	for _, e := range s.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return errors.New("sandbox: an environment entry has no name")
		}
	}
	for _, words := range [][]string{s.Command, s.Env} {
		for _, w := range words {
			if strings.ContainsRune(w, 0) {
				return errors.New("sandbox: an argument holds a NUL byte")
			}
		}
	}
	return nil
}

func clean(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// Exit says how the command of a scope ended.
type Exit struct {
	// Code is the command's exit status as bubblewrap saw it: 128+n for a death
	// by signal n. It is -1 where the scope ended before the command did.
	Code int
	// Killed is true where the host ended the scope.
	Killed bool
	// Limit names the bound that made the host kill the scope, or is empty.
	Limit string
}

// ErrUnavailable is under every error that says why bubblewrap cannot be used.
var ErrUnavailable = errors.New("sandbox: bubblewrap cannot be used")

// ErrUnconfirmed is a fence whose proof did not come in time.
var ErrUnconfirmed = errors.New("sandbox: the end of a scope could not be confirmed")

// UnavailableError carries the sentence and the command for a person.
type UnavailableError struct {
	Reason string // one line, what is missing or refused
	Fix    string // one line, what to do about it; may be empty
}

func (e *UnavailableError) Error() string {
	if e.Fix == "" {
		return "bubblewrap cannot be used: " + e.Reason
	}
	return "bubblewrap cannot be used: " + e.Reason + "; " + e.Fix
}

// Unwrap makes errors.Is(err, ErrUnavailable) true.
func (e *UnavailableError) Unwrap() error { return ErrUnavailable }
