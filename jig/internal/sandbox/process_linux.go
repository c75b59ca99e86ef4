package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// Process is a running scope. It is safe for concurrent use; each stream has
// one reader or writer.
type Process struct {
	Stdin  *os.File // the command's standard input; the caller closes it
	Stdout *Stream  // the command's standard output
	Stderr *os.File // standard error of the command and, where it fails, of bubblewrap

	cmd    *exec.Cmd
	status *os.File
	raw    *Stream // the scope's end of standard error, relayed to Stderr
	limits Limits
	group  *cgroup

	init  int // the pid of the scope's init on the host
	pidfd int // on init
	poll  *os.File

	drained chan struct{} // closed when the relay of standard error has ended
	rawEnd  error         // how raw ended; set before drained closes
	reaped  chan struct{} // closed when bubblewrap itself has been waited for
	ended   chan struct{} // closed when the init is proved dead and the status is complete

	mu     sync.Mutex
	head   []byte // guarded by mu; the first bytes of standard error
	killed bool   // guarded by mu
	limit  string // guarded by mu
	exit   Exit   // set before ended closes
	err    error  // set before ended closes
}

// status lines of bubblewrap; unknown members are its own affair.
type statusLine struct {
	ChildPID int  `json:"child-pid"`
	ExitCode *int `json:"exit-code"`
}

// adopt waits for bubblewrap's first status line and takes hold of the init. It
// does so also where ctx has ended: a bubblewrap that is killed between making
// its init and letting it run leaves an init that waits for ever, so the way out
// leads through the init.
func (p *Process) adopt(ctx context.Context) error {
	p.status.SetReadDeadline(deadline(startTimeout))
	lines := bufio.NewReaderSize(p.status, 4096)
	first, err := lines.ReadSlice('\n')
	var line statusLine
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(first), &line)
	}
	if err == nil {
		err = p.hold(line.ChildPID)
	}
	if err != nil {
		return p.abandon(err)
	}
	p.status.SetReadDeadline(time.Time{})
	go p.supervise(lines)
	if p.group == nil {
		go p.watch()
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(err, p.Close())
	}
	return nil
}

// abandon ends a bubblewrap that named no init which could be held. The proof is
// the end of standard error, which all that it started has open until it runs a
// command.
func (p *Process) abandon(cause error) error {
	for _, pid := range childrenOf(p.cmd.Process.Pid) {
		unix.Kill(pid, unix.SIGKILL)
	}
	p.cmd.Process.Kill()
	p.reap()
	p.raw.SetReadDeadline(deadline(FenceTimeout))
	<-p.drained
	if !errors.Is(p.rawEnd, io.EOF) {
		return fmt.Errorf("%w: bubblewrap was killed while it started", ErrUnconfirmed)
	}
	p.group.remove()
	return unavailable(p.complaint(), cause)
}

// hold opens the pidfd and checks that the pid still is the one bubblewrap made.
// A command can be so quick that its init has ended by now, and bubblewrap too:
// then there is nothing to hold and nothing to kill.
func (p *Process) hold(pid int) error {
	if pid <= 1 {
		return errors.New("bubblewrap named no process")
	}
	p.init = pid
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pidfd: %w", err)
	}
	parent, err := parentOf(pid)
	// Bubblewrap ends as soon as its init has told it of the command's end, and
	// the init a moment later: a process that is not bubblewrap's child any more
	// has to be dead at once. What stays alive is somebody else.
	if (err != nil || parent != p.cmd.Process.Pid) && !exited(fd, time.Second) {
		unix.Close(fd)
		return errors.New("the process that bubblewrap named is not its child")
	}
	p.pidfd = fd
	p.poll = os.NewFile(uintptr(fd), "pidfd")
	return nil
}

// exited says whether the process behind a pidfd ends within d.
func exited(fd int, d time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	return err == nil && n > 0
}

// supervise collects bubblewrap's status lines and the proof of the end.
func (p *Process) supervise(lines *bufio.Reader) {
	code := -1
	for {
		line, err := lines.ReadSlice('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var s statusLine
			if json.Unmarshal(bytes.TrimSpace(line), &s) == nil && s.ExitCode != nil {
				code = *s.ExitCode
			}
		}
		if err != nil {
			break
		}
	}
	p.waitInit()
	p.reap()
	memory := p.group.killedForMemory()
	p.group.remove()
	p.mu.Lock()
	exit := Exit{Code: code, Killed: p.killed, Limit: p.limit}
	p.mu.Unlock()
	if memory && exit.Limit == "" {
		exit.Limit, exit.Killed = "memory", true
	}
	if exit.Killed {
		if code == 128+int(unix.SIGKILL) {
			exit.Code = -1 // bubblewrap reports the kill of its init so
		} else if code >= 0 {
			exit.Killed, exit.Limit = false, "" // the command was faster
		}
	}
	p.exit = exit
	if code < 0 && !exit.Killed {
		p.err = unavailable(p.complaint(), errors.New("bubblewrap ended before its command did"))
	}
	close(p.ended)
}

