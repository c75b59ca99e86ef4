package sessionstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// row is what is known of a snapshot beside its content.
type row struct {
	Scope    string `json:"scope"`
	Root     string `json:"root"` // empty for a snapshot that outlives its root
	NativeID string `json:"nativeId"`
	Path     string `json:"path"`
	Digest   string `json:"digest"` // of the content, sha256 in hex
	Bytes    int    `json:"bytes"`
	Created  int64  `json:"createdMs"`
	Expires  int64  `json:"expiresMs"`
}

// claim is what stays of a snapshot that was handed out, until its root ends.
type claim struct {
	Root    string `json:"root"`
	Claimed int64  `json:"claimedMs"`
	Tied    bool   `json:"tied"`
}

func (s *Store) readRow(raw []byte) (row, error) {
	var r row
	if err := json.Unmarshal(raw, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, fmt.Errorf("%w: a row cannot be read", ErrCorrupt)
	}
	if r.Scope == "" || r.Expires != r.Created+s.limits.Retention.Milliseconds() || r.Bytes < 1 || r.Bytes > s.limits.ContentBytes || !ValidPath(r.Path, r.NativeID) {
		return r, fmt.Errorf("%w: a row contradicts itself", ErrCorrupt)
	}
	return r, nil
}

func put(b *bbolt.Bucket, reference string, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = b.Put([]byte(reference), raw)
	}
	if err != nil {
		return fmt.Errorf("sessionstore: %w", err)
	}
	return nil
}

// prune deletes snapshots that have expired, and those from the future: a clock
// that went back must not keep one alive for longer. It returns how many are
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
		if r.Expires <= ms || r.Created > ms {
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
	if b.content.Get(reference) == nil {
		return fmt.Errorf("%w: a snapshot has no content", ErrCorrupt)
	}
	if err := b.content.Delete(reference); err != nil {
		return fmt.Errorf("sessionstore: %w", err)
	}
	if err := b.rows.Delete(reference); err != nil {
		return fmt.Errorf("sessionstore: %w", err)
	}
	return nil
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
