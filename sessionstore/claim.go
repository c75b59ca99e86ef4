package sessionstore

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"go.etcd.io/bbolt"
)

// Snapshot is what a claim hands out.
type Snapshot struct {
	NativeID string
	Path     string
	Content  []byte
	// Tied is true where the snapshot belongs to the claiming root; its
	// successor has to be tied to it as well.
	Tied bool
}

// Claim hands out the snapshot of reference to a root and takes it away. It is
// final once the caller has committed, and the caller commits before it starts
// anything with it. A reference that is not this scope's, or tied to another
// root, is [ErrUnavailable] and stays as it was; the caller commits then too, or
// what has expired comes back.
func (s *Store) Claim(tx *bbolt.Tx, now time.Time, reference, scope, root string) (*Snapshot, error) {
	if root == "" || scope == "" {
		return nil, errors.New("sessionstore: a claim needs a scope and a root")
	}
	b, err := s.enter(tx)
	if err != nil {
		return nil, err
	}
	if _, err := s.prune(b, now); err != nil {
		return nil, err
	}
	key := []byte(reference)
	raw := b.rows.Get(key)
	if !ValidReference(reference) || raw == nil {
		return nil, ErrUnavailable
	}
	r, err := s.readRow(raw)
	if err != nil {
		return nil, err
	}
	if r.scope != scope || r.root != "" && r.root != root {
		return nil, ErrUnavailable
	}
	if b.claims.Get(key) != nil {
		return nil, fmt.Errorf("%w: a snapshot is there and was handed out", ErrCorrupt)
	}
	packed, err := b.getContent(key, r)
	if err != nil {
		return nil, err
	}
	content, err := unpack(packed, r)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(content) {
		return nil, fmt.Errorf("%w: the content of a snapshot is no text", ErrCorrupt)
	}
	if err := b.drop(key); err != nil {
		return nil, err
	}
	if err := put(b.claims, reference, claim{root, now.UnixMilli()}.encode()); err != nil {
		return nil, err
	}
	return &Snapshot{r.nativeID, r.path, content, r.root != ""}, nil
}

// Settle ends a root: what is tied to it goes, and its claims with it, and of
// everybody's what has expired. The caller publishes the root's end in the same
// transaction; where Settle fails it must not.
func (s *Store) Settle(tx *bbolt.Tx, now time.Time, root string) error {
	b, err := s.enter(tx)
	if err != nil {
		return err
	}
	ms := now.UnixMilli()
	var rows, claims [][]byte
	err = b.rows.ForEach(func(k, v []byte) error {
		r, err := s.readRow(v)
		if err == nil && (r.root == root && root != "" || !r.available(ms)) {
			rows = append(rows, k)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = b.claims.ForEach(func(k, v []byte) error {
		c, err := readClaim(v)
		if err == nil && c.root == root {
			claims = append(claims, k)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range rows {
		if err := b.drop(k); err != nil {
			return err
		}
	}
	return deleteAll(b.claims, claims)
}
