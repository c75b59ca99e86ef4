package sessionstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

// rollout is 8 MiB that pack like the history of a session: words that come
// again, and numbers that do not.
func rollout() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < sessionstore.DefaultContentBytes {
		fmt.Fprintf(&b, `{"timestamp":"2026-11-30T10:11:12.%03dZ","ordinal":%d,"type":"event_msg","payload":{"type":"agent_message","text":"%x %x"}}`+"\n",
			random.IntN(1000), b.Len(), random.Uint64(), random.Uint64())
	}
	return b.Bytes()[:sessionstore.DefaultContentBytes]
}

// BenchmarkCommit prepares, saves and syncs. Where two cores are free it is to take
// no more than 0.9 of the limit.
//
// target: <= 1.25x BenchmarkCommit_LimitZstd
func BenchmarkCommit(b *testing.B) {
	content := rollout()
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "state.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	s, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Prepare(content)
		if err != nil {
			b.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			if _, err := s.DeleteAll(tx); err != nil {
				return err
			}
			_, err := s.Save(tx, noon, p, owner(""))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommitBesideOthers replaces one of as many snapshots as there may be.
//
// target: <= 1.25x BenchmarkCommit_LimitZstd
func BenchmarkCommitBesideOthers(b *testing.B) {
	content := rollout()
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "state.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	s, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	last := ""
	save := func() {
		p, err := s.Prepare(content)
		if err != nil {
			b.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) (err error) {
			if last != "" {
				if err := s.Delete(tx, noon, last); err != nil {
					return err
				}
			}
			last, err = s.Save(tx, noon, p, owner(""))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for range sessionstore.DefaultSnapshots {
		last = ""
		save()
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		save()
	}
}

// BenchmarkCommit_LimitZstd packs the same bytes at level 1 and does no more.
func BenchmarkCommit_LimitZstd(b *testing.B) {
	content := rollout()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		out = e.EncodeAll(content, out[:0])
	}
}
