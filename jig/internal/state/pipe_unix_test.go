//go:build unix

package state

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What somebody puts in the place of a file is refused, and never waited for.
func TestAPipeInPlaceOfAFileIsRefused(t *testing.T) {
	replace := func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.Remove(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
	}
	self := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(self, []byte("a program"), 0o755))
	for name, c := range map[string]struct {
		path func(d *Dir, r *Run) string
		use  func(d *Dir, binary KnownBinary) error
	}{
		"the database": {
			func(d *Dir, _ *Run) string { return d.file(databaseName) },
			func(d *Dir, _ KnownBinary) error { return d.View(func(*Tx) error { return nil }) },
		},
		"the database, to change it": {
			func(d *Dir, _ *Run) string { return d.file(databaseName) },
			func(d *Dir, _ KnownBinary) error { return d.Update(func(*Tx) error { return nil }) },
		},
		"the lock of a review": {
			func(d *Dir, _ *Run) string { return d.file(reviewName) },
			func(d *Dir, _ KnownBinary) error {
				_, err := d.Review()
				return err
			},
		},
		"the copy of jig": {
			func(d *Dir, _ *Run) string {
				all, err := filepath.Glob(d.file(binName, "*"))
				require.NoError(t, err)
				return all[0]
			},
			func(d *Dir, known KnownBinary) error {
				_, _, err := d.Binary(self, known)
				return err
			},
		},
		"the lock of a run": {
			func(d *Dir, r *Run) string { return d.file(runsName, r.ID, scopeName) },
			func(d *Dir, _ KnownBinary) error {
				_, err := d.Recover(t.Context(), lost, nil)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := project(t)
			review, err := d.Review()
			require.NoError(t, err)
			review.End()
			_, _, err = d.Binary(self, KnownBinary{})
			require.NoError(t, err)
			id, release := other(t, "run", "STATE_TEST_PROJECT="+dir)
			release() // a dead run
			replace(t, c.path(d, &Run{ID: id}))
			done := make(chan error, 1)
			go func() { done <- c.use(d, KnownBinary{}) }()
			select {
			case err := <-done:
				require.Error(t, err)
			case <-time.After(30 * time.Second):
				t.Fatal("it waits for the pipe")
			}
		})
	}
}
