package sessionstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/magi-jig/magi-jig/sessionstore"
)

// noise is n bytes of text that hardly pack.
func noise(n int) string {
	random := rand.New(rand.NewPCG(uint64(n), 3))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.UintN(128))
	}
	return string(b)
}

// parts returns what lies under a reference: the keys in their order, and the
// values.
func (r *rig) parts(ref string) (keys []string, values [][]byte) {
	r.Helper()
	require.NoError(r, r.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte("session-content")).Cursor()
		for k, v := c.Seek([]byte(ref)); bytes.HasPrefix(k, []byte(ref)); k, v = c.Next() {
			keys, values = append(keys, string(k)), append(values, bytes.Clone(v))
		}
		return nil
	}))
	return keys, values
}

func TestContentOfEverySizeComesBack(t *testing.T) {
	// rule: F-142, J-219
	r := newRig(t)
	for _, n := range []int{1, 2, 65535, 65536, 65537, 74_000, 75_000, 256<<10 - 1, 256 << 10, 256<<10 + 1, 6 << 20, 6<<20 + 1, 8<<20 - 1, 8 << 20} {
		want := noise(n)
		ref := r.mustSave(noon, want, "")
		keys, values := r.parts(ref)
		require.Equal(t, ref, keys[0])
		for _, v := range values {
			require.LessOrEqual(t, len(v), 64<<10, "%d bytes", n)
		}
		// Anybody's zstd reads it.
		d, err := zstd.NewReader(bytes.NewReader(bytes.Join(values, nil)))
		require.NoError(t, err)
		var plain bytes.Buffer
		_, err = plain.ReadFrom(d)
		d.Close()
		require.NoError(t, err)
		require.True(t, want == plain.String(), "%d bytes", n)
		s, err := r.claim(noon, ref, scope, "root")
		require.NoError(t, err, "%d bytes", n)
		require.True(t, want == string(s.Content), "%d bytes", n)
		_, content, _ := r.entries()
		require.Zero(t, content, "no part of %d bytes is left", n)
	}
}

func TestManyPrepareAtOnce(t *testing.T) {
	r := newRig(t)
	var work sync.WaitGroup
	prepared := make([]*sessionstore.Prepared, 12)
	for i := range prepared {
		work.Go(func() { prepared[i] = r.prepare(noise(100_000 * (i + 1))) })
	}
	work.Wait()
	for i, p := range prepared {
		var ref string
		require.NoError(t, r.db.Update(func(tx *bbolt.Tx) (err error) { ref, err = r.Save(tx, noon, p, owner("")); return err }))
		s, err := r.claim(noon, ref, scope, "root")
		require.NoError(t, err)
		require.True(t, noise(100_000*(i+1)) == string(s.Content))
	}
}

// TestABubbleLeavesNothingBehind would end the process where a bubble kept a
// channel for the next.
func TestABubbleLeavesNothingBehind(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			for _, n := range []int{1, 300_000} {
				_, err := r.claim(time.Now(), r.mustSave(time.Now(), noise(n), ""), scope, "root")
				require.NoError(t, err)
			}
		})
	}
	newRig(t).mustSave(noon, noise(300_000), "")
}

func TestASaveWritesNoNeighbour(t *testing.T) {
	r := newRig(t)
	written := func(change func()) int64 {
		before := r.db.Stats()
		change()
		after := r.db.Stats()
		return after.TxStats.PageAlloc - before.TxStats.PageAlloc
	}
	content := noise(1 << 20)
	var refs []string
	first := written(func() { refs = append(refs, r.mustSave(noon, content, "")) })
	for len(refs) < 15 {
		refs = append(refs, r.mustSave(noon, content, ""))
	}
	// Two pages of chunks at either side, and what leads to them.
	const beside = 512 << 10
	require.LessOrEqual(t, written(func() { r.mustSave(noon, content, "") }), first+beside)
	require.LessOrEqual(t, written(func() {
		_, err := r.claim(noon, refs[7], scope, "root")
		require.NoError(t, err)
	}), int64(beside))
}

