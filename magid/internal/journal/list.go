package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Summary is what session.list shows of a session.
type Summary struct {
	SessionID wirev2.ID
	Workspace string
	Title     *string
	CreatedAt time.Time    // at of the first record
	UpdatedAt time.Time    // at of the last whole record
	Damage    *DamageError // not nil where the first record cannot be read, or where Open found damage
}

// known is what the store remembers of a journal as long as its size and time stay the same.
type known struct {
	size     int64
	modified time.Time
	summary  Summary
}

// List returns all sessions by creation time, then id, descending (wire-v2 4). It reads the first and the last record of
// a journal that changed since the last List, and of one that did not change nothing. It takes no lock and finds damage
// only in the first record; a damaged session is listed as such, with what could be read, and so is one whose folder or
// file cannot be opened or read.
func (s *Store) List() ([]Summary, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var list []Summary
	for _, name := range names {
		id, err := wirev2.ParseID(name)
		if err != nil {
			continue
		}
		sum, err := s.Summary(id)
		if errors.Is(err, ErrUnknown) {
			continue // removed since
		}
		if err != nil && scarce(err) {
			return nil, err
		}
		if err != nil { // this one is out of order, and the others are not
			sum = Summary{SessionID: id, Damage: &DamageError{id, 1, err.Error()}}
		}
		list = append(list, sum)
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.SessionID, a.SessionID))
	})
	return list, nil
}

// scarce says that an error is the machine's at this moment, and not a journal's.
func scarce(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// Count returns how many sessions there are, damaged ones included, from the names of their folders alone.
func (s *Store) Count() (int, error) {
	names, err := s.names()
	n := 0
	for _, name := range names {
		if wirev2.ID(name).Valid() {
			n++
		}
	}
	return n, err
}

// Summary returns what List says of one session, or ErrUnknown.
func (s *Store) Summary(id wirev2.ID) (Summary, error) {
	if sum, ok := s.unchanged(id); ok {
		return sum, nil
	}
	f, err := s.openJournal(id, os.O_RDONLY)
	var damage *DamageError
	if errors.As(err, &damage) {
		return Summary{SessionID: id, Damage: damage}, nil
	}
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Summary{}, fmt.Errorf("look at the journal: %w", cause(err))
	}
	sum, err := summarize(id, f, info)
	if err != nil {
		return Summary{}, err
	}
	s.remember(id, info, sum)
	return sum, nil
}

// unchanged returns what is remembered of a journal that has neither grown nor been touched since.
func (s *Store) unchanged(id wirev2.ID) (Summary, bool) {
	s.mu.Lock()
	k, ok := s.known[id]
	s.mu.Unlock()
	if !ok {
		return Summary{}, false
	}
	info, err := s.root.Lstat(journalPath(id))
	same := err == nil && info.Mode().IsRegular() && k.size == info.Size() && k.modified.Equal(info.ModTime())
	return k.summary, same
}

func (s *Store) remember(id wirev2.ID, info os.FileInfo, sum Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id] = known{info.Size(), info.ModTime(), sum}
}

// note remembers that Open found damage, and returns err.
func (s *Store) note(id wirev2.ID, err error) error {
	var damage *DamageError
	if !errors.As(err, &damage) {
		return err
	}
	sum, sumErr := s.Summary(id)
	info, statErr := s.root.Stat(journalPath(id))
	if sumErr == nil && statErr == nil {
		sum.Damage = damage
		s.remember(id, info, sum)
	}
	return err
}

func summarize(id wirev2.ID, f *os.File, info os.FileInfo) (Summary, error) {
	modified := info.ModTime().UTC().Truncate(time.Millisecond)
	sum := Summary{SessionID: id, CreatedAt: modified, UpdatedAt: modified}
	scan := scanner{id: id, lines: readLines(f, 0, info.Size())}
	rec, _, err := scan.next()
	if err != nil {
		if !errors.As(err, &sum.Damage) {
			return Summary{}, fmt.Errorf("read the journal: %w", cause(err))
		}
		return sum, nil
	}
	first := rec.(*wirev2.SessionRecord) // the order admits no other first record
	sum.Workspace, sum.Title = first.Workspace, first.Title
	sum.CreatedAt, _ = first.At.Time()
	at, ok, err := lastAt(f, info.Size())
	if err != nil {
		return Summary{}, fmt.Errorf("read the journal: %w", cause(err))
	}
	if ok {
		sum.UpdatedAt = at
	}
	return sum, nil
}

// lastAt reads the at of the last whole line from the journal's end: first the last 4 KiB, then as much as a record and
// a torn one can take. ok is false where no at can be read there.
func lastAt(r io.ReaderAt, size int64) (at time.Time, ok bool, err error) {
	for _, window := range []int64{4096, 2 * (MaxRecordBytes + 1)} {
		from := max(0, size-window)
		tail := make([]byte, size-from)
		if _, err := r.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
			return time.Time{}, false, err
		}
		end := bytes.LastIndexByte(tail, '\n')
		if end < 0 {
			continue
		}
		start := bytes.LastIndexByte(tail[:end], '\n')
		if start < 0 && from > 0 {
			continue
		}
		var head struct {
			At wirev2.Timestamp `json:"at"`
		}
		if json.Unmarshal(tail[start+1:end], &head) != nil {
			return time.Time{}, false, nil
		}
		at, err := head.At.Time()
		return at, err == nil, nil
	}
	return time.Time{}, false, nil
}
