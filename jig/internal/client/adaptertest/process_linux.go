package adaptertest

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
	"time"

	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// patience bounds every wait: what takes longer will not come.
const patience = 60 * time.Second

// Spec says how an adapter is started.
type Spec struct {
	Command    []string            // of the adapter; required
	Env        []string            // of the adapter
	Dir        string              // it starts in; the native client inherits it
	Credential *syscall.Credential // nil: the test's own user
	Frame      *launch.Frame       // nil: Raw is written as it is
	Raw        []byte
	Config     acpprofile.Config // its MaxTurns is 8 unless it says otherwise
}

// Process is a running adapter and the host's side of its conversation. It is for
// one goroutine.
type Process struct {
	Evidence *launch.Evidence
	Text     strings.Builder // of the answers
	Notices  int             // warnings that were shown
	Updates  int             // lines that were updates

	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan []byte
	read    chan struct{} // closed when standard error was read
	stderr  bytes.Buffer
	machine *acpprofile.Machine
	session string
	ids     int
	waited  sync.Once
}

// ErrEnded is an end of the adapter's output.
var ErrEnded = errors.New("adaptertest: the adapter's output has ended")

// Start starts an adapter; the test ends it.
func Start(t testing.TB, s Spec) *Process {
	t.Helper()
	if s.Config.MaxTurns == 0 {
		s.Config.MaxTurns = 8
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	machine, err := acpprofile.New(s.Config)
	must(err)
	evidence, child, err := launch.New()
	must(err)
	p := &Process{Evidence: evidence, t: t, lines: make(chan []byte, 16), read: make(chan struct{}), machine: machine}
	p.cmd = exec.Command(s.Command[0], s.Command[1:]...)
	p.cmd.Env, p.cmd.Dir, p.cmd.ExtraFiles = append([]string{}, s.Env...), s.Dir, []*os.File{child}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.Credential, Setpgid: true}
	p.in, err = p.cmd.StdinPipe()
	must(err)
	stdout, err := p.cmd.StdoutPipe()
	must(err)
	stderr, err := p.cmd.StderrPipe()
	must(err)
	must(p.cmd.Start())
	child.Close()
	t.Cleanup(p.kill)
	go p.receive(stdout)
	go func() {
		defer close(p.read)
		io.Copy(&p.stderr, stderr)
	}()
	raw := s.Raw
	if s.Frame != nil {
		raw, err = s.Frame.Encode()
		must(err)
	}
	p.in.Write(raw) // an adapter that refuses it does not read it all
	return p
}

func (p *Process) receive(stdout io.Reader) {
	defer close(p.lines)
	r := bufio.NewReader(stdout)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		p.lines <- bytes.TrimSuffix(line, []byte("\n"))
	}
}

// kill leaves nothing behind: the adapter leads a group of its own, which whatever
// it started is in.
func (p *Process) kill() {
	p.in.Close()
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.wait()
	p.Evidence.Close()
}

func (p *Process) wait() {
	p.waited.Do(func() {
		for range p.lines {
		}
		<-p.read
		p.cmd.Wait()
	})
}

// Wait waits for the adapter's end and returns its exit code and standard error.
func (p *Process) Wait() (int, string) {
	p.t.Helper()
	done := make(chan struct{})
	go func() { p.wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		p.t.Fatal("the adapter does not end")
	}
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}

// Exit waits for the native client's end, as it was reported.
func (p *Process) Exit() launch.Exit {
	p.t.Helper()
	select {
	case <-p.Evidence.Ended():
	case <-time.After(patience):
		p.t.Fatal("the native client does not end")
	}
	x, ok := p.Evidence.Exited()
	if !ok {
		p.t.Fatal("nobody reported how the native client ended")
	}
	return x
}

// PID is the adapter's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CloseInput ends the host's side.
func (p *Process) CloseInput() { p.in.Close() }

// Begin sends a request and returns its id. params are its members, without braces.
func (p *Process) Begin(method, params string) string {
	p.t.Helper()
	p.ids++
	id := strconv.Itoa(p.ids)
	p.frame(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + `}}`)
	return id
}

// Cancel sends a cancel for the prompt in progress.
func (p *Process) Cancel() {
	p.t.Helper()
	p.frame(`{"jsonrpc":"2.0","method":"session/cancel","params":{` + p.owned("") + `}}`)
}

