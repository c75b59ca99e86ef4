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

// BenchmarkCommit prepares, saves and syncs the one snapshot there is, in place of
// the one before.
//
// target: <= 1.25x BenchmarkCommit_LimitZstd
func BenchmarkCommit(b *testing.B) { benchmarkCommit(b, 1) }

// BenchmarkCommitBesideOthers replaces one of as many snapshots as there may be.
//
// target: <= 1.25x BenchmarkCommit_LimitZstd
func BenchmarkCommitBesideOthers(b *testing.B) { benchmarkCommit(b, sessionstore.DefaultSnapshots) }

// warm is how often a benchmark does its work before it counts, so that the heap
// has its size and the file its pages.
const warm = 16

func benchmarkCommit(b *testing.B, snapshots int) {
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
	var kept []string
	save := func() {
		p, err := s.Prepare(content)
		if err != nil {
			b.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) (err error) {
			if len(kept) == snapshots {
				if err := s.Delete(tx, noon, kept[0]); err != nil {
					return err
				}
				kept = kept[1:]
			}
			saved, err := s.Save(tx, noon, p, owner(""))
			kept = append(kept, saved)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for range warm {
		save()
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		save()
	}
}

// BenchmarkPrepare packs and hashes: the part of a commit that two workers share,
// where there are two cores. The rest waits for a disk.
//
// target: <= 0.9x BenchmarkCommit_LimitZstd
func BenchmarkPrepare(b *testing.B) {
	content := rollout()
	s, err := sessionstore.New(sessionstore.Options{Authority: func(*bbolt.Tx) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	prepare := func() {
		if _, err := s.Prepare(content); err != nil {
			b.Fatal(err)
		}
	}
	for range warm {
		prepare()
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		prepare()
	}
}

// BenchmarkCommit_LimitZstd packs the same bytes at level 1 and does no more.
func BenchmarkCommit_LimitZstd(b *testing.B) {
	content := rollout()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	for range warm {
		out = e.EncodeAll(content, out[:0])
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		out = e.EncodeAll(content, out[:0])
	}
}
