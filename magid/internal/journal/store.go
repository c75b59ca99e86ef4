package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// What a caller may branch on.
var (
	// ErrUnknown says that no session has this id.
	ErrUnknown = errors.New("no such session")
	// ErrLocked says that another daemon, or another Session of this one, holds the session's writer lease.
	ErrLocked = errors.New("another daemon holds the session")
	// ErrPoisoned says that an earlier write failed: close the session and open it again.
	ErrPoisoned = errors.New("an earlier journal write failed")
	// ErrRefused says that a record does not fit the journal and nothing was written.
	ErrRefused = errors.New("record refused by the journal")
	// ErrReadOnly says that the store was opened with OpenReadOnly.
	ErrReadOnly = errors.New("journals are open for reading only")
)

var errChanged = errors.New("the journal was changed by another program")

// DamageError says that a journal does not hold what this package writes. The session is left as it is.
type DamageError struct {
	SessionID wirev2.ID
	Line      int64  // the first bad line, from 1
	Reason    string // one line, without the line's content
}

func (e *DamageError) Error() string { return fmt.Sprintf("journal line %d: %s", e.Line, e.Reason) }

const (
	sessionsFolder = "sessions"
	journalName    = "journal.jsonl"
	newPrefix      = ".new-" // a session folder that Create has not finished
)

// Store is the folder of all sessions. It is safe for concurrent use.
type Store struct {
	root     *os.Root // the sessions folder
	folder   *os.File // the same folder, to sync
	readOnly bool
	hook     Hook

	mu    sync.Mutex
	known map[wirev2.ID]known // what List read of a session and what Open found; guarded by mu
}

// Open opens the state folder, makes what is missing (0700), closes to others what is the daemon's own, and refuses a
// folder that is not the user's alone. Sessions that a crash left half made are removed.
func Open(stateDir string) (*Store, error) { return OpenHooked(stateDir, nil) }

// OpenHooked is Open with a hook that can make every durable step fail.
func OpenHooked(stateDir string, hook Hook) (*Store, error) {
	if err := makeState(stateDir); err != nil {
		return nil, err
	}
	s, err := openSessions(stateDir)
	if err != nil {
		return nil, err
	}
	s.hook = hook
	if err := s.settle(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenReadOnly opens the state folder of a daemon that may or may not run, for List, Summary and Entries. It makes and
// changes nothing; a state folder that does not exist has no sessions.
func OpenReadOnly(stateDir string) (*Store, error) {
	if !filepath.IsAbs(stateDir) {
		return nil, errors.New("the state folder is no absolute path")
	}
	s, err := openSessions(stateDir)
	if errors.Is(err, os.ErrNotExist) {
		return &Store{readOnly: true, known: map[wirev2.ID]known{}}, nil
	}
	if err != nil {
		return nil, err
	}
	s.readOnly = true
	return s, nil
}

func openSessions(stateDir string) (*Store, error) {
	root, err := os.OpenRoot(filepath.Join(stateDir, sessionsFolder))
	if err != nil {
		return nil, fmt.Errorf("open the sessions folder: %w", err)
	}
	folder, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the sessions folder: %w", err), root.Close())
	}
	return &Store{root: root, folder: folder, known: map[wirev2.ID]known{}}, nil
}

// Close gives the folder back. Open sessions stay open.
func (s *Store) Close() error {
	if s.root == nil {
		return nil
	}
	return errors.Join(s.folder.Close(), s.root.Close())
}

// settle makes durable what a crash may have left in the page cache only, and removes sessions that were never
// acknowledged. Another daemon that is just making one holds the shared lock: then they are left for a later start.
func (s *Store) settle() error {
	if err := s.sync(StepSyncSessions, s.folder); err != nil {
		return err
	}
	lock, err := s.lockFolder(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, newPrefix) {
			if err := s.root.RemoveAll(name); err != nil {
				return fmt.Errorf("remove an unfinished session: %w", err)
			}
		}
	}
	return nil
}

// lockFolder locks the sessions folder by a handle of its own, because a lock belongs to the handle; closing it unlocks.
func (s *Store) lockFolder(how int) (*os.File, error) {
	f, err := s.root.Open(".")
	if err == nil {
		if err = flock(f, how); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock the sessions folder: %w", cause(err))
	}
	return f, nil
}

// names lists the sessions folder. It opens its own handle: reading moves a handle's position.
func (s *Store) names() ([]string, error) {
	if s.root == nil {
		return nil, nil
	}
	dir, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("read the sessions folder: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("read the sessions folder: %w", err)
	}
	return names, nil
}

// openJournal opens a session's journal with flag and checks that it is a plain file.
func (s *Store) openJournal(id wirev2.ID, flag int) (*os.File, error) {
	if s.root == nil || !id.Valid() {
		return nil, ErrUnknown
	}
	folder, err := s.root.Lstat(string(id))
	if err == nil && !folder.IsDir() { // a link is not followed, wherever it leads
		return nil, &DamageError{id, 1, "the session's folder is no folder"}
	}
	seen, err := s.root.Lstat(journalPath(id))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := s.root.Lstat(string(id)); err == nil {
			return nil, &DamageError{id, 1, "the journal is missing"}
		}
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("look at the journal: %w", cause(err))
	}
	if !seen.Mode().IsRegular() {
		return nil, &DamageError{id, 1, "the journal is no regular file"}
	}
	f, err := s.root.OpenFile(journalPath(id), flag|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", cause(err))
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = errors.New("the file was replaced meanwhile")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", cause(err)), f.Close())
	}
	return f, nil
}

func journalPath(id wirev2.ID) string { return string(id) + "/" + journalName }

// cause takes the path off a file system error: its text may reach the wire, which shows no path outside a workspace.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// flock takes or gives the lock of an open file description. Two Sessions of one daemon exclude each other as two
// daemons do.
func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := conn.Control(func(fd uintptr) {
		for {
			lockErr = unix.Flock(int(fd), how)
			if !errors.Is(lockErr, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return lockErr
}
