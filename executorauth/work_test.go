package executorauth

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Not only the answer but also the work is the same: one hash, two comparisons
// in constant time, no allocation.
//
// rule: W-228, A-143
func TestUnknownIDAndWrongSecretDoTheSameWork(t *testing.T) {
	a, err := New(rand.NewChaCha8([32]byte{1}), Limits{})
	require.NoError(t, err)
	hashes, compared := 0, 0
	a.sum = func(s Secret) verifier { hashes++; return newVerifier(s) }
	a.equal = func(x, y verifier) bool { compared++; return x.equal(y) }
	p, err := a.Create("P", 0)
	require.NoError(t, err)
	c, err := a.Create("C", 0)
	require.NoError(t, err)
	_, err = a.Confirm("C", c.ID, c.Secret, 0)
	require.NoError(t, err)
	r, err := a.Create("R", 0)
	require.NoError(t, err)
	_, err = a.Confirm("R", r.ID, r.Secret, 0)
	require.NoError(t, err)
	_, err = a.Rotate("R", r.ID, 1, 0)
	require.NoError(t, err)

	wrong, err := ParseSecret("guess")
	require.NoError(t, err)
	for _, id := range []ID{"nobody", p.ID, c.ID, r.ID} {
		for name, call := range map[string]func() error{
			"confirm":        func() error { _, err := a.Confirm("X", id, wrong, 0); return err },
			"resume":         func() error { _, err := a.Resume("X", id, wrong, 0); return err },
			"rotate_confirm": func() error { _, err := a.RotateConfirm("X", id, 1, wrong, 0); return err },
		} {
			hashes, compared = 0, 0
			require.Equal(t, ErrRejected, call())
			require.Equal(t, 1, hashes, name)
			require.Equal(t, 2, compared, name)
			require.Zero(t, testing.AllocsPerRun(10, func() { _ = call() }), name)
		}
	}
}

// An executor that is not there has no proof that could ever be right.
func TestNobodyIsNeverProved(t *testing.T) {
	a, err := New(rand.NewChaCha8([32]byte{1}), Limits{})
	require.NoError(t, err)
	a.sum = func(Secret) verifier { return verifier{} } // what nobody's verifier is
	s, err := ParseSecret("x")
	require.NoError(t, err)
	_, err = a.Resume("A", "nobody", s, 0)
	require.Equal(t, ErrRejected, err)

	c, err := a.Create("B", 0)
	require.NoError(t, err)
	_, err = a.Resume("A", c.ID, s, 0)
	require.Equal(t, ErrRejected, err, "nor is a candidate that is not there")
}

func TestGenerationsEndAtTheLargestSafeInteger(t *testing.T) {
	a, err := New(rand.NewChaCha8([32]byte{1}), Limits{})
	require.NoError(t, err)
	c, err := a.Create("A", 0)
	require.NoError(t, err)
	a.executors[c.ID].generation = maxGeneration - 1
	r, err := a.Resume("A", c.ID, c.Secret, time.Second)
	require.NoError(t, err)
	require.EqualValues(t, 1<<53-1, r.Generation)
	_, err = a.Resume("B", c.ID, c.Secret, time.Second)
	require.ErrorIs(t, err, ErrLimit)
	require.True(t, a.Attached("A", c.ID, 1<<53-1, time.Second), "the connection that has it keeps it")
}
