package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	textNotDispatched = "the daemon ended before this call was dispatched"
	textUncertain     = "the daemon ended while this call was open; whether it ran is not known"
	textEnded         = "the daemon ended during the turn"
)

// Open takes the session's writer lease, cuts a torn last line, checks the whole journal and closes a turn that was
// active when the daemon died. Errors: ErrUnknown, ErrLocked, *DamageError, or the file system's.
func (s *Store) Open(id wirev2.ID) (*Session, error) {
	if s.readOnly {
		return nil, ErrReadOnly
	}
	f, err := s.openJournal(id, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, s.note(id, err)
	}
	session := &Session{store: s, id: id, file: f, marked: map[wirev2.ID]struct{}{}}
	if err := session.open(); err != nil {
		return nil, s.note(id, errors.Join(err, session.Close()))
	}
	return session, nil
}

func (s *Session) open() error {
	if err := lease(s.file); err != nil {
		return err
	}
	var err error
	if s.folder, err = s.store.root.Open(string(s.id)); err != nil {
		return fmt.Errorf("open the session's folder: %w", cause(err))
	}
	if err := s.load(); err != nil {
		return err
	}
	// What a process that died had written but not synced is read from the page cache here and is about to be shown as
	// history: it has to be durable first.
	if err := s.store.sync(StepSync, s.file); err != nil {
		return err
	}
	if err := s.readMarks(); err != nil {
		return err
	}
	if err := s.recover(); err != nil {
		return err
	}
	return s.dropMarks()
}

// load checks the journal, fills the indexes and cuts a torn last line.
func (s *Session) load() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("look at the journal: %w", cause(err))
	}
	scan := scanner{id: s.id, lines: readLines(s.file, 0, info.Size())}
	for {
		rec, offset, err := scan.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return readFault(err)
		}
		s.index(rec, offset)
		if r, ok := rec.(*wirev2.SessionRecord); ok {
			s.workspace = r.Workspace
		}
	}
	s.order, s.size = scan.order, scan.lines.next
	if info.Size() == s.size {
		return nil
	}
	return s.store.truncate(s.file, s.size)
}

func readFault(err error) error {
	var damage *DamageError
	if errors.As(err, &damage) {
		return err
	}
	return fmt.Errorf("read the journal: %w", cause(err))
}

// recover closes the turn that was active when the daemon died, as the package documentation says.
func (s *Session) recover() error {
	t := s.order.turn
	if t == nil {
		return nil
	}
	last, err := s.lastTurn()
	if err != nil {
		return err
	}
	var recs []wirev2.Record
	for _, c := range t.openCalls() {
		effects, text := wirev2.EffectsNotDispatched, textNotDispatched
		if _, waiting := s.marked[c.id]; c.dispatched && !waiting {
			effects, text = wirev2.EffectsUncertain, textUncertain
		}
		code := wirev2.ToolCancelled
		recs = append(recs, &wirev2.ToolResultRecord{
			TurnID: t.id, CallID: c.id, Status: wirev2.OutcomeError, Code: &code, Message: &text,
			Synthetic: true, ExternalEffects: effects,
		})
	}
	recs = append(recs, &wirev2.TerminalRecord{
		TurnID: t.id, OperationID: t.operation, Status: wirev2.TerminalFailed, Text: last.Text(),
		Error: &wirev2.TurnError{Code: wirev2.TurnInternal, Message: textEnded},
	})
	if err := s.Append(recs...); err != nil {
		return fmt.Errorf("close the turn that was active: %w", err)
	}
	s.recovered = t.id
	return nil
}

// Recovered says which turn Open had to close; ok is false where none was active.
func (s *Session) Recovered() (turn wirev2.ID, ok bool) { return s.recovered, s.recovered != "" }

// A mark is an empty file beside the journal, named after the call.
const markPrefix = "waiting-"

func (s *Session) readMarks() error {
	// Reading moves a handle's position, so this one is its own.
	dir, err := s.store.root.Open(string(s.id))
	if err != nil {
		return fmt.Errorf("read the session's folder: %w", cause(err))
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return fmt.Errorf("read the session's folder: %w", cause(err))
	}
	for _, name := range names {
		if id, ok := strings.CutPrefix(name, markPrefix); ok && wirev2.ID(id).Valid() {
			s.marked[wirev2.ID(id)] = struct{}{}
		}
	}
	return nil
}

// dropMarks removes the marks of calls that are settled. One that comes back after a crash is of a settled call too, so
// nothing needs to be durable.
func (s *Session) dropMarks() error {
	for id := range s.marked {
		if err := s.removeMark(id); err != nil {
			return err
		}
	}
	return nil
}
