package executorauth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

func dur(ns int) time.Duration { return time.Duration(ns) }

// rule: A-136
func TestResumeConfirmsALiveProvisionalExecutor(t *testing.T) {
	for _, where := range []struct {
		name   string
		before func(*executorauth.Authority)
		conn   executorauth.ConnID
		fenced executorauth.ConnID
	}{
		{"on its own connection", func(*executorauth.Authority) {}, "A", ""},
		{"elsewhere", func(*executorauth.Authority) {}, "B", "A"},
		{"after the connection is lost", func(a *executorauth.Authority) { a.Disconnect("A", 0) }, "B", ""},
	} {
		t.Run(where.name, func(t *testing.T) {
			a := newAuthority(t)
			c := provisional(t, a, "A")
			where.before(a)
			r, err := a.Resume(where.conn, c.ID, c.Secret, confirmTimeout-1)
			require.NoError(t, err)
			require.Equal(t, executorauth.Resumed{
				Identity: executorauth.Identity{ID: c.ID, Generation: 2}, Fenced: where.fenced, Confirmed: true,
			}, r)
			require.Equal(t, executorauth.Status{
				Identity: r.Identity, State: executorauth.Confirmed, Conn: where.conn,
			}, status(t, a, c.ID, time.Hour), "no deadline is left")
		})
	}
}

// rule: A-137
func TestResumeReattachesAndRaisesTheGenerationByOne(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	conn := executorauth.ConnID("A")
	for generation := int64(2); generation < 20; generation++ {
		a.Disconnect(conn, 0)
		require.False(t, a.Attached(conn, c.ID, generation-1, 0))
		conn += "A"
		r, err := a.Resume(conn, c.ID, c.Secret, 0)
		require.NoError(t, err)
		require.Equal(t, executorauth.Resumed{Identity: executorauth.Identity{ID: c.ID, Generation: generation}}, r)
		require.True(t, a.Attached(conn, c.ID, generation, 0))
		require.False(t, a.Attached(conn, c.ID, generation-1, 0))
		require.False(t, a.Attached(conn, c.ID, generation+1, 0))
	}
}

// rule: W-234
func TestResumeOnTheHoldingConnectionRaisesTheGeneration(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	r, err := a.Resume("A", c.ID, c.Secret, 0)
	require.NoError(t, err)
	require.Equal(t, executorauth.Resumed{Identity: executorauth.Identity{ID: c.ID, Generation: 2}}, r, "nobody is fenced")
	require.False(t, a.Attached("A", c.ID, 1, 0))
	require.True(t, a.Attached("A", c.ID, 2, 0))
}

// rule: W-235, W-229
func TestResumeElsewhereFencesTheOldConnection(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	r, err := a.Resume("B", c.ID, c.Secret, 0)
	require.NoError(t, err)
	require.Equal(t, executorauth.ConnID("A"), r.Fenced)

	for generation := range int64(4) { // whatever generation it names
		require.False(t, a.Attached("A", c.ID, generation, 0))
		require.ErrorIs(t, a.Authorize("A", c.ID, generation, 0), executorauth.ErrStale)
		_, err = a.Rotate("A", c.ID, generation, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
		_, err = a.RotateConfirm("A", c.ID, generation, c.Secret, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
		_, err = a.Release("A", c.ID, generation, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
	}
	_, err = a.Resume("A", c.ID, candidate, 0)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	conn, generation, ok := a.Route(c.ID, 0)
	require.True(t, ok)
	require.Equal(t, executorauth.ConnID("B"), conn)
	require.EqualValues(t, 2, generation)

	_, held := a.Disconnect("A", 0)
	require.False(t, held, "the end of the fenced connection changes nothing")
	require.True(t, a.Attached("B", c.ID, 2, 0))
}

// rule: W-233
func TestResumeOfASecondExecutorIsAConflict(t *testing.T) {
	a := newAuthority(t)
	first, candidate := rotating(t, a, "A")
	second := confirmed(t, a, "B")
	third := provisional(t, a, "C")
	for _, conn := range []executorauth.ConnID{"B", "C"} { // attached, provisional
		for _, s := range []executorauth.Secret{first.Secret, candidate} {
			_, err := a.Resume(conn, first.ID, s, 0)
			require.ErrorIs(t, err, executorauth.ErrConflict)
		}
		_, err := a.Resume(conn, first.ID, secret(t, "guess"), 0)
		require.ErrorIs(t, err, executorauth.ErrRejected, "the proof comes first")
	}
	require.True(t, a.Attached("A", first.ID, 1, 0))
	require.Equal(t, executorauth.Rotating, status(t, a, first.ID, 0).State, "the candidate still waits")
	require.True(t, a.Attached("B", second.ID, 1, 0))
	require.Equal(t, executorauth.Provisional, status(t, a, third.ID, 0).State)
}

// rule: W-228
func TestUnknownIDAndWrongSecretAnswerAlike(t *testing.T) {
	const nobody = "00000000-0000-4000-8000-000000000000"
	a := newAuthority(t)
	p := provisional(t, a, "A")
	c := confirmed(t, a, "B")
	r, _ := rotating(t, a, "C")
	wrong := secret(t, "guess")

	_, want := a.Resume("X", nobody, wrong, 0)
	require.Equal(t, executorauth.ErrRejected, want, "the bare sentinel: one text")
	for _, id := range []executorauth.ID{nobody, p.ID, c.ID, r.ID, "", "not an ID"} {
		for _, conn := range []executorauth.ConnID{"X", "A"} {
			_, err := a.Confirm(conn, id, wrong, 0)
			require.Equal(t, want, err)
			_, err = a.Resume(conn, id, wrong, 0)
			require.Equal(t, want, err)
		}
		_, err := a.RotateConfirm("X", id, 1, wrong, 0)
		require.Equal(t, want, err)
	}
	// The right secret of one executor is a wrong one of another.
	_, err := a.Resume("X", c.ID, p.Secret, 0)
	require.Equal(t, want, err)
	// Rotate and release carry no secret; an ID that is nobody's is still refused alike.
	_, err = a.Rotate("X", nobody, 1, 0)
	require.Equal(t, want, err)
	_, err = a.Release("X", nobody, 1, 0)
	require.Equal(t, want, err)
}

// complaint: 1 openai/codex#35894 - a client without the call answered it first, and the tool ran twice
func TestComplaint1Codex35894OnlyTheAttachedConnectionSpeaks(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	pin, err := a.Pin("A", c.ID, 1, 0)
	require.NoError(t, err)
	r, err := a.Resume("B", c.ID, c.Secret, 0)
	require.NoError(t, err)

	require.False(t, a.Attached("A", c.ID, 1, 0), "fenced")
	require.False(t, a.Attached("A", c.ID, 2, 0), "fenced, and guessing the generation")
	require.False(t, a.Attached("C", c.ID, 2, 0), "a stranger")
	require.True(t, a.Attached("B", c.ID, r.Generation, 0))
	require.True(t, a.Unpin(pin, 0))
}
