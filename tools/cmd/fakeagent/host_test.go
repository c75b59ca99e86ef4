package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/tools/internal/acphost"
)

// TestMain lets the test's own program be the agent.
func TestMain(m *testing.M) {
	if os.Getenv("FAKEAGENT") == "yes" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// host has a conversation with a fake agent.
type host struct {
	*acphost.Host
	t    *testing.T
	cmd  *exec.Cmd // nil within the test
	wait func() error
}

// process starts an agent as a process of its own. The agent is this program.
func process(t *testing.T, c acpprofile.Config, args ...string) *host {
	t.Helper()
	h, in, out, errs := hosting(t, c)
	h.cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	h.cmd.Env = []string{"FAKEAGENT=yes", "HOST_VARIABLE=value"}
	// Files, so that waiting for the process waits for it alone.
	h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = in, out, errs
	require.NoError(t, h.cmd.Start())
	require.NoError(t, errors.Join(in.Close(), out.Close(), errs.Close()))
	h.wait = h.cmd.Wait
	t.Cleanup(func() {
		if pid, ok := h.child(); ok {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait() // the second time an error
	})
	return h
}

// inside starts an agent within the test, over the same kind of streams.
func inside(t *testing.T, c acpprofile.Config, args ...string) *host {
	t.Helper()
	h, in, out, errs := hosting(t, c)
	code := make(chan int, 1)
	go func() {
		code <- run(args, in, out, errs)
		_, _, _ = in.Close(), out.Close(), errs.Close()
	}()
	h.wait = func() error {
		if code := <-code; code != 0 {
			return fmt.Errorf("exit code %d", code)
		}
		return nil
	}
	return h
}

// hosting makes a host, and the agent's ends of its streams.
func hosting(t *testing.T, c acpprofile.Config) (h *host, in, out, errs *os.File) {
	t.Helper()
	in, stdin, err := os.Pipe()
	require.NoError(t, err)
	stdout, out, err := os.Pipe()
	require.NoError(t, err)
	stderr, errs, err := os.Pipe()
	require.NoError(t, err)
	inner, err := acphost.New(c, stdin, stdout, stderr)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = stdin.Close() // mostly the second time
		_ = stdout.Close()
		<-inner.Done()
		_ = stderr.Close()
	})
	return &host{Host: inner, t: t}, in, out, errs
}

func reviewed() acpprofile.Config {
	yes := true
	return acpprofile.Config{
		Client: "codex", MaxTurns: 2, ModeID: "read-only",
		Configuration: []acpprofile.Setting{{ID: "model", Value: "m-1"}, {ID: "web", Boolean: &yes}},
	}
}

var options = []string{`"configId":"model","value":"m-1"`, `"configId":"web","type":"boolean","value":true`}

const (
	hello = `{"protocolVersion":1}`
	work  = `{"cwd":"/work","mcpServers":[]}`
	kept  = "fake-session-kept"
)

// opened brings the conversation to its first prompt, or to the fault.
func (h *host) opened(restore string) bool {
	h.t.Helper()
	on, err := h.Open(restore, options, "read-only")
	require.NoError(h.t, err)
	return on
}

func (h *host) prompt(text string) bool { return h.ask(methodPrompt, h.Prompt(text)) }

func (h *host) close() bool {
	return h.ask(methodClose, `{"sessionId":`+quote(h.Session)+`}`)
}

func (h *host) ask(method, params string) bool {
	h.t.Helper()
	on, err := h.Ask(method, params)
	require.NoError(h.t, err)
	return on
}

func (h *host) end() string {
	h.t.Helper()
	got, err := h.Finish(h.wait)
	require.NoError(h.t, err)
	return string(got)
}

func (h *host) hang() string {
	h.t.Helper()
	got, err := h.Hang()
	require.NoError(h.t, err)
	return string(got)
}

// status is how the agent ended.
func (h *host) status() syscall.WaitStatus {
	h.t.Helper()
	_ = h.cmd.Wait()
	s, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(h.t, ok)
	return s
}

// child is the process that the agent says it left behind.
func (h *host) child() (pid int, ok bool) {
	_, rest, ok := strings.Cut(h.Text(), "child ")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(number)
	return pid, err == nil
}

// converse has the whole conversation with an agent of one fault, given by flag
// or by the first prompt's text, and tells what became of it.
func converse(t *testing.T, f fault, byText bool) (string, *host) {
	t.Helper()
	return converseAs(t, reviewed(), f, byText)
}

func converseAs(t *testing.T, c acpprofile.Config, f fault, byText bool) (string, *host) {
	t.Helper()
	args, text := []string{"-fault", f.name}, "hello"
	if byText {
		args, text = nil, "please\nFAULT "+f.name
	}
	if f.at == methodResume {
		c.RestoreSessionID = kept
	}
	start := inside
	if needsProcess(f) {
		start = process
	}
	h := start(t, c, args...)
	// What never answers is not waited for: the end of its input ends it.
	hurry := f.want == unsettled
	switch {
	case hurry && (f.at == methodInit || f.at == atStart):
		require.NoError(t, h.Send(methodInit, hello))
		return h.hang(), h
	case hurry && f.at == methodNew:
		require.True(t, h.ask(methodInit, hello))
		require.NoError(t, h.Send(methodNew, work))
		return h.hang(), h
	}
	if !h.opened(c.RestoreSessionID) {
		return h.end(), h
	}
	switch {
	case hurry && f.at == methodPrompt:
		require.NoError(t, h.Send(methodPrompt, h.Prompt(text)))
		return h.hang(), h
	case f.at == methodCancel:
		require.NoError(t, h.Send(methodPrompt, h.Prompt("SLOW")))
		require.NoError(t, h.Cancel())
		h.Pump()
	default:
		h.prompt(text)
	}
	if strings.HasPrefix(f.at, after) {
		return h.end(), h // what comes next comes between two turns
	}
	if h.Failed == "" && !h.Refused {
		h.prompt("ECHO second")
	}
	if h.Failed == "" && !h.Refused && f.name != "no-close" && f.name != "capabilities-null" {
		if hurry {
			require.NoError(t, h.Send(methodClose, `{"sessionId":`+quote(h.Session)+`}`))
			return h.hang(), h
		}
		h.close()
	}
	return h.end(), h
}

// needsProcess tells the faults of a process from those of what it says.
func needsProcess(f fault) bool {
	return strings.HasPrefix(f.name, "exit-") || f.name == "environment" || among(endFaults, f)
}

func among(list []fault, f fault) bool {
	return slices.ContainsFunc(list, func(other fault) bool { return other.name == f.name })
}
