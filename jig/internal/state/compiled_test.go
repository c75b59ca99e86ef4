package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func knownCompiled(t *testing.T, d *Dir) KnownCompiled {
	t.Helper()
	var known KnownCompiled
	require.NoError(t, d.View(func(tx *Tx) (err error) {
		known, err = tx.KnownCompiled()
		return err
	}))
	return known
}

func TestCompiledPackagesAreKeptForOneCopyOfJig(t *testing.T) {
	dir, d := project(t)
	require.False(t, knownCompiled(t, d).Has("sha256:jig", "sha256:p"))
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": []byte("form of p")}))
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:q": []byte("form of q")}))
	known := knownCompiled(t, d)
	for _, pkg := range []string{"p", "q"} {
		b, err := d.Compiled(known, "sha256:jig", "sha256:"+pkg)
		require.NoError(t, err)
		require.Equal(t, "form of "+pkg, string(b))
	}
	for _, of := range [][2]string{{"sha256:other", "sha256:p"}, {"sha256:jig", "sha256:r"}} {
		b, err := d.Compiled(known, of[0], of[1])
		require.NoError(t, err)
		require.Nil(t, b)
	}

	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:bad": nil}))
	known = knownCompiled(t, d)
	require.True(t, known.Tried("sha256:jig", "sha256:bad"))
	require.False(t, known.Tried("sha256:other", "sha256:bad"))
	require.False(t, known.Tried("sha256:jig", "sha256:r"))
	b, err := d.Compiled(known, "sha256:jig", "sha256:bad")
	require.NoError(t, err)
	require.Nil(t, b)
	require.True(t, known.Has("sha256:jig", "sha256:p"))

	require.NoError(t, d.Sweep(nil, func(*Tx) ([]string, error) { return []string{"sha256:q"}, nil }))
	known = knownCompiled(t, d)
	require.False(t, known.Has("sha256:jig", "sha256:p"))
	require.True(t, known.Has("sha256:jig", "sha256:q"))
	files, err := os.ReadDir(filepath.Join(dir, ".jig", compiledName))
	require.NoError(t, err)
	require.Len(t, files, 1)

	require.NoError(t, d.KeepCompiled("sha256:next", nil, map[string][]byte{"sha256:p": []byte("p, later")}))
	known = knownCompiled(t, d)
	require.True(t, known.Has("sha256:next", "sha256:p"))
	require.False(t, known.Has("sha256:jig", "sha256:q"), "another jig has nothing to do with it")
	require.False(t, known.Has("sha256:next", "sha256:q"))
}

// rule: J-068
func TestAChangedCompiledPackageIsRefused(t *testing.T) {
	dir, d := project(t)
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": []byte("form of p")}))
	known := knownCompiled(t, d)
	files, err := filepath.Glob(filepath.Join(dir, ".jig", compiledName, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o444), info.Mode().Perm())
	for _, change := range []func(){
		func() { require.NoError(t, os.WriteFile(files[0], []byte("form of q"), 0o444)) },
		func() { require.NoError(t, os.Truncate(files[0], 3)) },
		func() { require.NoError(t, os.Truncate(files[0], 0)) },
		func() { require.NoError(t, os.Truncate(files[0], maxCompiledBytes+1)) },
		func() { require.NoError(t, os.Remove(files[0])) },
		func() { require.NoError(t, os.Mkdir(files[0], 0o700)) },
	} {
		if _, err := os.Stat(files[0]); err == nil {
			require.NoError(t, os.Chmod(files[0], 0o644))
		}
		change()
		_, err := d.Compiled(known, "sha256:jig", "sha256:p")
		require.ErrorIs(t, err, ErrInvalid)
	}
	require.ErrorIs(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": make([]byte, maxCompiledBytes+1)}), ErrUnsafe)
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"sha256:p": make([]byte, maxCompiledBytes)}))
}

// What cannot be kept is not known either, so that a run makes it.
func TestABrokenCompiledPackageIsForgottenOrReplaced(t *testing.T) {
	dir, d := project(t)
	form := map[string][]byte{"sha256:p": []byte("form of p")}
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, form))
	files, err := filepath.Glob(filepath.Join(dir, ".jig", compiledName, "*"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(files[0]))
	require.NoError(t, os.MkdirAll(filepath.Join(files[0], "folder"), 0o700))
	require.NoError(t, d.KeepCompiled("sha256:jig", []string{"sha256:p"}, form))
	b, err := d.Compiled(knownCompiled(t, d), "sha256:jig", "sha256:p")
	require.NoError(t, err)
	require.Equal(t, "form of p", string(b))

	require.NoError(t, os.RemoveAll(filepath.Join(dir, ".jig", compiledName)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".jig", compiledName), nil, 0o600))
	require.ErrorIs(t, d.KeepCompiled("sha256:jig", []string{"sha256:p"}, form), ErrUnsafe)
	known := knownCompiled(t, d)
	require.False(t, known.Tried("sha256:jig", "sha256:p"))
}
