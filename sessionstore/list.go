package sessionstore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Info is what may be shown of a snapshot: nothing of its content.
type Info struct {
	Reference string
	Bytes     int
	Created   time.Time
	Expires   time.Time
	Tied      bool // to a root run
}

// List returns the available snapshots, the oldest first. It reads only, so it
// asks for no authority and prunes nothing: what has expired is left out.
func (s *Store) List(tx *bbolt.Tx, now time.Time) ([]Info, error) {
	at, err := s.place(tx)
	if err != nil {
		return nil, err
	}
	b := at.Bucket(rowsBucket)
	if b == nil {
		return nil, nil
	}
	ms := now.UnixMilli()
	var all []Info
	err = b.ForEach(func(k, v []byte) error {
		r, err := s.readRow(v)
		if err != nil {
			return err
		}
		if r.available(ms) {
			all = append(all, Info{string(k), r.bytes, time.UnixMilli(r.created).UTC(), time.UnixMilli(r.expires).UTC(), r.root != ""})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Reference, b.Reference))
	})
	return all, err
}

// Delete takes a snapshot away without handing it out. [ErrUnavailable] is one
// that is not there; the caller commits then too, as after a refused claim.
func (s *Store) Delete(tx *bbolt.Tx, now time.Time, reference string) error {
	b, err := s.enter(tx)
	if err != nil {
		return err
	}
	if _, err := s.prune(b, now); err != nil {
		return err
	}
	if b.rows.Get([]byte(reference)) == nil {
		return ErrUnavailable
	}
	return b.drop([]byte(reference))
}

// DeleteAll takes every snapshot away and returns how many. It reads none of them,
// so it is the way out of a store that has become corrupt.
func (s *Store) DeleteAll(tx *bbolt.Tx) (int, error) {
	b, err := s.enter(tx)
	if err != nil {
		return 0, err
	}
	rows := 0
	for _, from := range []*bbolt.Bucket{b.rows, b.content} {
		var keys [][]byte
		if err := from.ForEach(func(k, _ []byte) error { keys = append(keys, k); return nil }); err != nil {
			return 0, fmt.Errorf("sessionstore: %w", err)
		}
		if err := deleteAll(from, keys); err != nil {
			return 0, err
		}
		if from == b.rows {
			rows = len(keys)
		}
	}
	return rows, nil
}
