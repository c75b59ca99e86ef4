package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
)

// show prints what a run says while it is under way. It is safe for concurrent
// use.
type show struct {
	a *app
	p *prepared

	mu       sync.Mutex
	streams  map[string]*engine.Stderr // by invocation; guarded by mu
	lines    map[string]*lineWriter    // guarded by mu
	talks    map[string]*talk          // native conversations, by label; guarded by mu
	found    []project.Diagnostic      // guarded by mu
	progress *progress
}

func newShow(a *app, p *prepared) *show {
	s := &show{a: a, p: p, streams: map[string]*engine.Stderr{}, lines: map[string]*lineWriter{}, talks: map[string]*talk{}, found: []project.Diagnostic{}}
	s.progress = startProgress(a, p.o.target, p.deadline)
	return s
}

// maxFound bounds the diagnostics of one run.
const maxFound = 64

func (s *show) stderr(label string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := s.streams[label]
	if stream == nil {
		w := &lineWriter{emit: func(line string) { s.progress.above(escape(label) + " | " + line) }}
		s.lines[label] = w
		stream = &engine.Stderr{Text: w, Each: func(d engine.Diagnostic) { s.diagnostic(d) }}
		s.streams[label] = stream
	}
	stream.Write(b)
}

// diagnostic takes what the engine had to say. Its codes are its own; a record
// has those of failures.
func (s *show) diagnostic(d engine.Diagnostic) {
	code, ok := engineCodes[d.Code]
	if !ok || len(s.found) >= maxFound {
		return
	}
	s.found = append(s.found, project.Diagnostic{Code: code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column, Hint: d.Hint})
}

// engineCodes are the codes under which the engine's diagnostics are recorded.
// What an author threw is on standard error and not in the record.
var engineCodes = map[string]string{
	engine.CodeModuleRefused: codeUnavailable,
	engine.CodeSyntax:        string(fault.ExecutionFailed),
	engine.CodeMemory:        string(fault.ResourceExhausted),
	engine.CodeStack:         string(fault.ResourceExhausted),
	engine.CodeProtocol:      string(fault.ProtocolError),
	engine.CodeEngine:        codeInternal,
}

func (s *show) diagnostics() []project.Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// item prints what came on a received channel.
func (s *show) item(name string, i channel.Item, failure *fault.Error) {
	r := record{"channel": name}
	switch {
	case failure != nil:
		r["type"], r["code"] = "end", string(failure.Code)
	case i.End:
		r["type"], r["sequence"] = "end", i.Sequence
	default:
		r["type"], r["sequence"], r["value"] = "data", i.Sequence, jsontext.Value(i.Value)
	}
	if b, err := r.encode(); err == nil {
		s.a.out.line(b)
	}
}

func (s *show) end() {
	s.mu.Lock()
	for label, stream := range s.streams {
		stream.Close()
		s.lines[label].flush()
	}
	s.mu.Unlock()
	s.progress.end()
}

// lineWriter gives text line by line, escaped. A line that is too long is broken.
type lineWriter struct {
	emit func(line string)
	held []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		take := min(len(part), maxShown-len(w.held))
		w.held = append(w.held, part[:take]...)
		switch {
		case take < len(part):
			w.flush()
			b = b[take:]
		case end >= 0:
			w.line()
			b = b[end+1:]
		default:
			b = nil
		}
	}
	return n, nil
}

func (w *lineWriter) line() {
	w.emit(escape(strings.TrimSuffix(string(w.held), "\r")))
	w.held = w.held[:0]
}

// flush gives away an unfinished line.
func (w *lineWriter) flush() {
	if len(w.held) > 0 {
		w.line()
	}
}

// progress shows on a terminal how a long run is getting on: one line that is
// written over, below everything else.
type progress struct {
	a        *app
	target   string
	deadline time.Time
	stop     chan struct{}
	stopped  chan struct{}

	live  bool // somebody watches
	mu    sync.Mutex
	shown bool   // guarded by mu
	phase string // of what takes the time; empty: nothing in particular; guarded by mu
}

func startProgress(a *app, target string, deadline time.Time) *progress {
	p := &progress{a: a, target: target, deadline: deadline, stop: make(chan struct{}), stopped: make(chan struct{})}
	if !isTerminal(a.stderr) {
		close(p.stopped)
		return p
	}
	p.live = true
	go func() {
		defer close(p.stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				p.clear()
				return
			case <-tick.C:
				p.draw()
			}
		}
	}()
	return p
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	phase := "running"
	if p.phase != "" {
		phase = p.phase
	}
	if p.a.interrupted.Load() {
		phase = "stopping"
	}
	line := fmt.Sprintf("%s %s, %s elapsed, %s left", escape(p.target), phase, seconds(now.Sub(p.a.started)), seconds(time.Until(p.deadline)))
	if width := p.a.errStyle.width; width > 1 && len(line) >= width {
		line = line[:width-1]
	}
	fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", p.a.errStyle.paint(dim, p.a.errStyle.narrow(line)))
	p.shown = true
}

// doing says what the run is about now.
func (p *progress) doing(phase string) {
	p.mu.Lock()
	p.phase = phase
	p.mu.Unlock()
	select {
	case <-p.stop:
	default:
		p.draw()
	}
}

func seconds(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// above writes a line where the progress line is, which goes.
func (p *progress) above(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	fmt.Fprintf(p.a.stderr, "%s\n", p.a.errStyle.narrow(line))
}

func (p *progress) wipe() {
	if p.shown {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

func (p *progress) end() {
	close(p.stop)
	<-p.stopped
}

// list is at most n of names, for a person.
func list(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ")
}

// onlyText is standard error without what the engine had to say.
func onlyText(b []byte) []byte {
	var text bytes.Buffer
	s := &engine.Stderr{Text: &text, Each: func(engine.Diagnostic) {}}
	s.Write(b)
	s.Close()
	return text.Bytes()
}

func lockDrifted(dir string, c *review.Content) bool { return review.LockDrifted(dir, c) }
