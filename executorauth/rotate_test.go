package executorauth_test

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// rule: A-146
func TestRotateGivesAFreshSecretAndKeepsTheOldProof(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	r, err := a.Rotate("A", c.ID, 1, 10)
	require.NoError(t, err)
	require.Equal(t, c.Identity, r.Identity)
	require.NotEqual(t, c.Secret.Reveal(), r.Secret.Reveal())
	require.Len(t, r.Secret.Reveal(), 43)
	require.Equal(t, 60*time.Second, r.Timeout)
	require.Equal(t, executorauth.Status{
		Identity: c.Identity, State: executorauth.Rotating, Conn: "A", Rotation: 10 + rotationTimeout,
	}, status(t, a, c.ID, 10))
	_, err = a.Resume("B", c.ID, c.Secret, 10)
	require.NoError(t, err)
}

// rule: A-147
func TestRotateAgainReplacesTheCandidateAndItsTime(t *testing.T) {
	a := newAuthority(t)
	c, first := rotating(t, a, "A")
	r, err := a.Rotate("A", c.ID, 1, 40*time.Second)
	require.NoError(t, err)
	require.NotEqual(t, first.Reveal(), r.Secret.Reveal())

	_, err = a.RotateConfirm("A", c.ID, 1, first, 40*time.Second)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	_, err = a.Resume("B", c.ID, first, 40*time.Second)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	require.Equal(t, 100*time.Second, status(t, a, c.ID, 60*time.Second).Rotation, "the time of the newer one")
	_, err = a.RotateConfirm("A", c.ID, 1, r.Secret, 100*time.Second-1)
	require.NoError(t, err)
}

