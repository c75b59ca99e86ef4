package sessionstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// Limits bounds a store. 0 means the default.
type Limits struct {
	Snapshots    int           // available at once; default 16
	ContentBytes int           // of one snapshot, unpacked; default 8,388,608
	Retention    time.Duration // until a snapshot expires; whole milliseconds; default 24 h
}

// The defaults of Limits.
const (
	DefaultSnapshots    = 16
	DefaultContentBytes = 8 << 20
	DefaultRetention    = 24 * time.Hour
)

func (l Limits) withDefaults() (Limits, error) {
	if l.Snapshots < 0 || l.ContentBytes < 0 || l.Retention < 0 || l.Retention%time.Millisecond != 0 {
		return l, errors.New("sessionstore: limits are whole and not negative")
	}
	if l.Snapshots == 0 {
		l.Snapshots = DefaultSnapshots
	}
	if l.ContentBytes == 0 {
		l.ContentBytes = DefaultContentBytes
	}
	if l.Retention == 0 {
		l.Retention = DefaultRetention
	}
	return l, nil
}

// The errors to branch on.
var (
	// ErrCapacity: as many snapshots as there may be are available.
	ErrCapacity = errors.New("sessionstore: all snapshots are in use")
	// ErrUnavailable: the reference cannot be handed out. Nothing says why.
	ErrUnavailable = errors.New("sessionstore: the session is not available")
	// ErrCorrupt: what is stored is not what was saved.
	ErrCorrupt = errors.New("sessionstore: the stored state is corrupt")
	// ErrAuthority: the caller may not use the store any more.
	ErrAuthority = errors.New("sessionstore: the coordinator has lost its authority")
)

// Options says what a Store works with.
type Options struct {
	// Authority is asked inside every transaction that changes something; its
	// error means that the caller is not the coordinator any more. Required.
	Authority func(*bbolt.Tx) error
	// Parent names a bucket that is there and holds the store's own, for a caller
	// that wants them in one place; empty: they lie beside the caller's.
	Parent string
	Limits Limits
}

// Store keeps snapshots. It is immutable and safe for concurrent use.
type Store struct {
	authority func(*bbolt.Tx) error
	parent    []byte
	limits    Limits
	packers   *packers
}

// New returns a Store.
func New(o Options) (*Store, error) {
	if o.Authority == nil {
		return nil, errors.New("sessionstore: an authority is needed")
	}
	l, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := newPackers()
	if err != nil {
		return nil, err
	}
	return &Store{o.Authority, []byte(o.Parent), l, p}, nil
}

var (
	rowsBucket    = []byte("session-rows")    // reference to row
	contentBucket = []byte("session-content") // reference to packed content
	claimsBucket  = []byte("session-claims")  // reference to claim
)

// buckets are the three buckets inside a transaction.
type buckets struct{ rows, content, claims *bbolt.Bucket }

// place is where the three buckets lie.
type place interface {
	Bucket(name []byte) *bbolt.Bucket
	CreateBucketIfNotExists(name []byte) (*bbolt.Bucket, error)
}

func (s *Store) place(tx *bbolt.Tx) (place, error) {
	if len(s.parent) == 0 {
		return tx, nil
	}
	b := tx.Bucket(s.parent)
	if b == nil {
		return nil, fmt.Errorf("%w: the bucket of the sessions is missing", ErrCorrupt)
	}
	return b, nil
}

// enter checks the authority and makes or finds the buckets.
func (s *Store) enter(tx *bbolt.Tx) (b buckets, err error) {
	if err := s.authority(tx); err != nil {
		return b, fmt.Errorf("%w: %w", ErrAuthority, err)
	}
	at, err := s.place(tx)
	if err != nil {
		return b, err
	}
	for _, x := range []struct {
		at   **bbolt.Bucket
		name []byte
	}{{&b.rows, rowsBucket}, {&b.content, contentBucket}, {&b.claims, claimsBucket}} {
		if *x.at, err = at.CreateBucketIfNotExists(x.name); err != nil {
			return b, fmt.Errorf("sessionstore: %w", err)
		}
	}
	return b, nil
}

// ValidReference says whether s has the form of a reference: a canonical
// lower-case UUID of version 4.
func ValidReference(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s && id.Version() == 4
}
