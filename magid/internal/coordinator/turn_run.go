package coordinator

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/wirev2"
)

// acceptText takes a piece of assistant text that fits the turn's budget: from
// here on snapshots show it, and the controller there is now gets it as an event.
// A claim therefore splits the text exactly (wire-v2 4: Snapshot).
func (k *core) acceptText(t *turn, text string) {
	if t.phase != running {
		return
	}
	t.text.WriteString(text)
	if s := t.session; s.holder != nil {
		k.do(notifyText{s.holder, k.event(s, wirev2.EventTurnText, t.operation.id), s.grant, t.id, text})
	}
}

// toolPhase reports how far a tool call has come.
func (k *core) toolPhase(t *turn, call wirev2.ID, name string, phase wirev2.ToolPhase) {
	k.emit(t.session, wirev2.EventTurnTool, t.operation.id, wirev2.TurnToolEvent{
		TurnID: t.id, CallID: call, Name: name, Phase: phase,
	})
}

// admitTerminal decides how the turn ends and gives its record: nil where the
// journal cannot take one any more. Once stopping was promised the turn is
// cancelled, and once this has decided a stop changes nothing. failure is nil for
// a turn that came to its end.
func (k *core) admitTerminal(t *turn, failure *wirev2.TurnError, usage *wirev2.Usage) *wirev2.TerminalRecord {
	terminal := &wirev2.Terminal{
		TurnID:      t.id,
		OperationID: t.operation.id,
		Status:      wirev2.TerminalCompleted,
		Text:        t.text.String(),
		Usage:       usage,
	}
	t.phase, t.terminal = closing, terminal
	switch {
	case failure != nil && failure.Code == wirev2.TurnJournalFailed:
		return nil
	case t.stop:
		terminal.Status = wirev2.TerminalCancelled
	case failure != nil:
		terminal.Status = wirev2.TerminalFailed
		terminal.Error = &wirev2.TurnError{Code: failure.Code, Message: oneLine(failure.Message, maxErrorBytes)}
	}
	return &wirev2.TerminalRecord{
		TurnID:      terminal.TurnID,
		OperationID: terminal.OperationID,
		Status:      terminal.Status,
		Text:        terminal.Text,
		Error:       terminal.Error,
		Usage:       terminal.Usage,
	}
}

// turnEnded comes from the turn's goroutine when the terminal is durable, or
// could not be made so.
func (k *core) turnEnded(t *turn, err error) {
	s := t.session
	if err != nil {
		// Said even of a stopped turn: a cancelled terminal would claim to be durable.
		s.broken = true
		t.terminal.Status = wirev2.TerminalFailed
		t.terminal.Error = journalFailed()
	}
	k.leaveTurn(t, ended)
	s.last = t
	o := t.operation
	k.complete(o, t.outcome)
	if s.holder != nil {
		k.emit(s, wirev2.EventTurnTerminal, o.id, t.terminalView(s.holder.selected))
	}
}

func journalFailed() *wirev2.TurnError {
	return &wirev2.TurnError{
		Code:    wirev2.TurnJournalFailed,
		Message: "the session's journal could not be written; the turn may look otherwise after it is opened again",
	}
}

// turnCrashed ends a turn whose goroutine panicked outside its worker.
func (k *core) turnCrashed(t *turn) {
	switch t.phase {
	case preparing:
		k.dropTurn(t, &wirev2.Error{Code: wirev2.CodeInternal, Message: errPanic.Error()})
	case admitted:
		k.userRecorded(t, errPanic)
	case running:
		k.admitTerminal(t, &wirev2.TurnError{Code: wirev2.TurnInternal, Message: errPanic.Error()}, nil)
		k.turnEnded(t, errPanic)
	case closing:
		k.turnEnded(t, errPanic)
	case ended, dropped:
	}
}

// oneLine makes a text fit for a person on one line of at most so many bytes.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
