package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Launcher starts scopes. The zero value is not usable; see [NewLauncher]. It
// is safe for concurrent use.
type Launcher struct {
	bwrap  string
	uid    int // whom a scope runs as where jig is root
	gid    int
	root   bool
	cgroup *cgroupRoot // nil: rlimits and the watch
}

// Config says what a Launcher starts with.
type Config struct {
	Bwrap string // required; absolute path, see FindBwrap
	// UID and GID are whom a scope runs as where jig is root; see Identity.
	// Zero is refused there, and both are ignored elsewhere.
	UID, GID int
}

// NewLauncher checks c and finds out which bounds this machine can give.
func NewLauncher(c Config) (*Launcher, error) {
	if !clean(c.Bwrap) {
		return nil, errors.New("sandbox: the path of bubblewrap is not a clean absolute path")
	}
	l := &Launcher{bwrap: c.Bwrap, uid: c.UID, gid: c.GID, root: os.Geteuid() == 0}
	if l.root && (l.uid <= 0 || l.gid <= 0) {
		return nil, errors.New("sandbox: a root jig needs an ordinary user and group to run scopes as")
	}
	l.cgroup = findCgroup(cgroupMount, "/proc/self/cgroup")
	return l, nil
}

// Bounds says what bounds a scope's memory and tasks on this machine:
// "cgroup" or "rlimit".
func (l *Launcher) Bounds() string {
	if l.cgroup != nil {
		return "cgroup"
	}
	return "rlimit"
}

// Start starts s. It returns once bubblewrap has made the namespaces and the
// host holds the scope's init, or with an error after which nothing of the
// scope is alive. A bubblewrap that cannot work here gives an error that is
// [ErrUnavailable], also when that shows only after Start returned: then the
// first Wait or Fence reports it.
func (l *Launcher) Start(ctx context.Context, s Spec) (*Process, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ends [5][2]*os.File // stdin, stdout, stderr, its relay, status
	opened := closers{}
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			opened.close()
			return nil, fmt.Errorf("sandbox: pipe: %w", err)
		}
		opened.add(r)
		opened.add(w)
		ends[i] = [2]*os.File{r, w}
	}
	p := &Process{
		Stdin: ends[0][1], Stdout: &Stream{ends[1][0]}, Stderr: ends[3][0], raw: &Stream{ends[2][0]}, status: ends[4][0],
		pidfd: -1, limits: s.Limits, ended: make(chan struct{}), drained: make(chan struct{}), reaped: make(chan struct{}),
	}
	go p.relay(p.raw, ends[3][1])
	if err := l.start(ctx, &s, p, ends[0][0], ends[1][1], ends[2][1], ends[4][1]); err != nil {
		opened.close()
		<-p.drained
		return nil, err
	}
	return p, nil
}

func (l *Launcher) start(ctx context.Context, s *Spec, p *Process, stdin, stdout, stderr, status *os.File) error {
	var files closers
	defer files.close()
	extra := append([]*os.File{}, s.Extra...)
	next := func(f *os.File) int { extra = append(extra, f); return 2 + len(extra) }
	var at layout
	for i, d := range s.Data {
		f, err := memfile(fmt.Sprintf("data-%d", i), d.Content)
		if err != nil {
			return err
		}
		files.add(f)
		at.data = append(at.data, next(f))
	}
	at.status = next(status)
	if s.Sync != nil {
		at.sync = next(s.Sync)
	}
	sources := make([]string, len(s.Binds))
	for i, b := range s.Binds {
		sources[i] = b.Source
		if l.root {
			sources[i] = stagedPath(i)
		}
	}
	args, err := arguments(s, sources, at)
	if err != nil {
		return err
	}
	argFile, err := memfile("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return err
	}
	files.add(argFile)
	at.args = next(argFile)
	command := append([]string{"bwrap", "--args", fmt.Sprint(at.args), "--"}, s.Command...)

	cmd := &exec.Cmd{Path: l.bwrap, Args: command, Env: []string{}, Dir: "/", Stdin: stdin, Stdout: stdout, Stderr: stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	cmd.ExtraFiles = extra
	if l.cgroup != nil {
		group, err := l.cgroup.make(s.Limits)
		if err != nil {
			return err
		}
		p.group = group
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.dir.Fd())
	}
	if l.root {
		err = l.startStaged(cmd, s, p.reaped)
	} else if err = startOnThread(cmd); err != nil {
		err = notStarted(err, false)
	}
	if err != nil {
		p.group.remove()
		return err
	}
	p.cmd = cmd
	// Our copies of the child's ends must go before the status pipe is read:
	// its end of file is the news that bubblewrap failed.
	files.close()
	for _, f := range []*os.File{stdin, stdout, stderr, status} {
		f.Close()
	}
	return p.adopt(ctx)
}

// closers closes what was opened on the way, once.
type closers struct{ files []*os.File }

func (c *closers) add(f *os.File) { c.files = append(c.files, f) }
func (c *closers) close() {
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}

// Sealed is memory with the given bytes that nobody can change, read from its
// start. It can be lent to a scope in Spec.Extra; the caller closes it.
func Sealed(name string, content []byte) (*os.File, error) { return memfile(name, content) }

// memfile is sealed memory with the given bytes, read from its start.
func memfile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("jig-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("sandbox: memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		f.Close()
		return nil, fmt.Errorf("sandbox: memory file: %w", err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("sandbox: memory file: %w", err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("sandbox: memory file: %w", err)
	}
	return f, nil
}

// The starter thread. The parent death signal of a child fires when the thread
// that forked it ends, so one thread that never ends forks them all (J-129).
var starter = sync.OnceValue(func() chan<- startRequest {
	requests := make(chan startRequest)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.done <- startClean(r.cmd)
		}
	}()
	return requests
})

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func startOnThread(cmd *exec.Cmd) error {
	r := startRequest{cmd, make(chan error, 1)}
	starter() <- r
	return <-r.done
}

func startClean(cmd *exec.Cmd) error {
	// What jig inherited without close-on-exec from its own parent must not
	// reach a scope (J-133). Descriptors that Go opened carry the flag already.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return cmd.Start()
}

func deadline(d time.Duration) time.Time { return time.Now().Add(d) }
