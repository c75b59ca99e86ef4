package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/retain"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// lend makes the resource that acp grants are of.
func (a *app) lend(p *prepared, s *show, scopes *acp.Scopes) (*acp.Resource, error) {
	identity := ""
	err := p.d.View(func(t *state.Tx) error {
		identity = t.Project()
		return t.Own()
	})
	if err != nil {
		return nil, err
	}
	return acp.New(acp.Options{Starter: scopes, Prepare: p.natives.Prepare, Sessions: retain.New(p.d, p.run), Project: identity, Watch: s.native})
}

// native shows what a native conversation is about.
func (s *show) native(e acp.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.talks[e.Label]
	if c == nil {
		c = &talk{}
		c.w = &lineWriter{emit: func(line string) { s.progress.above(escape(e.Label) + " | " + line) }}
		s.talks[e.Label] = c
	}
	if d := e.Diagnostic; d.Message != "" && !slices.Contains(s.p.warnings, d) {
		s.progress.above(s.a.errStyle.paint(yellow, "warning:") + " " + escape(d.Message))
		if d.Hint != "" {
			s.progress.above("  " + escape(d.Hint))
		}
		if len(s.found) < maxFound {
			s.found = append(s.found, d)
		}
	}
	if !s.progress.live {
		return // what an assistant says is for whoever watches
	}
	switch {
	case e.Text != "":
		c.say(e.Text, s.a.errStyle.width-utf8.RuneCountInString(e.Label)-len(" | "))
	case e.End:
		c.flush()
		delete(s.talks, e.Label)
		s.progress.doing("")
	case e.Phase != "":
		c.flush()
		c.turn, c.of = max(c.turn, e.Turn), e.Of
		s.progress.doing(c.phase(e.Phase))
	}
}

// talk is one native conversation on the screen.
type talk struct {
	w        *lineWriter
	columns  int // that its unfinished line takes
	turn, of int
}

func (c *talk) phase(name string) string {
	if c.turn == 0 {
		return name
	}
	return fmt.Sprintf("%s, turn %d of %d", name, c.turn, c.of)
}

// say shows text as it comes: a line when it is whole, and a long one piece by
// piece, between words.
func (c *talk) say(text string, width int) {
	for text != "" {
		n := strings.IndexAny(text, " \n") + 1
		if n == 0 {
			n = len(text)
		}
		word := text[:n]
		columns := utf8.RuneCountInString(escape(strings.TrimSuffix(word, "\n")))
		if width > 20 && c.columns > 0 && c.columns+columns > width {
			c.flush()
		}
		c.w.Write([]byte(word))
		c.columns += columns
		if strings.HasSuffix(word, "\n") {
			c.columns = 0
		}
		text = text[n:]
	}
}

func (c *talk) flush() {
	c.w.flush()
	c.columns = 0
}

// fromConversation says whether a diagnostic was shown when it came.
func fromConversation(d project.Diagnostic) bool {
	return d.Code == acp.CodeConversation || d.Code == acp.CodeProvider
}
