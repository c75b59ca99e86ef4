package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpprofile"
)

// TestMain lets the test's own program be the agent.
func TestMain(m *testing.M) {
	if os.Getenv("FAKEAGENT") == "yes" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// host has a finite conversation with an agent: what the agent writes is decided on
// by acpprofile, and the streams are bounded as a host must bound them.
type host struct {
	t       *testing.T
	cmd     *exec.Cmd // nil within the test
	wait    func() error
	stdin   io.WriteCloser
	lines   *bufio.Reader
	stderr  *tail
	machine *acpprofile.Machine
	id      int
	shown   [][]byte // what the adapter got
	answers [][]byte // what the agent got that the adapter did not write
	failed  string   // the end of the conversation, if it failed
	refused bool
	owned   string // the session, as the adapter was told
}

// tail keeps what comes on stderr, and tells when the agent lingers.
type tail struct {
	mu        sync.Mutex
	all       bytes.Buffer // guarded by mu
	lingering chan struct{}
	done      chan struct{}
}

func (s *tail) read(r io.Reader) {
	defer close(s.done)
	told := false
	for lines := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := lines.ReadString('\n')
		s.mu.Lock()
		s.all.WriteString(line)
		s.mu.Unlock()
		if !told && strings.Contains(line, "lingering") {
			told = true
			close(s.lingering)
		}
		if err != nil {
			return
		}
	}
}

const maxLine = 16 << 20

// newHost starts an agent as a process of its own. The agent is this program.
func newHost(t *testing.T, c acpprofile.Config, args ...string) *host {
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

// hostInside starts an agent within the test, over the same kind of streams.
func hostInside(t *testing.T, c acpprofile.Config, args ...string) *host {
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
	m, err := acpprofile.New(c)
	require.NoError(t, err)
	h = &host{t: t, machine: m, stderr: &tail{lingering: make(chan struct{}), done: make(chan struct{})}}
	in, stdin, err := os.Pipe()
	require.NoError(t, err)
	stdout, out, err := os.Pipe()
	require.NoError(t, err)
	stderr, errs, err := os.Pipe()
	require.NoError(t, err)
	h.stdin, h.lines = stdin, bufio.NewReaderSize(stdout, 64<<10)
	go h.stderr.read(stderr)
	t.Cleanup(func() {
		_ = stdin.Close() // mostly the second time
		_ = stdout.Close()
		<-h.stderr.done
		_ = stderr.Close()
	})
	return h, in, out, errs
}

// ask sends what the adapter wrote, and takes what comes until it is answered.
func (h *host) ask(method, params string) bool { return h.send(method, params) && h.pump() }

func (h *host) send(method, params string) bool {
	h.id++
	return h.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, h.id, method, params))
}

func (h *host) frame(frame string) bool {
	if h.failed != "" {
		return false
	}
	d, err := h.machine.Adapter([]byte(frame))
	require.NoError(h.t, err, frame)
	h.decided(d)
	return true
}

func (h *host) decided(d acpprofile.Decision) {
	for _, line := range d.ToNative {
		_, _ = h.stdin.Write(append(line, '\n')) // an agent that went is seen where it is read
	}
	h.shown = append(h.shown, d.ToAdapter...)
	for _, f := range d.ToAdapter {
		if id := gjson.GetBytes(f, "result.sessionId"); id.Exists() {
			h.owned = id.String()
		}
		h.refused = h.refused || bytes.Contains(f, []byte(`"error":`))
	}
}

// pump takes lines until nothing is pending. It reports whether the conversation
// goes on.
func (h *host) pump() bool {
	for h.failed == "" && h.machine.Pending() != "" {
		h.one()
	}
	return h.failed == ""
}

// one takes one line of the agent, or its end.
func (h *host) one() (more bool) {
	line, err := h.line()
	switch {
	case err == io.EOF && len(line) == 0:
		if h.machine.Pending() != "" {
			h.failed = unsettled
		} else if err := h.machine.NativeEOF(); err != nil {
			h.fail(err)
		}
		return false
	case err != nil || len(line) == 0:
		h.failed = protocol // no line, an empty one, one without an end, or one too long
		return false
	}
	d, err := h.machine.Native(line)
	if err != nil {
		h.fail(err)
		return false
	}
	if len(d.ToNative) > 0 {
		h.answers = append(h.answers, d.ToNative...)
	}
	h.decided(d)
	return true
}

