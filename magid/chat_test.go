package main

import (
	"io"
	"os/exec"
	"strings"
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
