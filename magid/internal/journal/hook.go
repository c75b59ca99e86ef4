package journal

import (
	"errors"
	"fmt"
	"os"
)

// Step is one step whose loss matters: each is a system call, and together they are all by which a store changes what a
// restart will find.
type Step string

// The steps, in the order in which a session meets them.
const (
	StepSyncSessions Step = "sync the sessions folder"
	StepMakeFolder   Step = "make a session folder"
	StepMakeJournal  Step = "make a journal"
	StepWrite        Step = "write records"
	StepSync         Step = "sync a journal"
	StepSyncFolder   Step = "sync a session folder"
	StepRename       Step = "publish a session"
	StepTruncate     Step = "cut a journal"
	StepMark         Step = "mark a waiting call"
	StepUnmark       Step = "take a mark back"
)

// Hook is called before each step; an error it returns is the step's. It is for tests of what happens when a disk fails
// or a process dies. Production has none.
type Hook func(Step) error

// ShortWrite is what a Hook returns at StepWrite to have only so many bytes written before the write fails.
type ShortWrite int

func (n ShortWrite) Error() string { return fmt.Sprintf("only %d bytes written", int(n)) }

func (s *Store) before(step Step) error {
	if s.hook == nil {
		return nil
	}
	if err := s.hook(step); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// errUnsynced is what a hook of this package's tests returns to leave a sync out, where a million journals are tried and
// none has to outlive the machine.
var errUnsynced = errors.New("unsynced")

func (s *Store) sync(step Step, f *os.File) error {
	if err := s.before(step); errors.Is(err, errUnsynced) {
		return nil
	} else if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("%s: %w", step, cause(err))
	}
	return nil
}

func (s *Store) truncate(f *os.File, size int64) error {
	if err := s.before(StepTruncate); err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("%s: %w", StepTruncate, cause(err))
	}
	return nil
}

// write is one write call: a second one for the rest of a short write would not be the same as one that was whole.
func (s *Store) write(f *os.File, b []byte) error {
	if err := s.before(StepWrite); err != nil {
		if n, ok := shortWrite(err); ok {
			_, _ = f.Write(b[:min(n, len(b))])
		}
		return err
	}
	if _, err := f.Write(b); err != nil {
		return fmt.Errorf("%s: %w", StepWrite, cause(err))
	}
	return nil
}

func shortWrite(err error) (int, bool) {
	var n ShortWrite
	ok := errors.As(err, &n)
	return int(n), ok
}