func TestADamagedPartIsCorruption(t *testing.T) {
	// rule: F-149, J-219, P-157
	content := noise(300_000)
	for name, change := range map[string]func(b *bbolt.Bucket, keys []string, values [][]byte) error{
		"no first":  func(b *bbolt.Bucket, k []string, _ [][]byte) error { return b.Delete([]byte(k[0])) },
		"no second": func(b *bbolt.Bucket, k []string, _ [][]byte) error { return b.Delete([]byte(k[1])) },
		"no last":   func(b *bbolt.Bucket, k []string, _ [][]byte) error { return b.Delete([]byte(k[len(k)-1])) },
		"cut":       func(b *bbolt.Bucket, k []string, v [][]byte) error { return b.Put([]byte(k[1]), v[1][1:]) },
		"flipped":   func(b *bbolt.Bucket, k []string, v [][]byte) error { v[2][9] ^= 1; return b.Put([]byte(k[2]), v[2]) },
		"another":   func(b *bbolt.Bucket, k []string, v [][]byte) error { return b.Put([]byte(k[2]), v[1]) },
		"a part twice": func(b *bbolt.Bucket, k []string, v [][]byte) error {
			return b.Put([]byte(k[0]+"\x00\x00\x00\x09"), v[1])
		},
		"one more": func(b *bbolt.Bucket, k []string, v [][]byte) error {
			return b.Put(append([]byte(k[0]), 0, 0, 0, byte(len(k))), v[0])
		},
		"one that is empty": func(b *bbolt.Bucket, k []string, _ [][]byte) error {
			return b.Put(append([]byte(k[0]), 0, 0, 0, byte(len(k)+1)), nil)
		},
		"much more": func(b *bbolt.Bucket, k []string, _ [][]byte) error {
			return b.Put([]byte(k[0]), make([]byte, 1<<20))
		},
	} {
		r := newRig(t)
		ref := r.mustSave(noon, content, "")
		other := r.mustSave(noon, content, "")
		keys, values := r.parts(ref)
		require.Greater(t, len(keys), 3)
		require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket([]byte("session-content")), keys, values) }))
		_, err := r.claim(noon, ref, scope, "root")
		require.ErrorIs(t, err, sessionstore.ErrCorrupt, name)
		require.NotErrorIs(t, err, sessionstore.ErrUnavailable, name)
		// It can be deleted, and nothing of another's goes with it.
		require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error { return r.Delete(tx, noon, ref) }), name)
		keys, _ = r.parts(ref)
		require.Empty(t, keys, name)
		_, err = r.claim(noon, other, scope, "root")
		require.NoError(t, err, name)
	}
}

func TestEveryWayOutTakesEveryPart(t *testing.T) {
	// rule: F-145, F-146, P-154
	for name, leave := range map[string]func(r *rig, ref string) error{
		"claim":  func(r *rig, ref string) error { _, err := r.claim(noon, ref, scope, "root"); return err },
		"settle": func(r *rig, _ string) error { return r.settle(noon, "root") },
		"delete": func(r *rig, ref string) error {
			return r.db.Update(func(tx *bbolt.Tx) error { return r.Delete(tx, noon, ref) })
		},
		"all": func(r *rig, _ string) error {
			return r.db.Update(func(tx *bbolt.Tx) error { _, err := r.DeleteAll(tx); return err })
		},
		"time": func(r *rig, _ string) error {
			_, err := r.claim(noon.Add(24*time.Hour), r.mustSave(noon.Add(24*time.Hour), "x", ""), scope, "root")
			return err
		},
	} {
		r := newRig(t)
		ref := r.mustSave(noon, noise(300_000), "root")
		require.NoError(t, leave(r, ref), name)
		rows, content, _ := r.entries()
		require.Equal(t, []int{0, 0}, []int{rows, content}, name)
	}
}

// TestContentInOnePieceIsRead is about what was written before there were chunks.
func TestContentInOnePieceIsRead(t *testing.T) {
	for _, n := range []int{1, 300_000, 8 << 20} {
		r := newRig(t)
		ref := r.mustSave(noon, noise(n), "")
		keys, values := r.parts(ref)
		require.NoError(t, r.db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte("session-content"))
			for _, k := range keys[1:] {
				if err := b.Delete([]byte(k)); err != nil {
					return err
				}
			}
			return b.Put([]byte(ref), bytes.Join(values, nil))
		}))
		s, err := r.claim(noon, ref, scope, "root")
		require.NoError(t, err, fmt.Sprint(n))
		require.True(t, noise(n) == string(s.Content), fmt.Sprint(n))
	}
}