func (p *Process) frame(frame string) {
	p.t.Helper()
	d, err := p.machine.Adapter([]byte(frame))
	if err != nil {
		p.t.Fatalf("%s: %v", frame, err)
	}
	p.write(d.ToNative)
}

func (p *Process) write(lines [][]byte) {
	for _, line := range lines {
		p.in.Write(append(line, '\n')) // who does not read is found out by what he does not answer
	}
}

func (p *Process) owned(more string) string {
	return `"sessionId":` + string(jsonline.Quote(nil, p.session)) + more
}

// Reply waits for the reply to id. The error is the machine's failure, ErrEnded, or
// says that the request was answered with an error.
func (p *Process) Reply(id string) (gjson.Result, error) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case <-timeout:
			p.t.Fatal("the adapter does not answer")
		case line, ok := <-p.lines:
			if !ok {
				return gjson.Result{}, errors.Join(ErrEnded, p.machine.NativeEOF())
			}
			reply, err := p.take(line, id)
			if err != nil || reply.Exists() {
				return reply, err
			}
		}
	}
}

// take decides on one line, and returns the reply to id if it is that.
func (p *Process) take(line []byte, id string) (reply gjson.Result, err error) {
	if gjson.GetBytes(line, "method").Str == "session/update" {
		p.Updates++
	}
	d, err := p.machine.Native(line)
	if err != nil {
		return reply, err
	}
	p.write(d.ToNative)
	for _, frame := range d.ToAdapter {
		v := gjson.ParseBytes(frame)
		update := v.Get("params.update")
		switch {
		case id != "" && v.Get("id").Raw == id:
			if reply = v.Get("result"); !reply.Exists() {
				err = fmt.Errorf("answered with the error %s", v.Get("error.code").Raw)
			}
		case update.Get("sessionUpdate").Str == "agent_message_chunk":
			p.Text.WriteString(update.Get("content.text").Str)
		case update.Get("_meta.notice").Exists():
			p.Notices++
		}
	}
	return reply, err
}

// Ask sends a request and waits for its reply.
func (p *Process) Ask(method, params string) (gjson.Result, error) {
	p.t.Helper()
	return p.Reply(p.Begin(method, params))
}

// Open initializes and begins a session with its reviewed configuration and mode.
func (p *Process) Open(c acpprofile.Config) error {
	p.t.Helper()
	if _, err := p.Ask("initialize", `"protocolVersion":1`); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	reply, err := p.Ask("session/new", `"cwd":"/work","mcpServers":[]`)
	if err != nil {
		return fmt.Errorf("session/new: %w", err)
	}
	p.session = reply.Get("sessionId").Str
	for _, s := range c.Configuration {
		params := `,"configId":` + string(jsonline.Quote(nil, s.ID)) + `,"value":` + string(jsonline.Quote(nil, s.Value))
		if _, err := p.Ask("session/set_config_option", p.owned(params)); err != nil {
			return fmt.Errorf("configuration: %w", err)
		}
	}
	if c.ModeID != "" {
		if _, err := p.Ask("session/set_mode", p.owned(`,"modeId":`+string(jsonline.Quote(nil, c.ModeID)))); err != nil {
			return fmt.Errorf("mode: %w", err)
		}
	}
	return nil
}

// BeginPrompt sends a prompt and returns its id.
func (p *Process) BeginPrompt(text string) string {
	p.t.Helper()
	return p.Begin("session/prompt", p.owned(`,"prompt":[{"type":"text","text":`+string(jsonline.Quote(nil, text))+`}]`))
}

// Prompt sends a prompt and returns why it ended and what the answer was.
func (p *Process) Prompt(text string) (stop, answer string, err error) {
	p.t.Helper()
	p.Text.Reset()
	reply, err := p.Reply(p.BeginPrompt(text))
	return reply.Get("stopReason").Str, p.Text.String(), err
}

// Until reads until the answer so far holds text.
func (p *Process) Until(text string) error {
	p.t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(p.Text.String(), text) {
		select {
		case <-timeout:
			p.t.Fatal("the answer does not come")
		case line, ok := <-p.lines:
			if !ok {
				return ErrEnded
			}
			if _, err := p.take(line, ""); err != nil {
				return err
			}
		}
	}
	return nil
}
