package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Create makes a session and returns it open, with its session record durable and its writer lease held.
//
// The folder is made under a name of its own and renamed when its journal is whole, so that no reader and no crash ever
// shows a session without its first record.
func (s *Store) Create(rec *wirev2.SessionRecord) (*Session, error) {
	if s.readOnly {
		return nil, ErrReadOnly
	}
	if err := check(rec); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrRefused, err)
	}
	id := rec.SessionID
	// Held until the new name is durable: settle of another daemon leaves unfinished folders alone meanwhile.
	lock, err := s.lockFolder(unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := s.root.Lstat(string(id)); err == nil {
		return nil, errors.New("a session with this id exists")
	}
	name := newPrefix + string(id)
	session, err := s.create(name, rec)
	if err == nil {
		if err = s.before(StepRename); err == nil {
			err = s.root.Rename(name, string(id))
		}
		if err == nil {
			name = string(id)
			err = s.sync(StepSyncSessions, s.folder)
		}
	}
	if err != nil {
		// Nothing was acknowledged, so nothing may stay. What cannot be removed now goes at the next start, or shows as
		// a session without turns where it was already renamed.
		_ = s.root.RemoveAll(name)
		if session != nil {
			_ = session.Close()
		}
		return nil, fmt.Errorf("create a session: %w", cause(err))
	}
	return session, nil
}

// create makes a whole session folder under a name. The session is not nil where its journal exists.
func (s *Store) create(name string, rec *wirev2.SessionRecord) (*Session, error) {
	if err := s.before(StepMakeFolder); err != nil {
		return nil, err
	}
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", StepMakeFolder, cause(err))
	}
	if err := s.root.Chmod(name, 0o700); err != nil { // the umask may have taken bits away
		return nil, fmt.Errorf("%s: %w", StepMakeFolder, cause(err))
	}
	if err := s.before(StepMakeJournal); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(name+"/"+journalName, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", StepMakeJournal, cause(err))
	}
	session := &Session{store: s, id: rec.SessionID, workspace: rec.Workspace, file: f, marked: map[wirev2.ID]struct{}{}}
	if err := f.Chmod(0o600); err != nil {
		return session, fmt.Errorf("%s: %w", StepMakeJournal, cause(err))
	}
	if err := lease(f); err != nil {
		return session, err
	}
	if session.folder, err = s.root.Open(name); err != nil {
		return session, fmt.Errorf("open the session's folder: %w", cause(err))
	}
	if err := session.Append(rec); err != nil {
		return session, err
	}
	return session, s.sync(StepSyncFolder, session.folder)
}

// lease takes the writer lease: an exclusive flock on the journal.
func lease(f *os.File) error {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	if err != nil {
		return fmt.Errorf("lock the journal: %w", err)
	}
	return nil
}