func (h *host) fail(err error) {
	var f *acpprofile.Failure
	require.ErrorAs(h.t, err, &f)
	require.Equal(h.t, "native", f.Side)
	h.failed = protocol
	if f.Reason == acpprofile.ReasonNative {
		h.failed = native
	}
}

// line reads one line of at most 16 MiB.
func (h *host) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := h.lines.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxLine+1 {
			return nil, errors.New("the line is too long")
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return line, err
		}
		return line[:len(line)-1], nil
	}
}

// end closes the agent's input, takes what it still says, and tells what became of
// the conversation.
func (h *host) end() string {
	if h.failed == "" {
		settled, err := h.machine.Settled()
		require.NoError(h.t, err)
		require.True(h.t, settled)
		require.NoError(h.t, h.machine.AdapterEOF())
	}
	require.NoError(h.t, h.stdin.Close())
	if h.failed != "" {
		return h.failed
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for h.one() {
		}
	}()
	select {
	case <-h.stderr.lingering:
		return lingers
	case <-ended:
	}
	if h.failed != "" {
		return h.failed
	}
	<-h.stderr.done
	err := h.wait()
	h.stderr.mu.Lock()
	said := h.stderr.all.Len()
	h.stderr.mu.Unlock()
	switch {
	case said > 65536:
		return noise
	case err != nil:
		return exits
	case h.refused:
		return refusal
	}
	return fine
}

// status is how the agent ended.
func (h *host) status() syscall.WaitStatus {
	h.t.Helper()
	_ = h.cmd.Wait()
	s, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(h.t, ok)
	return s
}

func reviewed() acpprofile.Config {
	yes := true
	return acpprofile.Config{
		Client: "codex", MaxTurns: 2, ModeID: "read-only",
		Configuration: []acpprofile.Setting{{ID: "model", Value: "m-1"}, {ID: "web", Boolean: &yes}},
	}
}

const (
	hello = `{"protocolVersion":1}`
	work  = `{"cwd":"/work","mcpServers":[]}`
)

// opened brings the conversation to its first prompt, or to the fault.
func (h *host) opened(restore bool) bool {
	if !h.ask(methodInit, hello) || h.refused {
		return false
	}
	if restore {
		if !h.ask(methodResume, `{"sessionId":"`+kept+`","cwd":"/work","mcpServers":[]}`) {
			return false
		}
		h.owned = kept
	} else if !h.ask(methodNew, work) {
		return false
	}
	if h.refused {
		return false
	}
	for _, c := range []string{`"configId":"model","value":"m-1"`, `"configId":"web","type":"boolean","value":true`} {
		if !h.ask(methodConfig, `{"sessionId":`+quote(h.owned)+`,`+c+`}`) || h.refused {
			return false
		}
	}
	return h.ask(methodMode, `{"sessionId":`+quote(h.owned)+`,"modeId":"read-only"}`) && !h.refused
}

const kept = "fake-session-kept"

func (h *host) prompt(text string) bool {
	return h.ask(methodPrompt, `{"sessionId":`+quote(h.owned)+`,"prompt":[{"type":"text","text":`+quote(text)+`}]}`)
}

func (h *host) close() bool {
	return h.ask(methodClose, `{"sessionId":`+quote(h.owned)+`}`)
}

// text is the answers that the adapter was told.
func (h *host) text() string {
	var b strings.Builder
	for _, f := range h.shown {
		b.WriteString(gjson.GetBytes(f, "params.update.content.text").String())
	}
	return b.String()
}

// child is the process that the agent says it left behind.
func (h *host) child() (pid int, ok bool) {
	_, rest, ok := strings.Cut(h.text(), "child ")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(number)
	return pid, err == nil
}
