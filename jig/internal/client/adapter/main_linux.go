package adapter

import (
	"fmt"
	"os"
	"os/signal"
	"path"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

const (
	killAfter  = time.Second            // from TERM to KILL
	drainAfter = 500 * time.Millisecond // for what a dead client has left in its pipes
)

// Main is the adapter. It returns the process's exit code.
func Main(_ []string, clients map[string]Factory) int {
	// Before anything is read: the client and its tools run as the same user, and
	// must find neither memory nor descriptors of this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return refuse(exitLaunch, "it cannot protect itself")
	}
	// A host that does not listen any more is an error of a write, and not the end
	// of this process: it still has the client to end. Taken rather than ignored,
	// because what is ignored the client would inherit.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	if sandbox.ApplyRlimits(0) != nil {
		return refuse(exitLaunch, "it cannot limit itself")
	}
	if closeKeyrings() != nil {
		return refuse(exitLaunch, "it cannot close the keyrings")
	}
	// What a dead tool leaves behind comes here, and not to the scope's init alone.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return refuse(exitLaunch, "it cannot take orphans in")
	}
	if err := unix.CloseRange(evidence, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return refuse(exitLaunch, "it cannot close descriptors")
	}
	frame, err := launch.Read(os.Stdin)
	if err != nil {
		return refuse(exitFrame, "the launch frame is refused")
	}
	defer frame.Zero()
	factory := clients[frame.Client]
	if factory == nil {
		return refuse(exitFrame, "the launch frame is refused")
	}
	reporter, err := launch.NewReporter(evidence)
	if err != nil {
		return refuse(exitLaunch, "it has no socket to the host")
	}
	defer reporter.Close()
	return run(factory(), frame, reporter)
}

// refuse says why there is no conversation: a fixed text, because what reaches the
// scope's standard error may be seen.
func refuse(code int, why string) int {
	fmt.Fprintln(os.Stderr, "jig: adapter: "+why)
	return code
}

func run(client Client, frame *launch.Frame, reporter *launch.Reporter) int {
	extra, err := client.Prepare(frame)
	if err != nil {
		return refuse(exitLaunch, "the client cannot be prepared")
	}
	if frame.Retain {
		if err := handOver(frame, reporter); err != nil {
			return refuse(exitLaunch, "the folder of sessions cannot be handed over")
		}
	}
	child, err := start(frame, extra)
	frame.Zero()
	if err != nil {
		return refuse(exitLaunch, "the client cannot be started")
	}
	if reporter.Started(child.pid) != nil {
		child.kill()
		return refuse(exitLaunch, "the host is gone")
	}
	go child.reap(func(x launch.Exit) { reporter.Exited(x) })
	go child.obey(reporter.Terminate())
	err = Serve(client, Streams{
		In: os.Stdin, Out: os.Stdout, Stdin: child.stdin, Stdout: child.stdout, Stderr: child.stderr, Exited: child.exited,
	}, func(c launch.Category) { reporter.Failed(c) })
	if err != nil {
		child.kill()
		<-child.exited
		return exitHost
	}
	return exitDone
}

// handOver passes the folder of sessions to the host, which reads it when nothing
// of the scope is alive any more.
func handOver(frame *launch.Frame, reporter *launch.Reporter) error {
	folder, err := os.OpenFile(path.Join(frame.Env["CODEX_HOME"], "sessions"), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	return reporter.Sessions(folder)
}

// child is the native program. It is safe for concurrent use.
type child struct {
	pid                   int
	stdin, stdout, stderr *os.File
	exited                chan struct{} // closed when its status has been taken

	mu         sync.Mutex
	gone       bool // guarded by mu; its pid may be somebody else's
	terminated bool // guarded by mu
}

// start runs the program with exactly the frame's arguments and environment.
func start(frame *launch.Frame, extra []string) (*child, error) {
	var ends [3][2]*os.File
	closeEnds := func(side int) {
		for _, e := range ends {
			if e[side] != nil {
				e[side].Close()
			}
		}
	}
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			closeEnds(0)
			closeEnds(1)
			return nil, err
		}
		ends[i] = [2]*os.File{r, w}
	}
	ends[0][0], ends[0][1] = ends[0][1], ends[0][0] // ours first
	env := make([]string, 0, len(frame.Env)+len(extra))
	for name, value := range frame.Env {
		env = append(env, name+"="+value)
	}
	// Descriptor 3 is closed in the program: only these three are not
	// close-on-exec there.
	pid, err := syscall.ForkExec(frame.Native, append([]string{frame.Native}, frame.Argv...), &syscall.ProcAttr{
		Env: append(env, extra...), Files: []uintptr{ends[0][1].Fd(), ends[1][1].Fd(), ends[2][1].Fd()},
	})
	closeEnds(1)
	if err != nil {
		closeEnds(0)
		return nil, err
	}
	return &child{pid: pid, stdin: ends[0][0], stdout: ends[1][0], stderr: ends[2][0], exited: make(chan struct{})}, nil
}

// reap takes the status of every process that ends below the adapter, and reports
// the program's.
func (c *child) reap(report func(launch.Exit)) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // ECHILD: nothing is left
		}
		c.take(report)
	}
}

// take reaps one process. The lock keeps a signal from going to a pid that has
// become another's.
func (c *child) take(report func(launch.Exit)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var status unix.WaitStatus
	pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
	if err != nil || pid != c.pid || !(status.Exited() || status.Signaled()) {
		return
	}
	c.gone = true
	x := launch.Exit{Terminated: c.terminated}
	if status.Signaled() {
		name := unix.SignalName(status.Signal())
		if name == "" {
			name = fmt.Sprintf("SIG%d", int(status.Signal()))
		}
		x.Signal = &name
	} else {
		code := status.ExitStatus()
		x.Code = &code
	}
	report(x)
	for _, f := range []*os.File{c.stdout, c.stderr} {
		f.SetReadDeadline(time.Now().Add(drainAfter))
	}
	close(c.exited)
}

// obey ends the program when the host asks for it.
func (c *child) obey(asked <-chan struct{}) {
	select {
	case <-asked:
	case <-c.exited:
		return
	}
	c.mu.Lock()
	if !c.gone {
		c.terminated = true
		unix.Kill(c.pid, unix.SIGTERM)
	}
	c.mu.Unlock()
	select {
	case <-time.After(killAfter):
		c.kill()
	case <-c.exited:
	}
}

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		unix.Kill(c.pid, unix.SIGKILL)
	}
}
