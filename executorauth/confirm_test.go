package executorauth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

func TestConfirmOnTheIssuingConnection(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	require.False(t, a.Attached("A", c.ID, 1, 0), "not yet")
	id, err := a.Confirm("A", c.ID, c.Secret, 0)
	require.NoError(t, err)
	require.Equal(t, c.Identity, id)
	require.True(t, a.Attached("A", c.ID, 1, 0))
	require.Equal(t, executorauth.Status{
		Identity: c.Identity, State: executorauth.Confirmed, Conn: "A",
	}, status(t, a, c.ID, 0))
	_, waiting := a.NextDeadline()
	require.False(t, waiting, "an attached executor never expires")
}

// rule: W-230
func TestConfirmAgainIsStale(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	for _, conn := range []executorauth.ConnID{"A", "B"} {
		_, err := a.Confirm(conn, c.ID, c.Secret, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
	}
	require.True(t, a.Attached("A", c.ID, 1, 0))

	_, err := a.Resume("B", c.ID, c.Secret, 0)
	require.NoError(t, err)
	for _, conn := range []executorauth.ConnID{"A", "B"} {
		_, err := a.Confirm(conn, c.ID, c.Secret, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
	}
	require.True(t, a.Attached("B", c.ID, 2, 0))
}

// rule: W-231
func TestConfirmElsewhereIsStale(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	_, err := a.Confirm("B", c.ID, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	a.Disconnect("A", 0)
	_, err = a.Confirm("B", c.ID, c.Secret, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	require.Equal(t, executorauth.Provisional, status(t, a, c.ID, 0).State)
}

// rule: A-135, M-124
func TestConfirmAtTheDeadlineIsTooLate(t *testing.T) {
	for _, c := range []struct {
		offset int
		want   error
	}{{-1, nil}, {0, executorauth.ErrRejected}, {1, executorauth.ErrRejected}} {
		a := newAuthority(t)
		e := provisional(t, a, "A")
		_, err := a.Confirm("A", e.ID, e.Secret, confirmTimeout+dur(c.offset))
		require.ErrorIs(t, err, c.want, "%+d ns", c.offset)
	}
}

func TestConfirmWithACandidateIsStale(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	_, err := a.Confirm("A", c.ID, candidate, 0)
	require.ErrorIs(t, err, executorauth.ErrStale)
	require.Equal(t, executorauth.Rotating, status(t, a, c.ID, 0).State)
}

func TestConfirmWithAWrongSecretLeavesThePlaceAndTheTime(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	before := status(t, a, c.ID, 0)
	_, err := a.Confirm("A", c.ID, secret(t, "guess"), 5)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	require.Equal(t, before, status(t, a, c.ID, 5))
	_, err = a.Confirm("A", c.ID, c.Secret, 6)
	require.NoError(t, err)
}

func TestErrorTextsAreOneLineWithoutIDsOrSecrets(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	p := provisional(t, a, "P")
	var errs []error
	note := func(err error) {
		require.Error(t, err)
		errs = append(errs, err)
	}
	_, err := a.Create("A", 0)
	note(err)
	_, err = a.Confirm("A", c.ID, c.Secret, 0)
	note(err)
	_, err = a.Confirm("B", p.ID, p.Secret, 0)
	note(err)
	_, err = a.Resume("P", c.ID, candidate, 0)
	note(err)
	_, err = a.Rotate("B", c.ID, 1, 0)
	note(err)
	_, err = a.Rotate("A", c.ID, 2, 0)
	note(err)
	_, err = a.Rotate("P", p.ID, 1, 0)
	note(err)
	_, err = a.RotateConfirm("A", c.ID, 1, c.Secret, 0)
	note(err)
	_, err = a.RotateConfirm("P", p.ID, 1, p.Secret, 0)
	note(err)
	_, err = executorauth.ParseSecret("")
	note(err)
	for _, err := range errs {
		require.Regexp(t, `^[ -~]{10,100}$`, err.Error())
		for _, hidden := range []string{string(c.ID), string(p.ID), c.Secret.Reveal(), p.Secret.Reveal(), candidate.Reveal()} {
			require.NotContains(t, err.Error(), hidden)
		}
	}
}
