package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// stride is how many records lie between two entries of a session's record index.
const stride = 64

// Session is one session whose writer lease is held. It is safe for concurrent use.
type Session struct {
	store     *Store
	id        wirev2.ID
	workspace string
	recovered wirev2.ID
	file      *os.File
	folder    *os.File

	writing  sync.Mutex // held over a write, so that readers need not wait for a disk
	order    order      // guarded by writing
	poisoned bool       // guarded by writing
	closed   bool       // guarded by writing

	mu    sync.RWMutex
	n     int64   // the last durable record; guarded by mu
	size  int64   // bytes of the durable records; guarded by mu
	every []int64 // offsets of records 1, 1+stride, 1+2*stride …; guarded by mu
	turns []int64 // offsets of the user records; guarded by mu

	marks  sync.Mutex
	marked map[wirev2.ID]struct{} // guarded by marks
}

// ID returns the session's id.
func (s *Session) ID() wirev2.ID { return s.id }

// Workspace returns the session's workspace as sent.
func (s *Session) Workspace() string { return s.workspace }

// Append gives the records their heads (n, at, type) and writes them with one write and one fsync. When it returns nil
// they are durable. When it returns an error no reader of this store has seen one of them, and they are no part of the
// history, save that a crash before the next Open may leave whole records of a write that failed: they then count, as
// the write of any record does whose acknowledgment was lost.
//
// A record that does not fit the order of a journal, or is too large, is ErrRefused: nothing was written and the session
// goes on. After any other error the session is poisoned: every later Append is ErrPoisoned until the session is closed
// and opened again, which repairs what a write left behind.
func (s *Session) Append(recs ...wirev2.Record) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	switch {
	case s.closed:
		return os.ErrClosed
	case s.poisoned:
		return ErrPoisoned
	case len(recs) == 0:
		return nil
	}
	s.mu.RLock()
	n, size := s.n, s.size
	s.mu.RUnlock()
	next := s.order.clone()
	now := wirev2.NewTimestamp(time.Now())
	var buf []byte
	ends := make([]int64, len(recs))
	for i, rec := range recs {
		*rec.Head() = wirev2.RecordHead{N: n + int64(i) + 1, At: now, Type: rec.RecordType()}
		if err := next.step(rec); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrRefused, rec.RecordType(), err)
		}
		line, err := encode(rec)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrRefused, rec.RecordType(), err)
		}
		buf = append(append(buf, line...), '\n')
		ends[i] = size + int64(len(buf))
	}
	if err := s.put(buf, size); err != nil {
		s.poisoned = true
		return err
	}
	s.order = *next
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, rec := range recs {
		s.index(rec, s.size)
		s.size = ends[i]
	}
	return nil
}

// put makes b durable at the journal's end, or takes back what it can.
func (s *Session) put(b []byte, size int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("look at the journal: %w", cause(err))
	}
	if info.Size() != size {
		// Writing on would make damage of what somebody else put there in spite of the lease.
		return errChanged
	}
	err = s.store.write(s.file, b)
	if err == nil {
		err = s.store.sync(StepSync, s.file)
	}
	if err != nil {
		// The best that can be done here. The next Open does it again, and it alone decides what is left.
		_ = s.store.truncate(s.file, size)
	}
	return err
}

// index notes where a record lies. The caller holds mu, or is alone with the session.
func (s *Session) index(rec wirev2.Record, offset int64) {
	if s.n%stride == 0 {
		s.every = append(s.every, offset)
	}
	s.n = rec.Head().N
	if _, ok := rec.(*wirev2.UserRecord); ok {
		s.turns = append(s.turns, offset)
	}
}

// Close gives the writer lease back. An Append or Read that runs meanwhile ends first or fails.
func (s *Session) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	// The lease is given back by name: a read that is under way keeps the descriptor, and with it a
	// lock that only Close would end, for a moment longer.
	err := flock(s.file, unix.LOCK_UN)
	err = errors.Join(err, s.file.Close())
	if s.folder != nil {
		err = errors.Join(err, s.folder.Close())
	}
	if err != nil {
		return fmt.Errorf("close the journal: %w", cause(err))
	}
	return nil
}
