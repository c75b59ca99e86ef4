package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// patience bounds every wait for another process. No test expects that it passes.
const patience = 60 * time.Second

// place is a folder with a socket path, a state folder and a workspace, and the environment that says so.
type place struct {
	t         testing.TB
	dir       string
	socket    string
	state     string
	workspace string
	env       []string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mt") // short, for the socket's sake
	require.NoError(t, err)
	require.NoError(t, keep(dir))
	t.Cleanup(func() {
		log, err := os.ReadFile(filepath.Join(dir, "state", "magid.log"))
		if err == nil {
			sane(t, string(log))
		}
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, letGo(dir))
	})
	p := &place{t: t, dir: dir, socket: filepath.Join(dir, "run", "magid.sock"), state: filepath.Join(dir, "state"), workspace: filepath.Join(dir, "work")}
	require.NoError(t, os.Mkdir(p.workspace, 0o700))
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MAGI_SOCKET=" + p.socket, "MAGI_STATE=" + p.state,
		"MAGI_CONFIG=" + filepath.Join(dir, "config.toml"),
	}
	return p
}

// model gives the place a scripted provider.
func (p *place) model(replies ...scripted.Reply) *scripted.Server {
	p.t.Helper()
	s, err := scripted.StartReplies(replies...)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { require.NoError(p.t, s.Close()) })
	p.env = append(p.env, "MAGI_BASE_URL="+s.URL(), "MAGI_MODEL=scripted")
	return s
}

// running is a process that a test started.
type running struct {
	*exec.Cmd
	t    testing.TB
	log  *buffer
	done chan struct{}
	err  error
}

// buffer is what a process writes.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve runs a daemon in the foreground and waits until it answers. It is ended with the test at the latest.
func (p *place) serve(extra ...string) *running {
	p.t.Helper()
	r := p.process(exec.Command(magid, "serve"), extra...)
	p.answers(r)
	return r
}

// mortal runs a daemon of this test binary that dies at a durable step.
func (p *place) mortal(at string) *running {
	p.t.Helper()
	self, err := os.Executable()
	require.NoError(p.t, err)
	r := p.process(exec.Command(self), "MAGID_TEST_DIE_AT="+at)
	return r
}

func (p *place) process(cmd *exec.Cmd, extra ...string) *running {
	p.t.Helper()
	r := &running{Cmd: cmd, t: p.t, log: &buffer{}, done: make(chan struct{})}
	cmd.Env = append(append(cmd.Env, p.env...), extra...)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dyingWithUs(cmd.SysProcAttr)
	require.NoError(p.t, cmd.Start())
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	p.t.Cleanup(func() {
		r.signal(unix.SIGKILL)
		<-r.done
		sane(p.t, r.log.String())
	})
	return r
}

// sane looks in a daemon's log for what the Go runtime says of a bug.
func sane(t testing.TB, log string) {
	t.Helper()
	for _, sign := range []string{"DATA RACE", "panic: ", "fatal error: ", "goroutine "} {
		require.NotContains(t, log, sign)
	}
}

// answers waits until the daemon answers a handshake.
func (p *place) answers(r *running) {
	p.t.Helper()
	if !p.answersOrDies(r) { // only then is r.err ours to read
		require.Fail(p.t, "the daemon has ended", "%v\n%s", r.err, r.log)
	}
}

// answersOrDies waits until the daemon answers a handshake, or has ended.
func (p *place) answersOrDies(r *running) bool {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := client.Dial(ctx, p.socket, client.Options{Name: "test", Version: "1"})
		cancel()
		if err == nil {
			require.NoError(p.t, c.Close())
			return true
		}
		select {
		case <-r.done:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		require.True(p.t, time.Now().Before(deadline), "no answer: %v\n%s", err, r.log)
	}
}

func (r *running) signal(s unix.Signal) {
	select {
	case <-r.done:
	default:
		_ = r.Process.Signal(s)
	}
}

// kill ends the process as a crash would.
func (r *running) kill() {
	r.signal(unix.SIGKILL)
	<-r.done
}

// ends waits for the end of a process and returns its exit code.
func (r *running) ends() int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		require.Fail(r.t, "the process does not end", "%s", r.log)
	}
	var exit *exec.ExitError
	if errors.As(r.err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(r.t, r.err)
	return 0
}

// logged waits until the log says something.
func (r *running) logged(text string) {
	r.t.Helper()
	until(r.t, "in the log: "+text, func() bool { return strings.Contains(r.log.String(), text) })
}

// ran is what a command printed, and how it ended.
type ran struct {
	stdout, stderr string
	code           int
}

// run runs one command of magid to its end.
func (p *place) run(args ...string) ran {
	p.t.Helper()
	return p.runWith("", args...)
}

func (p *place) runWith(stdin string, args ...string) ran {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, magid, args...)
	cmd.Env = p.env
	cmd.Dir = p.workspace
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(p.t, err)
	}
	require.NoError(p.t, ctx.Err(), "magid %v hangs", args)
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// stopAtEnd stops the background daemon of a place with the test.
func (p *place) stopAtEnd() {
	p.t.Cleanup(func() {
		r := p.run("stop")
		require.Zero(p.t, r.code, r.stderr)
	})
}

// dial connects a client.
func (p *place) dial() *client.Client {
	p.t.Helper()
	c, err := client.Dial(p.t.Context(), p.socket, client.Options{Name: "test", Version: "1"})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// session makes a session.
func (p *place) session(c *client.Client) wirev2.ID {
	p.t.Helper()
	id, err := c.CreateSession(p.t.Context(), "", wirev2.SessionCreateRequest{Workspace: p.workspace})
	require.NoError(p.t, err)
	return id
}

func (p *place) claimed(c *client.Client, id wirev2.ID) *client.Session {
	p.t.Helper()
	s, err := c.Claim(p.t.Context(), "", id, false)
	require.NoError(p.t, err)
	return s
}

// end reads a session's events to the end of a turn.
func end(t *testing.T, s *client.Session) (text string, terminal wirev2.Terminal) {
	t.Helper()
	for {
		e, err := s.Events().Next(t.Context())
		require.NoError(t, err)
		switch e.Event {
		case wirev2.EventTurnText:
			var piece wirev2.TurnTextEvent
			require.NoError(t, wirev2.DecodePayload(e.Payload, &piece))
			text += piece.Text
		case wirev2.EventTurnTerminal:
			require.NoError(t, wirev2.DecodePayload(e.Payload, &terminal))
			return text, terminal
		}
	}
}

// until waits for a condition that another process brings about.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		require.True(t, time.Now().Before(deadline), "waited for: %s", what)
		time.Sleep(5 * time.Millisecond)
	}
}

// alive says whether a process exists.
func alive(pid int) bool { return unix.Kill(pid, 0) == nil && !zombie(pid) }

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// asUser makes a command run as another user where we are root, whom no mode stops.
func asUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
	}
}
