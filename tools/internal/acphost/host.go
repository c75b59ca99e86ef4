package acphost

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpprofile"
)

// Outcome is what became of a conversation. An unknown one prints as itself.
type Outcome string

// The outcomes. The zero value: the conversation goes on.
const (
	Fine      Outcome = "goes on"          // it ended as it should
	Refusal   Outcome = "request error"    // a request had an error, which settles the conversation
	Protocol  Outcome = "protocol failure" // the agent left the protocol
	Native    Outcome = "native failure"   // the agent said that its session failed
	Unsettled Outcome = "unsettled"        // the agent ended before it had answered
	Lingers   Outcome = "lingers"          // the agent said so, and does not end with its input
	Exits     Outcome = "bad exit"         // the agent answered all, and ended badly
	Noise     Outcome = "too much stderr"  // the agent answered all, and said too much on stderr
)

const (
	maxLine   = 16 << 20
	maxStderr = 65_536
)

// Host is one side of a conversation. It is for one goroutine.
type Host struct {
	Machine *acpprofile.Machine
	Shown   [][]byte // what the adapter got
	Answers [][]byte // what the agent got without the adapter having asked
	Session string   // as the adapter was told
	Failed  Outcome  // zero while the conversation goes on
	Refused bool     // a request had an error

	stdin   io.WriteCloser
	lines   *bufio.Reader
	id      int
	drained chan struct{}
	stderr  stderr
}

// New begins a conversation over an agent's streams. The agent's standard error is
// read to its end.
func New(c acpprofile.Config, stdin io.WriteCloser, stdout, errs io.Reader) (*Host, error) {
	m, err := acpprofile.New(c)
	if err != nil {
		return nil, err
	}
	h := &Host{Machine: m, stdin: stdin, lines: bufio.NewReaderSize(stdout, 64<<10), drained: make(chan struct{})}
	h.stderr.lingering, h.stderr.done = make(chan struct{}), make(chan struct{})
	go h.stderr.read(errs)
	return h, nil
}

// Ask sends a request of the adapter and takes what comes until it is answered. It
// reports whether the conversation goes on.
func (h *Host) Ask(method, params string) (bool, error) {
	if err := h.Send(method, params); err != nil {
		return false, err
	}
	h.Pump()
	return h.Failed == "", nil
}

// Send sends a request of the adapter.
func (h *Host) Send(method, params string) error {
	h.id++
	return h.Frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, h.id, method, params))
}

// Frame sends what the adapter wrote. That it may not is the test's fault.
func (h *Host) Frame(frame string) error {
	d, err := h.Machine.Adapter([]byte(frame))
	if err != nil {
		return fmt.Errorf("%w: %.200s", err, frame)
	}
	h.decided(d)
	return nil
}

func (h *Host) decided(d acpprofile.Decision) {
	for _, line := range d.ToNative {
		_, _ = h.stdin.Write(append(line, '\n')) // an agent that went is seen where it is read
	}
	h.Shown = append(h.Shown, d.ToAdapter...)
	for _, f := range d.ToAdapter {
		if id := gjson.GetBytes(f, "result.sessionId"); id.Exists() {
			h.Session = id.String()
		}
		h.Refused = h.Refused || gjson.GetBytes(f, "error").Exists()
	}
}

// Pump takes lines until nothing is pending.
func (h *Host) Pump() {
	for h.Failed == "" && h.Machine.Pending() != "" {
		h.One()
	}
}

// One takes one line of the agent. It reports whether there was one that may be.
func (h *Host) One() bool {
	line, err := h.line()
	switch {
	case err == io.EOF && len(line) == 0:
		if h.Machine.Pending() != "" {
			h.Failed = Unsettled
		} else if err := h.Machine.NativeEOF(); err != nil {
			h.fail(err)
		}
		return false
	case err != nil || len(line) == 0:
		h.Failed = Protocol // one without an end, one too long, an empty one
		return false
	}
	d, err := h.Machine.Native(line)
	if err != nil {
		h.fail(err)
		return false
	}
	h.Answers = append(h.Answers, d.ToNative...)
	h.decided(d)
	return true
}

func (h *Host) fail(err error) {
	h.Failed = Protocol
	var f *acpprofile.Failure
	if errors.As(err, &f) && f.Reason == acpprofile.ReasonNative {
		h.Failed = Native
	}
}

