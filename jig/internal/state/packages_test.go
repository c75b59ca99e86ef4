package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func capture(t *testing.T, d *Dir, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte(text), 0o644))
	p, err := d.Packages().Capture(dir)
	require.NoError(t, err)
	return p.Digest
}

func TestWhatNobodyNeedsIsSweptAway(t *testing.T) {
	dir, d := project(t)
	admitted, running, stale := capture(t, d, "admitted"), capture(t, d, "running"), capture(t, d, "stale")
	r, err := d.StartRun(time.Now(), time.Now().Add(time.Hour), func(*Tx) (RunRecord, error) {
		return RunRecord{Target: "flow:x", Packages: []string{running}}, nil
	})
	require.NoError(t, err)
	keep := func(*Tx) ([]string, error) { return []string{admitted}, nil }

	held, err := d.Review()
	require.NoError(t, err)
	second, err := d.Review()
	require.NoError(t, err, "two reviews at once")
	require.NoError(t, d.Sweep(held, keep))
	require.True(t, has(d, stale), "another review may have captured it")
	second.End()
	require.NoError(t, d.Sweep(nil, keep))
	require.False(t, has(d, stale))
	require.True(t, has(d, admitted))
	require.True(t, has(d, running))

	leftover := filepath.Join(dir, ".jig", temporaryPrefix+"lock-1")
	require.NoError(t, os.WriteFile(leftover, nil, 0o600))
	require.NoError(t, r.Finish(time.Now(), Terminal{Status: "succeeded"}, nil))
	require.NoError(t, d.Sweep(nil, keep))
	require.False(t, has(d, running))
	require.NoFileExists(t, leftover)
}

func has(d *Dir, digest string) bool {
	_, err := d.Packages().Get(digest)
	return err == nil
}

func copyOf(t *testing.T, d *Dir, self string) (path, digest string, err error) {
	t.Helper()
	var known KnownBinary
	require.NoError(t, d.View(func(tx *Tx) (err error) {
		known, err = tx.KnownBinary()
		return err
	}))
	return d.Binary(self, known)
}

func TestACopyOfTheProgramIsMadeOnceAndChecked(t *testing.T) {
	_, d := project(t)
	self := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(self, []byte("program one"), 0o755))
	path, digest, err := copyOf(t, d, self)
	require.NoError(t, err)
	before, err := os.Stat(path)
	require.NoError(t, err)
	again, sameDigest, err := copyOf(t, d, self)
	require.NoError(t, err)
	require.Equal(t, path, again)
	require.Equal(t, digest, sameDigest)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))

	require.NoError(t, os.WriteFile(self, []byte("program two"), 0o755))
	upgraded, _, err := copyOf(t, d, self)
	require.NoError(t, err)
	require.NotEqual(t, path, upgraded)
	require.NoError(t, d.Sweep(nil, func(*Tx) ([]string, error) { return nil, nil }))
	require.NoFileExists(t, path)
	require.FileExists(t, upgraded)

	require.NoError(t, os.Chmod(upgraded, 0o755))
	require.NoError(t, os.WriteFile(upgraded, []byte("program 666"), 0o755))
	require.NoError(t, os.Chmod(upgraded, 0o555))
	_, _, err = copyOf(t, d, self)
	require.ErrorIs(t, err, ErrInvalid)
}
