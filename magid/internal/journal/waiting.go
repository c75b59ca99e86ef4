package journal

import (
	"errors"
	"fmt"
	"os"

	"github.com/magi-jig/magi-jig/wirev2"
)

// MarkWaiting notes durably that an application call waits for its executor and has not been dispatched. It is for a
// call that could not be dispatched at once; without a mark a call that a crash leaves open counts as dispatched. An
// error changes only that: the crash would report the call as uncertain.
func (s *Session) MarkWaiting(call wirev2.ID) error {
	s.marks.Lock()
	defer s.marks.Unlock()
	if _, ok := s.marked[call]; ok {
		return nil
	}
	if !call.Valid() {
		return errID
	}
	if err := s.store.before(StepMark); err != nil {
		return err
	}
	f, err := s.store.root.OpenFile(s.markPath(call), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", StepMark, cause(err))
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", StepMark, cause(err))
	}
	s.marked[call] = struct{}{}
	return s.store.sync(StepSyncFolder, s.folder)
}

// MarkDispatching takes a mark back, durably, and has to return nil before the call is dispatched. It costs nothing
// where there is no mark. After an error the call is still marked and must not be dispatched.
func (s *Session) MarkDispatching(call wirev2.ID) error {
	s.marks.Lock()
	defer s.marks.Unlock()
	if _, ok := s.marked[call]; !ok {
		return nil
	}
	if err := s.store.before(StepUnmark); err != nil {
		return err
	}
	if err := s.unlinkMark(call); err != nil {
		return err
	}
	if err := s.store.sync(StepSyncFolder, s.folder); err != nil {
		return err
	}
	delete(s.marked, call)
	return nil
}

// removeMark takes a mark of a settled call away; it need not be durable.
func (s *Session) removeMark(call wirev2.ID) error {
	s.marks.Lock()
	defer s.marks.Unlock()
	if _, ok := s.marked[call]; !ok {
		return nil
	}
	if err := s.unlinkMark(call); err != nil {
		return err
	}
	delete(s.marked, call)
	return nil
}

func (s *Session) unlinkMark(call wirev2.ID) error {
	if err := s.store.root.Remove(s.markPath(call)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", StepUnmark, cause(err))
	}
	return nil
}

func (s *Session) markPath(call wirev2.ID) string {
	return string(s.id) + "/" + markPrefix + string(call)
}
