package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
)

// chatting runs a chat whose standard input stays open.
func (p *place) chatting(args ...string) (r *running, in io.WriteCloser) {
	p.t.Helper()
	cmd := exec.Command(magid, append([]string{"chat"}, args...)...)
	cmd.Dir = p.workspace
	in, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	return p.process(cmd), in
}

func (p *place) says(in io.Writer, line string) {
	p.t.Helper()
	_, err := io.WriteString(in, line+"\n")
	require.NoError(p.t, err)
}

// rule: M-009
func TestCtrlCStopsTheTurnAndASecondLeaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := p.model(
		scripted.Reply{Steps: []scripted.Step{scripted.Text("endless"), scripted.Hold("")}},
		scripted.Reply{Steps: []scripted.Step{scripted.Head(), scripted.Hold("")}},
	)
	p.serve()
	r, in := p.chatting()
	p.says(in, "go")
	<-model.Held("")
	r.logged("endless")
	r.signal(unix.SIGINT)
	require.Equal(t, 1, r.ends(), r.log)
	require.Contains(t, r.log.String(), "Stopping. Ctrl-C again leaves")
	require.Contains(t, r.log.String(), "turn cancelled")

	// Between turns one Ctrl-C leaves.
	r, _ = p.chatting()
	c := p.dial()
	until(t, "the chat is connected", func() bool {
		status, err := c.Status(t.Context())
		require.NoError(t, err)
		return status.Connections == 2
	})
	r.signal(unix.SIGINT)
	require.Zero(t, r.ends(), r.log)
	list, err := c.ListSessions(t.Context(), wirev2.SessionListRequest{})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 1, "a chat that said nothing made no session")
}

// between forwards connections to a daemon, and cuts the first towards its client alone: until release is closed the
// daemon goes on to believe in it. said is what the daemon says.
func (p *place) between(release <-chan struct{}) (socket string, said *buffer, cut func()) {
	p.t.Helper()
	socket, said = filepath.Join(p.dir, "between.sock"), &buffer{}
	l, err := net.Listen("unix", socket)
	require.NoError(p.t, err)
	near := make(chan net.Conn, 16)
	var work sync.WaitGroup
	p.t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			ours, err := l.Accept()
			if err != nil {
				return
			}
			theirs, err := net.Dial("unix", p.socket)
			if err != nil {
				_ = ours.Close()
				continue
			}
			near <- ours
			work.Go(func() {
				_, _ = io.Copy(io.MultiWriter(said, ours), theirs)
				_ = ours.Close()
			})
			work.Go(func() {
				_, _ = io.Copy(theirs, ours)
				<-release
				_ = theirs.Close()
			})
		}
	})
	return socket, said, func() { _ = (<-near).Close() }
}

// rule: W-138
func TestChatComesBackWhileTheDaemonBelievesInTheLostConnection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := p.model(scripted.Reply{Steps: []scripted.Step{
		scripted.Text("half a sen"), scripted.Hold("on"), scripted.Text("tence"), scripted.Finish("stop"), scripted.Done(),
	}})
	p.serve()
	release := make(chan struct{})
	socket, said, cut := p.between(release)
	p.env = append(p.env, "MAGI_SOCKET="+socket)
	r, in := p.chatting()
	p.says(in, "go")
	r.logged("half a sen")
	cut()
	until(t, "the session is refused to the new connection", func() bool { return strings.Contains(said.String(), "session_claimed") })
	close(release)
	model.Release("on")
	require.NoError(t, in.Close())
	require.Zero(t, r.ends(), r.log)
	shown := r.log.String()
	require.Contains(t, shown, "connection lost, coming back")
	require.Equal(t, 1, strings.Count(shown, "half a sen"), shown)
	require.Equal(t, 1, strings.Count(shown, "tence"), shown)
}

// A chat goes on where it was when the daemon's connection is lost, and says what is known when the daemon is.
//
// rule: M-009, W-156
func TestChatComesBackAfterTheDaemonDied(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := p.model(
		scripted.Reply{Steps: []scripted.Step{scripted.Text("half a sen"), scripted.Hold("")}},
		scripted.TextReply("whole again"),
	)
	first := p.serve()
	r, in := p.chatting()
	p.says(in, "go")
	<-model.Held("")
	r.logged("half a sen")
	first.kill()
	p.serve()
	require.Equal(t, 1, r.ends(), r.log)
	require.Contains(t, r.log.String(), "connection lost, coming back")
	require.Contains(t, r.log.String(), "turn failed: internal")
	id, _, _ := strings.Cut(p.run("sessions").stdout, " ")

	r, in = p.chatting("--session", id)
	p.says(in, "and now?")
	require.NoError(t, in.Close())
	require.Zero(t, r.ends(), r.log)
	require.Contains(t, r.log.String(), "whole again")
	require.Len(t, model.Requests(), 2, "the first turn was not run again")
}

// A reader that has seen enough goes away, and the demonstration still leaves nothing behind.
func TestDemoCleansUpWhenItsReaderGoesAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	temporary := filepath.Join(p.dir, "tmp")
	require.NoError(t, os.Mkdir(temporary, 0o700))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(magid, "demo")
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(p.env, "TMPDIR="+temporary), w, &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	line, err := bufio.NewReader(r).ReadString('s') // of the first step's title
	require.NoError(t, err, line)
	require.NoError(t, r.Close())
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "not a signal's death")
	require.Contains(t, stderr.String(), "broken pipe")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, daemonsWith(t, "MAGI_SOCKET="+temporary+"/"))
}
