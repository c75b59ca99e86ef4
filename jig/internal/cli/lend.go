package cli

import (
	"slices"
	"strings"

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
		c.w = &lineWriter{emit: func(line string) { s.progress.ended(e.Label, s.labelled(e.Label, line)) }}
		s.talks[e.Label] = c
	}
	if d := e.Diagnostic; d.Message != "" && !slices.Contains(s.p.warnings, d) {
		s.progress.above(s.a.errStyle.paint(yellow, "warning:") + " " + s.a.errStyle.wrap(escape(d.Message), 9))
		if d.Hint != "" {
			s.progress.above("  " + s.a.errStyle.wrap(escape(d.Hint), 2))
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
		label := escape(e.Label) + " | "
		c.say(e.Text, s.a.errStyle.columns()-1-cells(label))
		if open := c.w.open(); open != "" {
			s.progress.says(e.Label, label+open)
		}
	case e.End:
		c.flush()
		delete(s.talks, e.Label)
		s.progress.doing("", 0, 0)
	case e.Phase != "":
		c.flush()
		c.turn, c.of = max(c.turn, e.Turn), e.Of
		s.progress.doing(e.Phase, c.turn, c.of)
	}
}

// talk is one native conversation on the screen.
type talk struct {
	w        *lineWriter
	columns  int // that its unfinished line takes
	turn, of int
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
		columns := cells(escapeText(strings.TrimSuffix(word, "\n")))
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
