package journal

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// MaxRecordBytes is the longest line without its LF, so that every record fits a session.history reply alone.
const MaxRecordBytes = 49152 - 64

// What a caller may branch on.
var (
	// ErrUnknown says that no session has this id.
	ErrUnknown = errors.New("no such session")
	// ErrLocked says that another daemon, or another Session of this one, holds the session's writer lease.
	ErrLocked = errors.New("another daemon holds the session")
	// ErrPoisoned says that an earlier write failed: close the session and open it again.
	ErrPoisoned = errors.New("an earlier journal write failed")
	// ErrTooLarge says that a record would not fit MaxRecordBytes; nothing was written.
	ErrTooLarge = errors.New("record too large for the journal")
)

var errNotYet = errors.New("journal: not yet")

// DamageError says that a journal does not hold what this package writes. The session is left as it is.
type DamageError struct {
	SessionID wirev2.ID
	Line      int    // the first bad line, from 1
	Reason    string // one line, without the line's content
}

func (e *DamageError) Error() string { return fmt.Sprintf("journal line %d: %s", e.Line, e.Reason) }

// StateDir says where the daemon keeps its state: $MAGI_STATE, else $XDG_STATE_HOME/magi, else
// $HOME/.local/state/magi. (wire-v2 6)
func StateDir(getenv func(string) string) (string, error) { return "", errNotYet }

// Store is the folder of all sessions. It is safe for concurrent use.
type Store struct{}

// Open opens the state folder, makes what is missing (0700) and refuses one that is not the user's alone.
func Open(stateDir string) (*Store, error) { return nil, errNotYet }

// Close gives the folder back. Open sessions stay open.
func (s *Store) Close() error { return nil }

// Create makes a session and returns it open, with its session record durable and its writer lease held.
func (s *Store) Create(rec *wirev2.SessionRecord) (*Session, error) { return nil, errNotYet }

// Open takes the session's writer lease, cuts a torn last line, checks the whole journal and closes a turn that was
// active when the daemon died. Errors: ErrUnknown, ErrLocked, *DamageError, or the file system's.
func (s *Store) Open(id wirev2.ID) (*Session, error) { return nil, errNotYet }

// Summary is what session.list shows of a session.
type Summary struct {
	SessionID wirev2.ID
	Workspace string
	Title     *string
	CreatedAt time.Time    // at of the first record
	UpdatedAt time.Time    // at of the last whole record
	Damage    *DamageError // not nil where the first or last record cannot be read, or an Open found damage
}

// List returns all sessions by creation time, then id, descending. It reads the first and last record of a journal that
// changed since the last List, and nothing of one that did not. It takes no lock.
func (s *Store) List() ([]Summary, error) { return nil, errNotYet }

// Summary returns what List says of one session, or ErrUnknown.
func (s *Store) Summary(id wirev2.ID) (Summary, error) { return Summary{}, errNotYet }

// Entries reads a journal from its first record to its last whole one, without the writer lease, one record in memory
// at a time. A bad line ends it with a *DamageError.
func (s *Store) Entries(id wirev2.ID) iter.Seq2[wirev2.Record, error] {
	return func(yield func(wirev2.Record, error) bool) { yield(nil, errNotYet) }
}

// View selects what of a journal session.history shows.
type View struct {
	After    int64 // records with a greater n
	Limit    int   // at most so many records; 0 means 200
	MaxBytes int   // at most so many encoded bytes, the commas between records included; 0 means MaxRecordBytes
	Ordinary bool  // leave out application_manifest and tool_contract records
}

// Page is a run of records as session.history shows them.
type Page struct {
	Records   []jsontext.Value // whole, in order, as the daemon encodes them; at least one where there is one
	NextAfter int64            // the n of the last record; 0 is null: nothing that the view shows follows
}

// Session is one session whose writer lease is held. It is safe for concurrent use.
type Session struct{}

// ID returns the session's id.
func (s *Session) ID() wirev2.ID { return "" }

// Workspace returns the session's workspace as sent.
func (s *Session) Workspace() string { return "" }

// Append gives the records their heads (n, at, type) and writes them with one write and one fsync: when it returns nil they are
// durable, when it returns an error no reader of this process has seen one of them. A record that does not fit the
// journal's order, or is too large, is refused and nothing is written; after any other error the session is poisoned.
func (s *Session) Append(recs ...wirev2.Record) error { return errNotYet }

// Read returns a page of durable records.
func (s *Session) Read(v View) (Page, error) { return Page{}, errNotYet }

// Turn is one turn as a conversation.
type Turn struct {
	User     *wirev2.UserRecord
	Replies  []Reply
	Terminal *wirev2.TerminalRecord // nil while the turn is active
}

// Reply is one provider reply of a turn with its calls in the model's order.
type Reply struct {
	Text  string
	Calls []Call
}

// Call is a call and its result; Result is nil while the call is open.
type Call struct {
	Call   *wirev2.ToolCallRecord
	Result *wirev2.ToolResultRecord
}

// Turns returns how many turns the session has had, an active one included.
func (s *Session) Turns() int { return 0 }

// Backward reads the turns from the newest to the oldest, one in memory at a time.
func (s *Session) Backward() iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) { yield(Turn{}, errNotYet) }
}

// MarkWaiting notes durably that an application call waits for its executor and has not been dispatched. It is for a
// call that could not be dispatched at once; without a mark a call that a crash leaves open counts as dispatched.
func (s *Session) MarkWaiting(call wirev2.ID) error { return errNotYet }

// MarkDispatching takes a mark back, durably, and has to return nil before the call is dispatched. It costs nothing
// where there is no mark.
func (s *Session) MarkDispatching(call wirev2.ID) error { return errNotYet }

// Recovered says which turn Open had to close; ok is false where none was active.
func (s *Session) Recovered() (turn wirev2.ID, ok bool) { return "", false }

// Close gives the writer lease back.
func (s *Session) Close() error { return nil }