// rule: A-148
func TestRotateConfirmPromotesWithoutAGeneration(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	id, err := a.RotateConfirm("A", c.ID, 1, candidate, 0)
	require.NoError(t, err)
	require.Equal(t, c.Identity, id)
	require.True(t, a.Attached("A", c.ID, 1, 0))
	require.Equal(t, executorauth.Status{Identity: c.Identity, State: executorauth.Confirmed, Conn: "A"}, status(t, a, c.ID, 0))

	_, err = a.Resume("B", c.ID, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	_, err = a.Resume("B", c.ID, candidate, time.Hour)
	require.NoError(t, err, "and it does not expire with the rotation")
}

// rule: W-230, W-232
func TestRotateConfirmWithoutACandidateIsStale(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	for _, s := range []executorauth.Secret{c.Secret, secret(t, "guess")} {
		_, err := a.RotateConfirm("A", c.ID, 1, s, 0)
		require.ErrorIs(t, err, executorauth.ErrStale, "never rotated")
	}
	r, err := a.Rotate("A", c.ID, 1, 0)
	require.NoError(t, err)
	_, err = a.RotateConfirm("A", c.ID, 1, r.Secret, 0)
	require.NoError(t, err)
	_, err = a.RotateConfirm("A", c.ID, 1, r.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale, "confirmed already")
	_, err = a.RotateConfirm("A", c.ID, 1, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
}

func TestRotateConfirmWithAnotherSecretKeepsTheCandidate(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	for _, s := range []executorauth.Secret{c.Secret, secret(t, "guess"), {}} {
		_, err := a.RotateConfirm("A", c.ID, 1, s, 0)
		require.ErrorIs(t, err, executorauth.ErrRejected)
	}
	_, err := a.RotateConfirm("A", c.ID, 1, candidate, 0)
	require.NoError(t, err)
}

// rule: W-229
func TestRotationNeedsTheAttachedConnectionAndTheGeneration(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	for _, from := range []struct {
		conn       executorauth.ConnID
		generation int64
	}{{"B", 1}, {"B", 2}, {"A", 0}, {"A", 2}, {"A", -1}} {
		_, err := a.Rotate(from.conn, c.ID, from.generation, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
		_, err = a.RotateConfirm(from.conn, c.ID, from.generation, candidate, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
	}
	_, err := a.RotateConfirm("A", c.ID, 1, candidate, 0)
	require.NoError(t, err, "none of these replaced or dropped the candidate")
}

func TestRotateOfAProvisionalExecutorIsStale(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	_, err := a.Rotate("A", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.RotateConfirm("A", c.ID, 1, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
}

func TestRotateWithoutRandomnessChangesNothing(t *testing.T) {
	cause := errors.New("the well is dry")
	source := io.MultiReader(io.LimitReader(random(1), 16+32+32+31), iotest.ErrReader(cause))
	a, err := executorauth.New(source, executorauth.Limits{})
	require.NoError(t, err)
	c, candidate := rotating(t, a, "A")
	_, err = a.Rotate("A", c.ID, 1, 5)
	require.ErrorIs(t, err, executorauth.ErrRandom)
	require.Equal(t, rotationTimeout, status(t, a, c.ID, 5).Rotation)
	_, err = a.RotateConfirm("A", c.ID, 1, candidate, 5)
	require.NoError(t, err, "the first candidate still waits")
}

// rule: A-149
func TestResumeWithTheCandidatePromotesItAndFences(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	r, err := a.Resume("B", c.ID, candidate, rotationTimeout-1)
	require.NoError(t, err)
	require.Equal(t, executorauth.Resumed{
		Identity: executorauth.Identity{ID: c.ID, Generation: 2}, Fenced: "A", Promoted: true,
	}, r)
	require.False(t, a.Attached("A", c.ID, 1, rotationTimeout-1))
	require.True(t, a.Attached("B", c.ID, 2, rotationTimeout-1))
	_, err = a.Resume("C", c.ID, c.Secret, rotationTimeout-1)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	_, err = a.Resume("C", c.ID, candidate, time.Hour)
	require.NoError(t, err)
}

// rule: A-150
func TestResumeWithTheOldProofCancelsTheCandidate(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	r, err := a.Resume("B", c.ID, c.Secret, 0)
	require.NoError(t, err)
	require.True(t, r.Cancelled)
	require.False(t, r.Promoted)
	_, err = a.RotateConfirm("B", c.ID, 2, candidate, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Resume("C", c.ID, candidate, 0)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	require.Equal(t, executorauth.Confirmed, status(t, a, c.ID, 0).State)
	_, waiting := a.NextDeadline()
	require.False(t, waiting)
}

// rule: A-151, M-124
func TestACandidateExpires60SecondsAfterItsRotation(t *testing.T) {
	const at = 17 * time.Second
	for _, offset := range []int{-1, 0, 1} {
		now := at + rotationTimeout + dur(offset)
		begin := func() (*executorauth.Authority, executorauth.Created, executorauth.Secret) {
			a := newAuthority(t)
			c := confirmed(t, a, "A")
			r, err := a.Rotate("A", c.ID, 1, at)
			require.NoError(t, err)
			return a, c, r.Secret
		}
		alive := offset < 0

		a, c, candidate := begin()
		_, err := a.RotateConfirm("A", c.ID, 1, candidate, now)
		require.ErrorIs(t, err, pick(alive, nil, executorauth.ErrStale), "rotate_confirm at %+d", offset)

		a, c, candidate = begin()
		_, err = a.Resume("B", c.ID, candidate, now)
		require.ErrorIs(t, err, pick(alive, nil, executorauth.ErrRejected), "resume with the candidate at %+d", offset)

		a, c, _ = begin()
		r, err := a.Resume("B", c.ID, c.Secret, now)
		require.NoError(t, err, "the old proof lives on")
		require.Equal(t, alive, r.Cancelled)

		a, c, _ = begin()
		s, err := a.Rotate("A", c.ID, 1, now)
		require.NoError(t, err, "rotating again is always possible")
		require.Equal(t, now+rotationTimeout, status(t, a, c.ID, now).Rotation)
		_, err = a.RotateConfirm("A", c.ID, 1, s.Secret, now)
		require.NoError(t, err)
	}
}

// rule: A-154
func TestDisconnectDoesNotExtendACandidate(t *testing.T) {
	for _, offset := range []int{-1, 0, 1} {
		a := newAuthority(t)
		c, candidate := rotating(t, a, "A")
		a.Disconnect("A", rotationTimeout-2)
		require.Equal(t, rotationTimeout, status(t, a, c.ID, rotationTimeout-2).Rotation)
		_, err := a.Resume("B", c.ID, candidate, rotationTimeout+dur(offset))
		require.ErrorIs(t, err, pick(offset < 0, nil, executorauth.ErrRejected), "%+d ns", offset)
	}
}

func pick(yes bool, a, b error) error {
	if yes {
		return a
	}
	return b
}
