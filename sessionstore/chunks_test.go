package sessionstore

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

func TestChunksAreFullButTheLastOfEachFrame(t *testing.T) {
	p, err := newPackers()
	require.NoError(t, err)
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 7} {
		content := make([]byte, n)
		_, _ = random.Read(content)
		c, err := p.compress(content)
		require.NoError(t, err)
		whole := bytes.Join(c, nil)
		require.Len(t, c, (len(whole)+chunkBytes-1)/chunkBytes)
		for _, chunk := range c[:len(c)-1] {
			require.Len(t, chunk, chunkBytes)
		}
	}
}

func TestFramesShareTheWork(t *testing.T) {
	for n, frames := range map[int]int{
		splitAt: 2, splitAt + 1: 2, 2 * frameBytes: 2, 2*frameBytes + 1: 3, 8 << 20: 3, 64 << 20: 22,
	} {
		content := make([]byte, n)
		got := cut(content)
		require.Len(t, got, frames, "%d bytes", n)
		whole := 0
		for _, frame := range got {
			require.LessOrEqual(t, len(frame), frameBytes)
			require.LessOrEqual(t, len(got[0])-len(frame), frames, "no worker gets much less")
			whole += len(frame)
		}
		require.Equal(t, n, whole)
	}
}

func TestWhatDoesNotPackGrowsLittle(t *testing.T) {
	p, err := newPackers()
	require.NoError(t, err)
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{1, 64, 1 << 10, splitAt - 1, splitAt, splitAt + 1, 8 << 20, 20 << 20} {
		content := make([]byte, n)
		_, _ = random.Read(content)
		packed, sum, err := p.pack(content)
		require.NoError(t, err)
		whole := bytes.Join(packed, nil)
		require.LessOrEqual(t, len(whole), mostPacked(n), "%d bytes", n)
		want := sha256.Sum256(content)
		require.Equal(t, want[:], sum, "%d bytes", n)
	}
}

func TestAStoreServesBubblesAndWhoIsOutside(t *testing.T) {
	s, err := New(Options{Authority: func(*bbolt.Tx) error { return nil }})
	require.NoError(t, err)
	content := bytes.Repeat([]byte("0123456789abcdef"), splitAt/8)
	prepare := func(t *testing.T) {
		p, err := s.Prepare(content)
		require.NoError(t, err)
		require.Equal(t, len(content), p.Bytes())
	}
	prepare(t)
	for range 2 {
		synctest.Test(t, prepare)
	}
	prepare(t)
}
