package demo

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// That it succeeds is shown by make demo, which every CI run makes.
func TestWithoutCodexItSaysWhatToDoAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	var out strings.Builder
	err := Run(t.Context(), Options{Root: t.TempDir(), Agents: t.TempDir(), Out: &out, Temp: temp})
	require.ErrorContains(t, err, "run make native")
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NotContains(t, out.String(), "proved")
}
