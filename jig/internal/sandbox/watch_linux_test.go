package sandbox

import (
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-140
func TestMoreProcessesThanAreWatchedAreAboveTheBound(t *testing.T) {
	const children = 4
	for range children {
		child := exec.Command("cat")
		in, err := child.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		defer func() { in.Close(); child.Wait() }()
	}
	for _, most := range []int{children + 1, children + 2} {
		total := resident(os.Getpid(), most)
		require.Greater(t, total, int64(1<<20))
		require.Less(t, total, int64(1<<32))
	}
	require.Equal(t, int64(math.MaxInt64), resident(os.Getpid(), children))
	require.Equal(t, int64(math.MaxInt64), resident(os.Getpid(), 1))
}
