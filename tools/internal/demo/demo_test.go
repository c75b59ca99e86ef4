package demo

import (
	"os"
	"path/filepath"
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

// A build of a small machine is longer than people wait for a program that says
// nothing.
func TestItSaysThatItBuilds(t *testing.T) {
	agents := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(agents, "codex", "node_modules", "@openai"), 0o755))
	var out strings.Builder
	err := Run(t.Context(), Options{Root: t.TempDir(), Agents: agents, Out: &out, Temp: t.TempDir()})
	require.Error(t, err, "there is nothing to build")
	require.True(t, strings.HasSuffix(out.String(), "jig is being built; the first time takes minutes.\n\n"), out.String())
}
