package engine

import (
	"bytes"
	"io"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// Diagnostic is one thing that the engine has to tell the host.
type Diagnostic struct {
	Code    string `json:"code"`            // closed; see the constants
	Message string `json:"message"`         // one line for a person
	Path    string `json:"path,omitzero"`   // inside the package or project; empty: none
	Line    int    `json:"line,omitzero"`   // from 1; 0: none
	Column  int    `json:"column,omitzero"` // from 1, in Unicode scalars; 0: none
	Hint    string `json:"hint,omitzero"`   // what to do about it; empty: none
}

// Codes of diagnostics.
const (
	CodeModuleRefused = "MODULE_REFUSED"     // a specifier or a file that cannot be loaded
	CodeSyntax        = "SYNTAX_ERROR"       // a file that is no TypeScript or JavaScript
	CodeMemory        = "LIMIT_MEMORY"       // the heap of the realm is full
	CodeStack         = "LIMIT_STACK"        // calls went too deep
	CodeUncaught      = "UNCAUGHT_EXCEPTION" // what the author threw and nobody caught
	CodeProtocol      = "PROTOCOL_ERROR"     // the host broke Run/0, as the component sees it
	CodeEngine        = "ENGINE_FAILED"      // the engine could not be set up
)

const (
	recordStart = 0x1e
	// maxDiagnosticBytes bounds one line; a longer one is text.
	maxDiagnosticBytes = 16 << 10
)

// Line is the wire form of d: RS, JSON, LF.
func (d Diagnostic) line() []byte {
	b, err := json0.Marshal(d)
	if err != nil || len(b) > maxDiagnosticBytes {
		b, _ = json0.Marshal(Diagnostic{Code: d.Code, Message: "the message cannot be shown"})
	}
	return append(append([]byte{recordStart}, b...), '\n')
}

// overflow begins the last words of a process whose parser ran out of stack, which
// nothing in it can catch. What follows is of use to nobody but the engine's
// authors.
const overflow = "runtime: goroutine stack exceeds "

// Stderr takes what a Flow process writes to standard error apart. It is an
// [io.Writer] for one goroutine; [Stderr.Close] ends it. The trace of a parser that
// ran out of stack becomes a diagnostic; a Flow that writes the first line of one
// itself ends its own standard error with it.
type Stderr struct {
	Text io.Writer        // gets everything that is no diagnostic; required
	Each func(Diagnostic) // gets each diagnostic; required

	held   []byte // an unfinished line that began with RS
	inside bool
	middle bool // of a line of text

	begun string // of a line that may be overflow
	over  bool   // it was
}

// Write never fails but for Text.
func (s *Stderr) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !s.over {
		if !s.inside && !s.middle && s.begun == "" && p[0] == recordStart {
			s.inside = true
			p = p[1:]
			continue
		}
		if !s.inside && !s.middle {
			more := min(len(overflow)-len(s.begun), len(p))
			switch begun := s.begun + string(p[:more]); {
			case begun == overflow:
				s.over, s.begun = true, ""
				s.Each(Diagnostic{Code: CodeStack, Message: "a file is nested more deeply than the parser can follow"})
				return n, nil
			case overflow[:len(begun)] == begun:
				s.begun, p = begun, p[more:]
				continue
			case s.begun != "":
				if err := s.flush(); err != nil {
					return n, err
				}
			}
		}
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end+1]
		}
		p = p[len(part):]
		if !s.inside {
			s.middle = end < 0
			if _, err := s.Text.Write(part); err != nil {
				return n, err
			}
			continue
		}
		s.held = append(s.held, part...)
		if end >= 0 || len(s.held) > maxDiagnosticBytes {
			if err := s.finish(); err != nil {
				return n, err
			}
			s.middle = end < 0
		}
	}
	return n, nil
}

// Close gives away what is unfinished.
func (s *Stderr) Close() error {
	if s.inside {
		return s.finish()
	}
	return s.flush()
}

// flush writes the beginning of a line that turned out to be text.
func (s *Stderr) flush() error {
	if s.begun == "" {
		return nil
	}
	begun := s.begun
	s.begun, s.middle = "", true
	_, err := io.WriteString(s.Text, begun)
	return err
}

func (s *Stderr) finish() error {
	held := s.held
	s.held, s.inside = nil, false
	var d Diagnostic
	if line, ok := bytes.CutSuffix(held, []byte("\n")); ok && json0.Decode(line, &d) == nil && d.Code != "" {
		s.Each(d)
		return nil
	}
	_, err := s.Text.Write(held)
	return err
}
