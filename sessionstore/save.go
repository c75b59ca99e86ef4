package sessionstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// Owner says whose a snapshot is.
type Owner struct {
	Scope    string // who may have it back; required
	Root     string // the root run it is tied to; empty: it outlives its root
	NativeID string // the native session, a canonical lower-case UUID; required
	Path     string // where its history lies, see ValidPath; required
}

// Save adds a snapshot and returns its reference, which is worth something only
// once the caller has committed. [ErrCapacity] leaves everything as it was but
// for what had expired.
func (s *Store) Save(tx *bbolt.Tx, now time.Time, p *Prepared, o Owner) (reference string, err error) {
	if o.Scope == "" || !ValidPath(o.Path, o.NativeID) {
		return "", errors.New("sessionstore: a snapshot needs a scope and the path of its session")
	}
	b, err := s.enter(tx)
	if err != nil {
		return "", err
	}
	left, err := s.prune(b, now)
	if err != nil {
		return "", err
	}
	if left == s.limits.Snapshots {
		return "", ErrCapacity
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("sessionstore: %w", err)
	}
	reference = id.String()
	key := []byte(reference)
	if b.rows.Get(key) != nil || b.content.Get(key) != nil || b.claims.Get(key) != nil {
		return "", fmt.Errorf("%w: a reference came twice", ErrCorrupt)
	}
	created := now.UnixMilli()
	r := row{o.Scope, o.Root, o.NativeID, o.Path, p.digest, p.bytes, created, created + s.limits.Retention.Milliseconds()}
	if err := put(b.rows, reference, r.encode()); err != nil {
		return "", err
	}
	if err := b.putContent(key, p.packed); err != nil {
		return "", err
	}
	return reference, nil
}
