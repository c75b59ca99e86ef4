package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// A project may hold thousands of packages; what jig has of their forms in memory
// does not grow with them.
func TestCompiledFormsAreBoundedInMemory(t *testing.T) {
	c := compiler{room: 10}
	require.True(t, c.fits(make([]byte, 6)))
	require.False(t, c.fits(make([]byte, 5)))
	require.True(t, c.fits(make([]byte, 4)))
	require.False(t, c.fits(make([]byte, 1)))
	require.True(t, c.fits(nil), "that a package has no form needs none")

	d, err := state.Create(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, d.KeepCompiled("sha256:jig", nil, map[string][]byte{"a": make([]byte, 6), "b": make([]byte, 5), "c": make([]byte, 4)}))
	var known state.KnownCompiled
	require.NoError(t, d.View(func(t *state.Tx) (err error) {
		known, err = t.KnownCompiled()
		return err
	}))
	forms, err := compiledForms(d, known, "sha256:jig", []string{"a", "b", "c"}, 10)
	require.NoError(t, err)
	require.Len(t, forms, 2)
	require.Len(t, forms["a"], 6)
	require.Len(t, forms["c"], 4)
	require.Equal(t, 64<<20, formBytes)
}