// line reads one line of at most 16 MiB.
func (h *Host) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := h.lines.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxLine+1 {
			return nil, errors.New("acphost: the line is too long")
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

// Open speaks up to the first prompt: initialize, the session (restored if that is
// not empty), each option in order, and the mode if that is not empty. It reports
// whether the conversation came there.
func (h *Host) Open(restore string, options []string, mode string) (bool, error) {
	session, params := "session/new", `{"cwd":"/work","mcpServers":[]}`
	if restore != "" {
		session, params = "session/resume", `{"sessionId":`+Quote(restore)+`,"cwd":"/work","mcpServers":[]}`
	}
	for _, ask := range [][2]string{{"initialize", `{"protocolVersion":1}`}, {session, params}} {
		if on, err := h.Ask(ask[0], ask[1]); !on || h.Refused || err != nil {
			return false, err
		}
	}
	if restore != "" {
		h.Session = restore
	}
	for _, o := range options {
		if on, err := h.Ask("session/set_config_option", `{"sessionId":`+Quote(h.Session)+`,`+o+`}`); !on || h.Refused || err != nil {
			return false, err
		}
	}
	if mode == "" {
		return true, nil
	}
	on, err := h.Ask("session/set_mode", `{"sessionId":`+Quote(h.Session)+`,"modeId":`+Quote(mode)+`}`)
	return on && !h.Refused, err
}

// Prompt is the parameters of a prompt.
func (h *Host) Prompt(text string) string {
	return `{"sessionId":` + Quote(h.Session) + `,"prompt":[{"type":"text","text":` + Quote(text) + `}]}`
}

// Cancel sends a cancel.
func (h *Host) Cancel() error {
	return h.Frame(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":` + Quote(h.Session) + `}}`)
}

// Finish closes the agent's input, takes what it still says, and tells what became
// of the conversation. wait waits for the agent's end and tells whether it ended
// well. An agent that lingers is still read, until Drained is closed.
func (h *Host) Finish(wait func() error) (Outcome, error) {
	if h.Failed == "" {
		if err := h.Machine.AdapterEOF(); err != nil {
			return "", err
		}
	}
	if err := h.stdin.Close(); err != nil {
		return "", err
	}
	if h.Failed != "" {
		return h.Failed, nil
	}
	go func() {
		defer close(h.drained)
		for h.One() {
		}
	}()
	select {
	case <-h.stderr.lingering:
		return Lingers, nil
	case <-h.drained:
	}
	if h.Failed != "" {
		return h.Failed, nil
	}
	<-h.stderr.done
	err := wait()
	switch {
	case h.stderr.length() > maxStderr:
		return Noise, nil
	case err != nil:
		return Exits, nil
	case h.Refused:
		return Refusal, nil
	}
	return Fine, nil
}

// Drained is closed once the agent's output has ended, after Finish.
func (h *Host) Drained() <-chan struct{} { return h.drained }

// Hang closes the agent's input while a request is pending, and takes what comes
// until the agent ends.
func (h *Host) Hang() (Outcome, error) {
	err := h.stdin.Close()
	h.Pump()
	return h.Failed, err
}

// Lingering is closed once the agent has said on its standard error that it lingers.
func (h *Host) Lingering() <-chan struct{} { return h.stderr.lingering }

// Done is closed once the agent's standard error has ended.
func (h *Host) Done() <-chan struct{} { return h.stderr.done }

// Text is the answers that the adapter was told.
func (h *Host) Text() string {
	var b strings.Builder
	for _, f := range h.Shown {
		b.WriteString(gjson.GetBytes(f, "params.update.content.text").String())
	}
	return b.String()
}

// Notices is how many warnings the adapter was told of.
func (h *Host) Notices() int {
	n := 0
	for _, f := range h.Shown {
		n += bytes.Count(f, []byte(`"NATIVE_WARNING"`))
	}
	return n
}

// Last is the last frame that the adapter got.
func (h *Host) Last() string {
	if len(h.Shown) == 0 {
		return ""
	}
	return string(h.Shown[len(h.Shown)-1])
}

// Quote writes a JSON string. What is no UTF-8 becomes U+FFFD.
func Quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(b)
}

// stderr counts what the agent says beside the conversation.
type stderr struct {
	mu        sync.Mutex
	bytes     int // guarded by mu
	lingering chan struct{}
	done      chan struct{}
}

func (s *stderr) read(r io.Reader) {
	defer close(s.done)
	told := false
	for lines := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := lines.ReadSlice('\n')
		s.mu.Lock()
		s.bytes += len(line)
		s.mu.Unlock()
		if !told && bytes.Contains(line, []byte("lingering")) {
			told = true
			close(s.lingering)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (s *stderr) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
