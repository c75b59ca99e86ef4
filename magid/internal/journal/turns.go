package journal

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Turn is one turn as a conversation.
type Turn struct {
	User     *wirev2.UserRecord
	Replies  []Reply
	Terminal *wirev2.TerminalRecord // nil while the turn is active
}

// Reply is one provider reply of a turn with its calls in the model's order. A call that the reply listed and that was
// never recorded, because the daemon died in between, is not there: nobody ran it and nobody was told of it.
type Reply struct {
	Text  string
	Calls []*Call
}

// Call is a call and its result; Result is nil while the call is open.
type Call struct {
	Call   *wirev2.ToolCallRecord
	Result *wirev2.ToolResultRecord
}

// Text joins the texts of the replies as the terminal shows them: where a reply after tool calls brings text and text
// exists, "\n\n" stands between. (wire-v2 4: Events)
func (t Turn) Text() string {
	var b strings.Builder
	called := false
	for _, r := range t.Replies {
		if called && r.Text != "" && b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if r.Text != "" {
			called = false
		}
		b.WriteString(r.Text)
		called = called || len(r.Calls) > 0
	}
	return b.String()
}

// Turns returns how many turns the session has had, an active one included.
func (s *Session) Turns() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.turns)
}

// Backward reads the turns from the newest to the oldest, one in memory at a time. It shows what was durable when it
// began.
func (s *Session) Backward() iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		s.mu.RLock()
		// Entries of turns never change, so the slice may be read without the lock while Append adds to it.
		starts, end := s.turns, s.size
		s.mu.RUnlock()
		for i := len(starts) - 1; i >= 0; i-- {
			t, err := s.readTurn(starts[i], end)
			if !yield(t, err) || err != nil {
				return
			}
			end = starts[i]
		}
	}
}

func (s *Session) lastTurn() (Turn, error) {
	for t, err := range s.Backward() {
		return t, err
	}
	return Turn{}, errors.New("the session has no turn")
}

func (s *Session) readTurn(from, to int64) (Turn, error) {
	var t Turn
	calls := map[wirev2.ID]*Call{}
	l := readLines(s.file, from, to)
	for {
		rec, err := nextRecord(l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Turn{}, err
		}
		switch r := rec.(type) {
		case *wirev2.UserRecord:
			t.User = r
		case *wirev2.AssistantRecord:
			t.Replies = append(t.Replies, Reply{Text: r.Text})
		case *wirev2.ToolCallRecord:
			if len(t.Replies) == 0 {
				return Turn{}, errChanged
			}
			reply := &t.Replies[len(t.Replies)-1]
			c := &Call{Call: r}
			reply.Calls = append(reply.Calls, c)
			calls[r.CallID] = c
		case *wirev2.ToolResultRecord:
			c, ok := calls[r.CallID]
			if !ok {
				return Turn{}, errChanged
			}
			c.Result = r
		case *wirev2.TerminalRecord:
			t.Terminal = r
		}
	}
	if t.User == nil {
		return Turn{}, errChanged
	}
	return t, nil
}
