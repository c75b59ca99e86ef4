package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// configure writes the place's configuration file.
func (p *place) configure(text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, "config.toml"), []byte(text), 0o600))
}

// rule: M-003, M-004, M-018
func TestStartStopAndRestartCanBeRepeated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stopAtEnd()
	require.Contains(t, p.run("stop").stdout, "was not running")
	first := parse[runningJSON](t, p.run("start", "--json").stdout)
	require.True(t, first.Started)
	p.dial() // it answers the moment start has returned
	again := parse[runningJSON](t, p.run("start", "--json").stdout)
	require.False(t, again.Started)
	require.Equal(t, first.PID, again.PID)
	restarted := parse[runningJSON](t, p.run("restart", "--json").stdout)
	require.NotEqual(t, first.PID, restarted.PID)
	require.False(t, alive(first.PID))
	require.True(t, alive(restarted.PID))
	for range 2 {
		require.Zero(t, p.run("stop").code)
		require.False(t, alive(restarted.PID))
		require.Equal(t, 3, p.run("status").code)
	}
	require.Zero(t, p.run("restart").code, "restart starts where nothing ran")
	require.Zero(t, p.run("restart").code)
	require.Len(t, daemonsOf(t, p), 1)
}

// A daemon that is about to end takes connections that it does not answer any more. start and stop wait until it is gone.
//
// rule: M-003
func TestStartAndStopOutwaitADaemonThatEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stopAtEnd()
	require.NoError(t, os.Mkdir(filepath.Dir(p.socket), 0o700))
	dying := func() {
		l, err := net.Listen("unix", p.socket)
		require.NoError(t, err)
		go func() {
			defer l.Close()
			for range 3 {
				if conn, err := l.Accept(); err == nil {
					_ = conn.Close()
				}
			}
		}()
	}
	dying()
	stopped := p.run("stop")
	require.Zero(t, stopped.code, stopped.stderr)
	require.Contains(t, stopped.stdout, "has stopped")
	dying()
	started := p.run("start")
	require.Zero(t, started.code, started.stderr)
	require.Contains(t, started.stdout, "magid is running")
}

// complaint: 28 openai/codex#26773, openai/codex-plugin-cc#358 - background processes outlived their parents by the hundred
// rule: M-021, M-022
func TestComplaint28Codex26773DaemonOutlivesItsLauncherAndThenEndsByItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("[daemon]\nidle_timeout = \"3s\"\n")
	// The launcher is a shell that is killed with everything in its process group.
	shell := exec.Command("/bin/sh", "-c", `"$0" start --json; exec sleep 600`, magid)
	shell.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	shell.Env = p.env
	out, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	line := make([]byte, 4096)
	n, err := out.Read(line)
	require.NoError(t, err)
	daemon := parse[runningJSON](t, string(line[:n]))
	c := p.dial()
	require.NoError(t, unix.Kill(-shell.Process.Pid, unix.SIGKILL))
	require.Error(t, shell.Wait())
	time.Sleep(3500 * time.Millisecond) // longer than the idle time: a connection prevents the exit
	require.True(t, alive(daemon.PID))
	_, err = c.Status(t.Context())
	require.NoError(t, err)
	require.Empty(t, childrenOf(t, daemon.PID), "the daemon has no children that could be left")
	require.NoError(t, c.Close())
	until(t, "the idle daemon ends", func() bool { return !alive(daemon.PID) })
	require.NoFileExists(t, p.socket)
	require.Empty(t, daemonsOf(t, p))
}

func childrenOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// reach starts a background daemon and connects to it before it can be idle for too long.
func (p *place) reach() (daemon runningJSON, c *client.Client) {
	p.t.Helper()
	until(p.t, "a connection", func() bool {
		r := p.run("start", "--json")
		require.Zero(p.t, r.code, r.stderr)
		daemon = parse[runningJSON](p.t, r.stdout)
		var err error
		c, err = client.Dial(p.t.Context(), p.socket, client.Options{Name: "test", Version: "1"})
		return err == nil
	})
	p.t.Cleanup(func() { _ = c.Close() })
	return daemon, c
}

// rule: M-022
func TestRunningTurnPreventsTheIdleExit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("[daemon]\nidle_timeout = \"1s\"\n")
	model := p.model(scripted.Reply{Steps: []scripted.Step{scripted.Text("a"), scripted.Hold("on"), scripted.Finish("stop"), scripted.Done()}})
	daemon, c := p.reach()
	s := p.claimed(c, p.session(c))
	_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "x"})
	require.NoError(t, err)
	<-model.Held("on")
	require.NoError(t, c.Close())
	time.Sleep(1500 * time.Millisecond)
	require.True(t, alive(daemon.PID), "a turn runs")
	model.Release("on")
	until(t, "the daemon ends after the turn", func() bool { return !alive(daemon.PID) })
	r := p.run("history", string(s.ID()))
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "  a\n")
}

