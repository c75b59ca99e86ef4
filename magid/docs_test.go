package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: M-041, M-128, M-141
func TestReadmeSaysWhatAPersonHasToKnow(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	readme := strings.Join(strings.Fields(string(text)), " ")
	for _, sentence := range []string{
		"An API key belongs in a file", "`/proc/PID/environ` goes on showing",
		"Time asleep counts as the kernel's `CLOCK_MONOTONIC` counts it",
		"deleting or renaming sessions", "images or files as input", "a second read-only observer", "a model per session", "one daemon for several users",
	} {
		require.Contains(t, readme, sentence)
	}
	require.NotContains(t, strings.ToLower(readme), "exactly once")
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 40)
}

// rule: M-001
func TestNothingPromisesExactlyOnce(t *testing.T) {
	t.Parallel()
	promise := "exactly" + " once"
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, strings.ToLower(strings.Join(strings.Fields(string(text)), " ")), promise, path)
		files++
		return nil
	}))
	require.Greater(t, files, 50)
	p := newPlace(t)
	help := p.run("help").stdout
	for _, command := range []string{"serve", "start", "stop", "restart", "status", "call", "sessions", "history", "chat", "demo", "version"} {
		require.Contains(t, help, command)
		help += p.run("help", command).stdout
	}
	require.NotContains(t, strings.ToLower(help), promise)
	readme, err := os.ReadFile("README.md") // of this module, which may stand alone
	require.NoError(t, err)
	says := strings.Join(strings.Fields(string(readme)), " ")
	require.Contains(t, says, "at most one dispatch")
	require.Contains(t, says, "an honest *uncertain*")
}
