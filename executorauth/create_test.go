package executorauth_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// rule: W-057
func TestCreateIssues32RandomBytesAsUnpaddedBase64URL(t *testing.T) {
	a := newAuthority(t)
	seen := map[string]bool{}
	for i := range 200 {
		c := provisional(t, a, executorauth.ConnID(fmt.Sprint(i)))
		raw, err := base64.RawURLEncoding.Strict().DecodeString(c.Secret.Reveal())
		require.NoError(t, err)
		require.Len(t, raw, 32)
		require.False(t, seen[c.Secret.Reveal()], "a secret came twice")
		seen[c.Secret.Reveal()] = true

		u, err := uuid.Parse(string(c.ID))
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), u.Version())
		require.Equal(t, u.String(), string(c.ID), "the canonical form")
		require.EqualValues(t, 1, c.Generation)
	}
}

func TestCreateTakesEveryRandomByteFromTheGivenReader(t *testing.T) {
	a, err := executorauth.New(random(7), executorauth.Limits{})
	require.NoError(t, err)
	c := provisional(t, a, "A")

	source := random(7)
	id, err := uuid.NewRandomFromReader(source)
	require.NoError(t, err)
	raw := make([]byte, 32)
	_, err = io.ReadFull(source, raw)
	require.NoError(t, err)
	require.Equal(t, executorauth.ID(id.String()), c.ID)
	require.Equal(t, base64.RawURLEncoding.EncodeToString(raw), c.Secret.Reveal())
}

// rule: W-233
func TestCreateOnAConnectionThatHasAnExecutorIsAConflict(t *testing.T) {
	t.Run("provisional", func(t *testing.T) {
		a := newAuthority(t)
		provisional(t, a, "A")
		_, err := a.Create("A", 0)
		require.ErrorIs(t, err, executorauth.ErrConflict)
		_, err = a.Create("A", confirmTimeout-1)
		require.ErrorIs(t, err, executorauth.ErrConflict)
		_, err = a.Create("A", confirmTimeout)
		require.NoError(t, err, "the first one has expired")
	})
	t.Run("attached", func(t *testing.T) {
		a := newAuthority(t)
		confirmed(t, a, "A")
		_, err := a.Create("A", 0)
		require.ErrorIs(t, err, executorauth.ErrConflict)
	})
	t.Run("fenced", func(t *testing.T) {
		a := newAuthority(t)
		c := confirmed(t, a, "A")
		_, err := a.Resume("B", c.ID, c.Secret, 0)
		require.NoError(t, err)
		_, err = a.Create("A", 0)
		require.NoError(t, err, "the connection has nothing any more")
	})
}

// rule: A-138
func TestCreateStopsAt256Executors(t *testing.T) {
	a := newAuthority(t)
	conn := func(i int) executorauth.ConnID { return executorauth.ConnID(fmt.Sprint("c", i)) }
	var last executorauth.Created
	for i := range 256 {
		last = provisional(t, a, conn(i))
		if i%2 == 0 { // provisional and confirmed ones count alike
			_, err := a.Confirm(conn(i), last.ID, last.Secret, 0)
			require.NoError(t, err)
		}
		if i%3 == 0 { // and so do detached ones
			a.Disconnect(conn(i), 0)
		}
	}
	require.Equal(t, 256, a.Counts(0).Executors)
	_, err := a.Create("one more", 0)
	require.ErrorIs(t, err, executorauth.ErrLimit)
	require.Equal(t, 256, a.Counts(0).Executors)

	_, err = a.Create(conn(255), 0)
	require.NotErrorIs(t, err, executorauth.ErrConflict, "255 was detached; only the number is in its way")
	require.ErrorIs(t, err, executorauth.ErrLimit)
	_, err = a.Create(conn(254), 0)
	require.ErrorIs(t, err, executorauth.ErrConflict, "the place is looked at before the number")

	held, ok := a.Held(conn(254), 0)
	require.True(t, ok)
	_, err = a.Release(conn(254), held.ID, held.Generation, 0)
	require.NoError(t, err)
	_, err = a.Create("one more", 0)
	require.NoError(t, err, "a release makes room")
}

func TestCreateWithoutRandomnessChangesNothing(t *testing.T) {
	cause := errors.New("the well is dry")
	for length := range int64(16 + 32) { // the ID takes 16 bytes, the secret 32
		source := io.MultiReader(io.LimitReader(random(1), length), iotest.ErrReader(cause))
		a, err := executorauth.New(source, executorauth.Limits{})
		require.NoError(t, err)
		_, err = a.Create("A", 0)
		require.ErrorIs(t, err, executorauth.ErrRandom)
		require.ErrorIs(t, err, cause)
		require.NotContains(t, err.Error(), "dry", "the cause is not for people")
		require.Zero(t, a.Counts(0))
		_, held := a.Held("A", 0)
		require.False(t, held)
		_, waiting := a.NextDeadline()
		require.False(t, waiting)
	}
}

// repeat gives the same bytes for ever.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestARepeatingSourceOfRandomnessIsRefused(t *testing.T) {
	a, err := executorauth.New(repeat(9), executorauth.Limits{})
	require.NoError(t, err)
	c := confirmed(t, a, "A")
	_, err = a.Create("B", 0)
	require.ErrorIs(t, err, executorauth.ErrRandom)
	_, err = a.Rotate("A", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrRandom)
	require.Equal(t, executorauth.Counts{Executors: 1, Attached: 1}, a.Counts(0))
}

func TestNewRefusesUnusableArguments(t *testing.T) {
	_, err := executorauth.New(nil, executorauth.Limits{})
	require.ErrorIs(t, err, executorauth.ErrConfig)
	for _, l := range []executorauth.Limits{
		{MaxExecutors: -1}, {ConfirmTimeout: -1}, {RotationTimeout: -1}, {IdleTimeout: -1},
	} {
		_, err := executorauth.New(random(1), l)
		require.ErrorIs(t, err, executorauth.ErrConfig)
	}
}

func TestLimitsAreTheOnesGiven(t *testing.T) {
	a, err := executorauth.New(random(1), executorauth.Limits{
		MaxExecutors: 2, ConfirmTimeout: 3, RotationTimeout: 5, IdleTimeout: 7,
	})
	require.NoError(t, err)
	p := provisional(t, a, "A")
	c := confirmed(t, a, "B")
	_, err = a.Create("C", 0)
	require.ErrorIs(t, err, executorauth.ErrLimit)
	require.EqualValues(t, 3, status(t, a, p.ID, 0).Expires)
	r, err := a.Rotate("B", c.ID, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, 5, r.Timeout)
	a.Disconnect("B", 2)
	require.EqualValues(t, 6, status(t, a, c.ID, 2).Rotation)
	require.EqualValues(t, 9, status(t, a, c.ID, 2).Expires)
}

func TestNoConnectionCanHoldNothing(t *testing.T) {
	a := newAuthority(t)
	c, s := rotating(t, a, "A")
	a.Disconnect("A", 0)
	_, err := a.Create("", 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Resume("", c.ID, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Rotate("", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.RotateConfirm("", c.ID, 1, s, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	_, err = a.Release("", c.ID, 1, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	require.False(t, a.Attached("", c.ID, 1, 0))
	_, held := a.Disconnect("", 0)
	require.False(t, held)

	p := provisional(t, a, "B")
	a.Disconnect("B", 0)
	_, err = a.Confirm("", p.ID, p.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
}
