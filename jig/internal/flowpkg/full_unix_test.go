//go:build unix

package flowpkg

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAFullDiskIsNotTheAuthorsMistake(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte("x"), 0o644))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	files, err := walk(root, MaxFiles)
	require.NoError(t, err)
	require.ErrorContains(t, stream(newDigester(1), root, files[0], full{}), "the disk is full")
}
