package acp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// scope is a scope of pipes.
type scope struct {
	in, out, err net.Conn
	ends         []io.Closer
	ended, told  chan struct{}
	frame        *launch.Frame
	greet        bool

	mu         sync.Mutex
	once       sync.Once
	terminated int
	killed     bool
	closed     int
	code       int    // of the adapter
	limit      string // that ended the scope
	broken     string // of the scope
	evidence   acp.Evidence
	slow       time.Duration // what the fence takes
	unfenced   error
	unclosed   error
	order      []string
}

func (s *scope) Input() io.WriteCloser  { return s.in }
func (s *scope) Output() io.Reader      { return s.out }
func (s *scope) Errors() io.Reader      { return s.err }
func (s *scope) Ended() <-chan struct{} { return s.ended }

func (s *scope) note(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(s.order, step)
}

func (s *scope) Terminate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminated++; s.terminated == 1 {
		close(s.told)
	}
}

func (s *scope) dies() {
	s.once.Do(func() {
		for _, c := range s.ends {
			c.Close()
		}
		close(s.ended)
	})
}

func (s *scope) Kill() {
	s.mu.Lock()
	select {
	case <-s.ended:
	default:
		s.killed, s.code = true, -1
	}
	s.mu.Unlock()
	s.dies()
}

func (s *scope) Fence() (acp.Exit, error) {
	s.Kill()
	s.note("fence")
	time.Sleep(s.slow)
	s.out.SetReadDeadline(time.Unix(1, 0))
	s.err.SetReadDeadline(time.Unix(1, 0))
	return acp.Exit{Code: s.code, Limit: s.limit, Broken: s.broken}, s.unfenced
}

func (s *scope) Evidence() acp.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence
}

func (s *scope) Close() error {
	s.note("close")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	s.in.Close()
	s.out.Close()
	s.err.Close()
	return s.unclosed
}

func (s *scope) isClosed() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closed == 1 }

// peer is the far side of a scope.
type peer struct {
	testing.TB
	s        *scope
	conn     net.Conn
	in       *bufio.Reader
	out, err net.Conn
	got      []string // every line of the host
}

// line is the next line of the host; "" is the end.
func (p *peer) line() string {
	b, err := p.in.ReadBytes('\n')
	if err != nil {
		return ""
	}
	line := string(bytes.TrimSuffix(b, []byte("\n")))
	p.s.mu.Lock()
	p.got = append(p.got, line)
	p.s.order = append(p.s.order, method(line))
	p.s.mu.Unlock()
	return line
}

func (p *peer) say(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}

// exit reports the client's end by itself, and is its last word.
func (p *peer) exit(code int) { p.report(acp.Evidence{Seen: true, Code: &code}) }

func (p *peer) report(e acp.Evidence) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	sessions := p.s.evidence.Sessions
	p.s.evidence = e
	if e.Sessions == nil {
		p.s.evidence.Sessions = sessions
	}
}

func field(line, name string) string {
	v := jsontext.Value(line)
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return ""
	}
	for d.PeekKind() == '"' {
		k, _ := d.ReadToken()
		key := k.String()
		value, err := d.ReadValue()
		if err != nil {
			return ""
		}
		if key == name {
			return strings.Trim(string(value), `"`)
		}
	}
	return ""
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func method(line string) string { return field(line, "method") }

func (p *peer) answer(line, result string) error {
	return p.say(`{"jsonrpc":"2.0","id":%s,%s}`, field(line, "id"), result)
}

func (p *peer) text(text string) error {
	return p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`, native, text)
}

const settles = `"result":{"stopReason":"end_turn"}`

// common answers what every peer answers in the same way.
func (p *peer) common(line string) bool {
	switch method(line) {
	case "initialize":
		p.answer(line, offered)
	case "session/new":
		p.answer(line, `"result":`+session)
	case "session/resume", "session/set_mode", "session/close":
		p.answer(line, `"result":{}`)
	case "session/set_config_option":
		p.answer(line, `"result":{"configOptions":[{"id":"model","currentValue":"m"}]}`)
	default:
		return false
	}
	return true
}

// agent is a well-behaved peer: it repeats what it is told and ends by itself.
func agent(p *peer) { serve(p, func(line string) { p.text("said: hello"); p.answer(line, settles) }) }

// serve carries a conversation in which prompts are answered by turn.
func serve(p *peer, turn func(line string)) {
	for {
		line := p.line()
		switch {
		case line == "":
			p.exit(0)
			return
		case p.common(line):
		case method(line) == "session/prompt":
			turn(line)
		}
	}
}

var errBoom = errors.New("boom: sk-canary at /home/somebody/secret")

// silent is a peer that never says a word.
func silent(p *peer) {
	for p.line() != "" {
	}
	<-p.s.ended
}

// counter counts what is written through it.
type counter struct {
	net.Conn
	n int
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.Conn.Write(b)
}
