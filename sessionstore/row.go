package sessionstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// row is what is known of a snapshot beside its content.
type row struct {
	scope    string
	root     string // empty for a snapshot that outlives its root
	nativeID string
	path     string
	digest   string // of the content, sha256 in hex
	bytes    int
	created  int64 // ms
	expires  int64 // ms
}

func (r row) encode() []byte {
	w := newWriter()
	for _, s := range []string{r.scope, r.root, r.nativeID, r.path, r.digest} {
		w.text(s)
	}
	for _, n := range []int64{int64(r.bytes), r.created, r.expires} {
		w.number(n)
	}
	return w.bytes()
}

func (s *Store) readRow(raw []byte) (row, error) {
	d := newReader(raw)
	r := row{scope: d.text(), root: d.text(), nativeID: d.text(), path: d.text(), digest: d.text()}
	r.bytes, r.created, r.expires = int(d.number()), d.number(), d.number()
	if d.end() != nil {
		return r, fmt.Errorf("%w: a row cannot be read", ErrCorrupt)
	}
	if r.scope == "" || r.expires != r.created+s.limits.Retention.Milliseconds() || r.bytes < 1 || r.bytes > s.limits.ContentBytes || !ValidPath(r.path, r.nativeID) {
		return r, fmt.Errorf("%w: a row contradicts itself", ErrCorrupt)
	}
	return r, nil
}

// claim is what stays of a snapshot that was handed out, until its root ends.
type claim struct {
	root    string
	claimed int64 // ms
}

func (c claim) encode() []byte {
	w := newWriter()
	w.text(c.root)
	w.number(c.claimed)
	return w.bytes()
}

func readClaim(raw []byte) (claim, error) {
	d := newReader(raw)
	c := claim{d.text(), d.number()}
	if d.end() != nil {
		return c, fmt.Errorf("%w: a claim cannot be read", ErrCorrupt)
	}
	return c, nil
}

func put(b *bbolt.Bucket, reference string, raw []byte) error {
	if err := b.Put([]byte(reference), raw); err != nil {
		return fmt.Errorf("sessionstore: %w", err)
	}
	return nil
}

// available says whether a snapshot may be had at a time. One from the future may
// not: a clock that went back must not keep it alive for longer.
func (r row) available(ms int64) bool { return r.created <= ms && ms < r.expires }

// prune deletes snapshots that are not available any more, and returns how many are
// left.
func (s *Store) prune(b buckets, now time.Time) (left int, err error) {
	ms := now.UnixMilli()
	var gone [][]byte
	cursor := b.rows.Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		r, err := s.readRow(v)
		if err != nil {
			return 0, err
		}
		if !r.available(ms) {
			gone = append(gone, k)
			continue
		}
		left++
	}
	for _, k := range gone {
		if err := b.drop(k); err != nil {
			return 0, err
		}
	}
	if left > s.limits.Snapshots {
		return 0, fmt.Errorf("%w: more snapshots than there may be", ErrCorrupt)
	}
	return left, nil
}

// drop deletes a snapshot: its row and its content, both of which are there.
func (b buckets) drop(reference []byte) error {
	if err := b.dropContent(reference); err != nil {
		return err
	}
	return deleteAll(b.rows, [][]byte{reference})
}

// ValidPath says whether path is where a session of nativeID keeps its history:
// sessions/YYYY/MM/DD/rollout-YYYY-MM-DDTHH-MM-SS-UUID.jsonl with that UUID in
// its canonical form.
func ValidPath(path, nativeID string) bool {
	id, err := uuid.Parse(nativeID)
	if err != nil || id.String() != nativeID {
		return false
	}
	name, ok := strings.CutSuffix(path, "-"+nativeID+".jsonl")
	const form = "sessions/0000/00/00/rollout-0000-00-00T00-00-00"
	if !ok || len(name) != len(form) {
		return false
	}
	for i := range len(form) {
		if c := name[i]; form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	return true
}
