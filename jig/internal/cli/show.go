package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

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
		w := &lineWriter{emit: func(line string) { s.progress.above(s.labelled(label, line)) }}
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
	b, err := r.encode()
	if err != nil {
		return
	}
	if s.a.out.seen {
		s.progress.aside(func() { s.a.out.line(b) })
		return
	}
	s.a.out.line(b)
}

// labelled is a line that somebody wrote, and who.
func (s *show) labelled(label, line string) string {
	return s.a.errStyle.wrap(escape(label)+" | "+line, 2)
}

func (s *show) end() {
	s.mu.Lock()
	for label, stream := range s.streams {
		stream.Close()
		s.lines[label].flush()
	}
	for _, c := range s.talks {
		c.flush() // of a conversation that was cut off
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
	line := w.open()
	w.held = w.held[:0]
	w.emit(line)
}

// open is the unfinished line.
func (w *lineWriter) open() string { return escapeText(strings.TrimSuffix(string(w.held), "\r")) }

// flush gives away an unfinished line.
func (w *lineWriter) flush() {
	if len(w.held) > 0 {
		w.line()
	}
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
