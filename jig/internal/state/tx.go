package state

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// format names what the database holds and how. Another one is refused.
const format = "jig-state/1"

const (
	metaBucket      = "meta"
	admissionBucket = "admission"
	runsBucket      = "runs"
	// SessionsBucket is the bucket that retained sessions are kept in; its
	// content has checksums of its own.
	SessionsBucket = "sessions"

	formatKey   = "format"
	projectKey  = "project"
	epochKey    = "epoch"
	sealKey     = "seal"
	binaryKey   = "binary"
	compiledKey = "compiled"
	headKey     = "head"
)

var buckets = []string{metaBucket, admissionBucket, runsBucket, SessionsBucket}

// sealed are the buckets whose entries are under the seal.
var sealed = []string{metaBucket, admissionBucket, runsBucket}

type (
	formatRecord struct {
		Format string `json:"format"`
	}
	projectRecord struct {
		ID    uuid.UUID `json:"id"`
		Place place     `json:"place"`
	}
	epochRecord struct {
		Epoch int64 `json:"epoch"`
	}
)

// Tx is one transaction. It is for the function it was given to.
type Tx struct {
	d     *Dir
	b     *bolt.Tx
	id    projectRecord
	moved bool
}

// Bolt is the database's own transaction, for the sessions.
func (t *Tx) Bolt() *bolt.Tx { return t.b }

// begin checks that the state is what jig wrote.
func (d *Dir) begin(b *bolt.Tx) (*Tx, error) {
	t := &Tx{d: d, b: b}
	var f formatRecord
	if b.Bucket([]byte(metaBucket)) == nil {
		return nil, fail(ErrInvalid, "the state file is not one of jig's")
	}
	if err := t.get(metaBucket, formatKey, &f); err != nil {
		return nil, err
	}
	if f.Format != format {
		return nil, fail(ErrInvalid, "the state was written by another version of jig (%s); this one reads %s", json0Quote(f.Format), format)
	}
	for _, name := range buckets {
		if b.Bucket([]byte(name)) == nil {
			return nil, fail(ErrInvalid, "the state file is damaged")
		}
	}
	sum, err := t.sum()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sum, b.Bucket([]byte(metaBucket)).Get([]byte(sealKey))) {
		return nil, fail(ErrInvalid, "the state file has been changed")
	}
	if err := t.get(metaBucket, projectKey, &t.id); err != nil {
		return nil, err
	}
	t.moved = t.id.Place != d.place
	return t, nil
}

// Project is the identity of the project: of this .jig in this place.
func (t *Tx) Project() string {
	return t.id.ID.String() + ":" + decimal(t.id.Place.Device) + ":" + decimal(t.id.Place.Inode)
}

// Own returns [ErrMoved] where .jig was copied from another place.
func (t *Tx) Own() error {
	if t.moved {
		return fail(ErrMoved, "this .jig was copied from another place, so nothing is approved here; run jig review")
	}
	return nil
}

// Adopt makes a copied .jig a project of its own: with another identity, without
// an admission, a session or a run that is alive. It does nothing elsewhere.
func (t *Tx) Adopt() error {
	if !t.moved {
		return nil
	}
	runs, err := t.Runs()
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Alive() {
			if err := t.delete(runsBucket, r.ID); err != nil {
				return err
			}
		}
	}
	if err := t.put(admissionBucket, headKey, Admission{}); err != nil {
		return err
	}
	if err := t.b.DeleteBucket([]byte(SessionsBucket)); err != nil {
		return err
	}
	if _, err := t.b.CreateBucket([]byte(SessionsBucket)); err != nil {
		return err
	}
	t.id, t.moved = projectRecord{ID: uuid.New(), Place: t.d.place}, false
	return t.put(metaBucket, projectKey, t.id)
}

// sumBytes is the length of the digest before each value.
const sumBytes = sha256.Size

func digestOf(bucket, key string, value []byte) []byte {
	h := sha256.New()
	for _, part := range []string{"jig-state-value/0", bucket, key} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(value)
	return h.Sum(nil)
}

func (t *Tx) put(bucket, key string, record any) error {
	value, err := json0.Marshal(record)
	if err != nil {
		return failBecause(ErrInvalid, err, "a record cannot be written")
	}
	return t.putRaw(bucket, key, value)
}

func (t *Tx) putRaw(bucket, key string, value []byte) error {
	return t.b.Bucket([]byte(bucket)).Put([]byte(key), append(digestOf(bucket, key, value), value...))
}

func (t *Tx) delete(bucket, key string) error {
	return t.b.Bucket([]byte(bucket)).Delete([]byte(key))
}

var errNoRecord = errors.New("no such record")

func (t *Tx) get(bucket, key string, record any) error {
	value, err := t.getRaw(bucket, key)
	if err != nil {
		return err
	}
	if err := json0.Decode(value, record); err != nil {
		return failBecause(ErrInvalid, err, "a record of the state cannot be read")
	}
	return nil
}

// getRaw returns a copy: the database's own bytes go with the transaction.
func (t *Tx) getRaw(bucket, key string) ([]byte, error) {
	stored := t.b.Bucket([]byte(bucket)).Get([]byte(key))
	if stored == nil {
		return nil, failBecause(ErrInvalid, errNoRecord, "a record of the state is missing")
	}
	value, err := intact(bucket, key, stored)
	return bytes.Clone(value), err
}

// intact is the value that is stored, if it is the one that was.
func intact(bucket, key string, stored []byte) ([]byte, error) {
	if len(stored) < sumBytes || !bytes.Equal(stored[:sumBytes], digestOf(bucket, key, stored[sumBytes:])) {
		return nil, fail(ErrInvalid, "a record of the state has been changed")
	}
	return stored[sumBytes:], nil
}

// sum is the seal of what the transaction sees: over the places and the digests
// of all values, whatever their order.
func (t *Tx) sum() ([]byte, error) {
	all := make([]byte, sumBytes)
	for _, name := range sealed {
		err := t.b.Bucket([]byte(name)).ForEach(func(key, stored []byte) error {
			if name == metaBucket && string(key) == sealKey {
				return nil
			}
			if len(stored) < sumBytes {
				return fail(ErrInvalid, "a record of the state has been changed")
			}
			one := digestOf(name, string(key), stored[:sumBytes])
			for i := range all {
				all[i] ^= one[i]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t *Tx) seal() error {
	sum, err := t.sum()
	if err != nil {
		return err
	}
	return t.b.Bucket([]byte(metaBucket)).Put([]byte(sealKey), sum)
}

// json0Quote writes s for a message.
func json0Quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s[:min(len(s), 40)])
	if err != nil {
		return `"?"`
	}
	return string(b)
}