// rule: M-020
func TestForegroundDaemonDoesNotEndWhenIdle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("[daemon]\nidle_timeout = \"1s\"\n")
	r := p.serve()
	time.Sleep(1500 * time.Millisecond)
	require.True(t, alive(r.Process.Pid))
	p.dial()
}

// rule: M-002
func TestStopEndsTurnsInOrderAndTellsTheirController(t *testing.T) {
	t.Parallel()
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		p := newPlace(t)
		model := p.model(scripted.Reply{Steps: []scripted.Step{scripted.Text("some words"), scripted.Hold("")}})
		r := p.serve()
		c := p.dial()
		s := p.claimed(c, p.session(c))
		_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: "x"})
		require.NoError(t, err)
		<-model.Held("")
		until(t, "the words have come", func() bool {
			snapshot, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			return snapshot.Turn.Text == "some words"
		})
		r.signal(signal)
		text, terminal := end(t, s)
		require.Equal(t, "some words", text)
		require.Equal(t, wirev2.TerminalFailed, terminal.Status)
		require.Equal(t, wirev2.TurnInternal, terminal.Error.Code)
		require.Zero(t, r.ends(), r.log)
		require.NoFileExists(t, p.socket)
		h := p.run("history", string(s.ID()))
		require.Contains(t, h.stdout, "some words")
		require.Contains(t, h.stdout, "turn failed: internal")
	}
}

// manager plays a service manager: it listens, and starts a daemon for what arrives.
type manager struct {
	p       *place
	program string
	file    *os.File
	socket  *net.UnixListener
}

func (p *place) manager() *manager {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.socket), 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.socket, Net: "unix"})
	require.NoError(p.t, err)
	file, err := l.File()
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _, _ = file.Close(), l.Close() })
	return &manager{p, magid, file, l}
}

// activate starts a daemon as a service manager does.
func (m *manager) activate(extra ...string) *running {
	m.p.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, m.program)
	cmd.ExtraFiles = []*os.File{m.file}
	cmd.Env = append([]string{"LISTEN_FDS=1"}, extra...)
	return m.p.process(cmd)
}

// waits says that a connection waits in the socket's queue.
func (m *manager) waits(timeout time.Duration) bool {
	raw, err := m.file.SyscallConn() // Fd would make the socket block, for the daemon too
	require.NoError(m.p.t, err)
	ready := 0
	require.NoError(m.p.t, raw.Control(func(fd uintptr) {
		ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(timeout.Milliseconds()))
	}))
	return err == nil && ready > 0
}

// rule: M-137, M-138, M-021
func TestServiceManagerStartsTheDaemonAndHearsOfIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("[daemon]\nidle_timeout = \"1s\"\n")
	name := filepath.Join(p.dir, "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	defer notify.Close()
	heard := func() string {
		text := make([]byte, 64)
		require.NoError(t, notify.SetReadDeadline(time.Now().Add(patience)))
		n, err := notify.Read(text)
		require.NoError(t, err)
		return string(text[:n])
	}
	m := p.manager()
	r := m.activate("NOTIFY_SOCKET=" + name)
	require.Equal(t, "READY=1", heard())
	c := p.dial()
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, status.Connections)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(r.Process.Pid) + "/cmdline")
	require.NoError(t, err)
	require.Contains(t, string(environ), "serve")
	require.NoError(t, c.Close())
	require.Equal(t, "STOPPING=1", heard())
	require.Zero(t, r.ends(), r.log)
	require.FileExists(t, p.socket, "the socket is the manager's")
}

// rule: M-139
func TestIdleExitUnderASocketUnitLosesNoConnection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("[daemon]\nidle_timeout = \"1s\"\n")
	m := p.manager()
	rounds, daemons := 5, 0
	if *long {
		rounds = 60
	}
	var current *running
	stop := make(chan struct{})
	managed := make(chan struct{})
	go func() { // starts a daemon whenever a connection waits and none serves
		defer close(managed)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if !m.waits(50 * time.Millisecond) {
				continue
			}
			if current != nil {
				select {
				case <-current.done:
				case <-time.After(time.Millisecond):
					continue
				}
			}
			current = m.activate()
			daemons++
		}
	}()
	for i := range rounds {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.socket, Net: "unix"})
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, record("i", "initialize", hello))
		require.NoError(t, err)
		require.Contains(t, readLine(t, conn), `"request_id":"i"`, "round %d", i)
		require.NoError(t, conn.Close())
		// Around the idle time, and every fourth time well beyond it.
		time.Sleep(time.Second + []time.Duration{-time.Millisecond, 0, time.Millisecond, 200 * time.Millisecond}[i%4])
	}
	close(stop)
	<-managed
	require.Greater(t, daemons, 1, "daemons came and went")
	if current != nil {
		require.Zero(t, current.ends(), current.log)
	}
}

// rule: W-052, W-299
func TestNewDaemonIsANewInstance(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	seen := make(map[wirev2.ID]bool)
	for range 3 {
		r := p.serve()
		c := p.dial()
		require.False(t, seen[c.InstanceID()])
		seen[c.InstanceID()] = true
		r.kill()
	}
}
