package sessionstore

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChunksAreFullButTheLast(t *testing.T) {
	for _, n := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 2 * chunkBytes, 3*chunkBytes + 7} {
		content := make([]byte, n)
		for i := range content {
			content[i] = byte(i * 7)
		}
		for _, step := range []int{1 + n/5, chunkBytes, 3 * chunkBytes, n + 1} {
			var c chunks
			for rest := content; len(rest) > 0; {
				wrote, err := c.Write(rest[:min(step, len(rest))])
				require.NoError(t, err)
				rest = rest[wrote:]
			}
			require.Len(t, c, (n+chunkBytes-1)/chunkBytes)
			for _, chunk := range c[:max(0, len(c)-1)] {
				require.Len(t, chunk, chunkBytes)
			}
			require.True(t, bytes.Equal(content, bytes.Join(c, nil)))
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
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{1, 64, 1 << 10, splitAt - 1, splitAt, splitAt + 1, 8 << 20, 20 << 20} {
		content := make([]byte, n)
		_, _ = random.Read(content)
		packed, sum, err := pack(content)
		require.NoError(t, err)
		whole := bytes.Join(packed, nil)
		require.LessOrEqual(t, len(whole), mostPacked(n), "%d bytes", n)
		want := sha256.Sum256(content)
		require.Equal(t, want[:], sum, "%d bytes", n)
	}
}