func (p *Process) reap() {
	p.cmd.Wait()
	close(p.reaped)
}

// waitInit returns when the pidfd turns readable, which it does for good when
// the init has ended and with it every process of its pid namespace.
func (p *Process) waitInit() {
	if p.poll == nil {
		return // it had ended before it could be held
	}
	raw, err := p.poll.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return err == nil && n > 0
		})
	}
	for err != nil {
		// The runtime's poller would not take it: wait in the kernel instead.
		if n, perr := unix.Poll([]unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}, -1); perr == nil && n > 0 {
			return
		}
	}
}

// Ended is closed when the scope is proved dead.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait waits until the command has ended by itself and the scope is proved
// dead, or until ctx is done.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{Code: -1}, ctx.Err()
	}
}

// Kill ends the scope through its init, at once and without waiting.
func (p *Process) Kill() { p.kill("") }

func (p *Process) kill(limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return
	default:
	}
	if p.poll == nil {
		return
	}
	if err := unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0); err != nil {
		return // ESRCH: it ended by itself, which supervise is about to see
	}
	if !p.killed {
		p.killed, p.limit = true, limit
	}
}

// Fence kills what is left of the scope and waits for the proof that nothing of
// it is alive. Without proof in [FenceTimeout] it returns [ErrUnconfirmed]. The
// streams still give what the scope wrote, however late they are read, and end at
// the latest one second later, whoever else holds them.
func (p *Process) Fence() (Exit, error) {
	p.Kill()
	timer := time.NewTimer(FenceTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
		p.Stdout.SetReadDeadline(deadline(time.Second))
		p.raw.SetReadDeadline(deadline(time.Second))
		return p.exit, p.err
	case <-timer.C:
		p.Stdout.SetReadDeadline(deadline(0))
		p.raw.SetReadDeadline(deadline(0))
		return Exit{Code: -1, Killed: true}, ErrUnconfirmed
	}
}

// Close releases the descriptors of a scope that has ended. It fences first.
func (p *Process) Close() error {
	_, err := p.Fence()
	if errors.Is(err, ErrUnconfirmed) {
		return err
	}
	p.closeAll()
	return nil
}

// closeAll takes the lock that kill holds: a number that was closed may name
// another scope's init a moment later.
func (p *Process) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range []*os.File{p.Stdin, p.Stdout.file, p.Stderr, p.raw.file, p.status, p.poll} {
		if f != nil {
			f.Close()
		}
	}
}

// relay carries the scope's standard error to the reader of Stderr and keeps
// its head: where bubblewrap fails, its reason stands there.
func (p *Process) relay(raw io.Reader, out *os.File) {
	defer close(p.drained)
	defer out.Close()
	buffer := make([]byte, 8<<10)
	broken := false
	for {
		n, err := raw.Read(buffer)
		p.mu.Lock()
		p.head = append(p.head, buffer[:min(n, headBytes-len(p.head))]...)
		p.mu.Unlock()
		if n > 0 && !broken {
			_, werr := out.Write(buffer[:n])
			broken = werr != nil // nobody reads any more; keep draining
		}
		if err != nil {
			p.rawEnd = err
			return
		}
	}
}

const headBytes = 4096

// complaint is the first line that bubblewrap wrote about itself to standard
// error. It is only asked for once the scope is dead.
func (p *Process) complaint() string {
	p.raw.SetReadDeadline(deadline(time.Second))
	<-p.drained
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(string(p.head)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "bwrap: ") {
			return line
		}
	}
	return ""
}

// childrenOf are the processes whose parent is pid and who are alive.
func childrenOf(pid int) (found []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, err := parentOf(child); err == nil && parent == pid {
			found = append(found, child)
		}
	}
	return found
}

func parentOf(pid int) (int, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// pid (comm) state ppid …, and comm may hold anything but ends at the last ')'.
	_, rest, ok := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, errors.New("unreadable stat")
	}
	return strconv.Atoi(fields[1])
}
