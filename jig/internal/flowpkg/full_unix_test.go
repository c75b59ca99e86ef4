//go:build unix

package flowpkg

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// A store that cannot be written is no fault of jig's, and what the system says of it
// is kept.
func TestAStoreThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte("x"), 0o644))
	_, err := OpenStore(filepath.Join(dir, "none")).Capture(dir)
	require.ErrorIs(t, err, ErrStore)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = OpenStore(filepath.Join(dir, "FLOW.ts")).Capture(dir)
	require.ErrorIs(t, err, ErrStore)
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

// Nobody waits for a pipe that stands in the place of a captured package.
func TestAPipeInPlaceOfAPackage(t *testing.T) {
	dir, store := t.TempDir(), OpenStore(t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte("x"), 0o644))
	p, err := store.Capture(dir)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(p.Dir))
	require.NoError(t, syscall.Mkfifo(p.Dir, 0o600))
	done := make(chan error, 2)
	go func() {
		_, err := store.Get(p.Digest)
		done <- err
		_, err = store.Capture(dir)
		done <- err
	}()
	for range 2 {
		select {
		case err := <-done:
			require.ErrorIs(t, err, ErrChanged)
		case <-time.After(30 * time.Second):
			t.Fatal("it waits for the pipe")
		}
	}
}
