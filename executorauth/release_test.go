package executorauth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// rule
func TestReleaseDiscardsBothProofs(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	r, err := a.Release("A", c.ID, 1, 0)
	require.NoError(t, err)
	require.Equal(t, executorauth.Released{ID: c.ID}, r)
	for _, s := range []executorauth.Secret{c.Secret, candidate} {
		_, err = a.Resume("B", c.ID, s, 0)
		require.Equal(t, executorauth.ErrRejected, err)
		_, err = a.Confirm("A", c.ID, s, 0)
		require.Equal(t, executorauth.ErrRejected, err)
		_, err = a.RotateConfirm("A", c.ID, 1, s, 0)
		require.Equal(t, executorauth.ErrRejected, err)
	}
	_, err = a.Release("A", c.ID, 1, 0)
	require.Equal(t, executorauth.ErrRejected, err)
	require.Zero(t, a.Counts(0))
	_, waiting := a.NextDeadline()
	require.False(t, waiting)
	_, err = a.Create("A", 0)
	require.NoError(t, err, "the connection's place is free")
}

// rule: A-155
func TestRestartDiscardsEveryProof(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	restarted, err := executorauth.New(random(2), executorauth.Limits{})
	require.NoError(t, err)
	for _, s := range []executorauth.Secret{c.Secret, candidate} {
		_, err = restarted.Resume("B", c.ID, s, 0)
		require.Equal(t, executorauth.ErrRejected, err)
	}
}

// rule: W-229
func TestReleaseNeedsTheAttachedConnectionAndTheGeneration(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	_, err := a.Release("B", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Release("A", c.ID, 2, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	a.Disconnect("A", 0)
	_, err = a.Release("A", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	require.Equal(t, 1, a.Counts(0).Executors)
}

func TestAProvisionalExecutorCanBeReleasedByItsConnection(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	_, err := a.Release("B", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Release("A", c.ID, 1, 0)
	require.NoError(t, err)
	_, err = a.Create("A", 0)
	require.NoError(t, err)
}

// rule: W-237
func TestReleaseWhilePinnedLeavesNobodyToAnswer(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	first, err := a.Pin("A", c.ID, 1, 0)
	require.NoError(t, err)
	second, err := a.Pin("A", c.ID, 1, 0)
	require.NoError(t, err)
	r, err := a.Release("A", c.ID, 1, 0)
	require.NoError(t, err)
	require.Equal(t, executorauth.Released{ID: c.ID, Pins: 2}, r)

	require.False(t, a.Attached("A", c.ID, 1, 0))
	_, _, attached := a.Route(c.ID, 0)
	require.False(t, attached)
	next := confirmed(t, a, "A")
	require.NotEqual(t, c.ID, next.ID)
	_, _, attached = a.Route(c.ID, 0)
	require.False(t, attached, "a new executor on the connection does not stand in for it")

	require.False(t, a.Unpin(first, 0), "the pins went with it")
	require.False(t, a.Unpin(second, 0))
	require.Zero(t, status(t, a, next.ID, 0).Pins)
}

func TestDisconnectDetachesAtOnceAndOnlyOnce(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	id, held := a.Disconnect("A", 0)
	require.True(t, held)
	require.Equal(t, c.Identity, id)
	require.False(t, a.Attached("A", c.ID, 1, 0))
	_, _, attached := a.Route(c.ID, 0)
	require.False(t, attached)
	before := status(t, a, c.ID, 0)

	_, held = a.Disconnect("A", 5)
	require.False(t, held)
	_, held = a.Disconnect("stranger", 5)
	require.False(t, held)
	require.Equal(t, before, status(t, a, c.ID, 5), "the idle time goes on")
}
