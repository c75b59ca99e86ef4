package executorauth_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// Every deadline meets every method at -1, 0 and +1 ns. Before the deadline the
// method finds the thing that expires; from the deadline on it does not, and
// Expire finds nothing left to do.
//
// rule: M-124
func TestExpiryWinsTiesAgainstEveryMethod(t *testing.T) {
	type world struct {
		a         *executorauth.Authority
		e         executorauth.Created
		candidate executorauth.Secret
	}
	methods := map[string]func(w world, now time.Duration){
		"Create":        func(w world, now time.Duration) { _, _ = w.a.Create("X", now) },
		"Confirm":       func(w world, now time.Duration) { _, _ = w.a.Confirm("X", w.e.ID, w.e.Secret, now) },
		"Resume":        func(w world, now time.Duration) { _, _ = w.a.Resume("X", "nobody", w.e.Secret, now) },
		"Rotate":        func(w world, now time.Duration) { _, _ = w.a.Rotate("X", w.e.ID, 1, now) },
		"RotateConfirm": func(w world, now time.Duration) { _, _ = w.a.RotateConfirm("X", w.e.ID, 1, w.candidate, now) },
		"Release":       func(w world, now time.Duration) { _, _ = w.a.Release("X", w.e.ID, 1, now) },
		"Disconnect":    func(w world, now time.Duration) { w.a.Disconnect("X", now) },
		"Pin":           func(w world, now time.Duration) { _, _ = w.a.Pin("X", w.e.ID, 1, now) },
		"Unpin":         func(w world, now time.Duration) { w.a.Unpin(executorauth.Pin{}, now) },
		"Authorize":     func(w world, now time.Duration) { _ = w.a.Authorize("X", w.e.ID, 1, now) },
		"Attached":      func(w world, now time.Duration) { w.a.Attached("X", w.e.ID, 1, now) },
		"Route":         func(w world, now time.Duration) { w.a.Route(w.e.ID, now) },
		"Held":          func(w world, now time.Duration) { w.a.Held("X", now) },
		"Lookup":        func(w world, now time.Duration) { w.a.Lookup(w.e.ID, now) },
		"Counts":        func(w world, now time.Duration) { w.a.Counts(now) },
	}
	deadlines := []struct {
		what  executorauth.Expiry
		at    time.Duration
		begin func(t *testing.T) world
	}{
		{executorauth.ExpiredUnconfirmed, confirmTimeout, func(t *testing.T) world {
			a := newAuthority(t)
			return world{a: a, e: provisional(t, a, "A")}
		}},
		{executorauth.ExpiredCandidate, rotationTimeout, func(t *testing.T) world {
			a := newAuthority(t)
			e, s := rotating(t, a, "A")
			return world{a, e, s}
		}},
		{executorauth.ExpiredIdle, idleTimeout, func(t *testing.T) world {
			a := newAuthority(t)
			w := world{a: a, e: confirmed(t, a, "A")}
			a.Disconnect("A", 0)
			return w
		}},
	}
	for _, d := range deadlines {
		for name, call := range methods {
			for _, offset := range []int{-1, 0, 1} {
				w := d.begin(t)
				now := d.at + dur(offset)
				next, waiting := w.a.NextDeadline()
				require.True(t, waiting)
				require.Equal(t, d.at, next)
				call(w, now)
				if offset < 0 {
					require.Empty(t, w.a.Expire(now), "%s before %s", name, d.what)
					require.Equal(t, []executorauth.Expired{{ID: w.e.ID, What: d.what, At: d.at}}, w.a.Expire(d.at),
						"%s before %s", name, d.what)
				} else {
					require.Empty(t, w.a.Expire(now), "%s at or after %s has let go of it", name, d.what)
				}
			}
		}
	}
}

func TestExpireReportsByTime(t *testing.T) {
	a := newAuthority(t)
	p := provisional(t, a, "A")
	r, _ := rotating(t, a, "B")
	i := confirmed(t, a, "C")
	a.Disconnect("C", 0)
	a.Disconnect("B", 5)

	same := []executorauth.Expired{
		{ID: p.ID, What: executorauth.ExpiredUnconfirmed, At: confirmTimeout},
		{ID: r.ID, What: executorauth.ExpiredCandidate, At: rotationTimeout},
	}
	if same[0].ID > same[1].ID {
		same[0], same[1] = same[1], same[0]
	}
	require.Equal(t, same, a.Expire(10*time.Minute))
	require.Equal(t, []executorauth.Expired{
		{ID: i.ID, What: executorauth.ExpiredIdle, At: idleTimeout},
		{ID: r.ID, What: executorauth.ExpiredIdle, At: idleTimeout + 5},
	}, a.Expire(time.Hour))
	require.Zero(t, a.Counts(time.Hour))
	_, waiting := a.NextDeadline()
	require.False(t, waiting)
}

func TestAnIdleExecutorTakesItsCandidateAlong(t *testing.T) {
	a, err := executorauth.New(random(1), executorauth.Limits{RotationTimeout: 5, IdleTimeout: 3})
	require.NoError(t, err)
	c, candidate := rotating(t, a, "A")
	a.Disconnect("A", 0)
	require.Equal(t, []executorauth.Expired{{ID: c.ID, What: executorauth.ExpiredIdle, At: 3}}, a.Expire(10))
	_, err = a.Resume("B", c.ID, candidate, 10)
	require.ErrorIs(t, err, executorauth.ErrRejected)
}

func TestAProvisionalExecutorKeepsItsDeadlineAcrossADisconnect(t *testing.T) {
	a := newAuthority(t)
	c := provisional(t, a, "A")
	a.Disconnect("A", confirmTimeout-1)
	require.Equal(t, confirmTimeout, status(t, a, c.ID, confirmTimeout-1).Expires)
	_, err := a.Resume("B", c.ID, c.Secret, confirmTimeout)
	require.ErrorIs(t, err, executorauth.ErrRejected)
}

func TestTimeNeverGoesBack(t *testing.T) {
	a := newAuthority(t)
	p := provisional(t, a, "A")
	gone(t, a, p.ID, time.Hour)

	c, err := a.Create("A", -time.Hour)
	require.NoError(t, err)
	require.Equal(t, time.Hour+confirmTimeout, status(t, a, c.ID, 0).Expires, "counted from the largest time seen")
	_, err = a.Confirm("A", c.ID, c.Secret, 0)
	require.NoError(t, err)
}

func TestDeadlinesBeyondTheEndOfTimeNeverCome(t *testing.T) {
	const end = time.Duration(math.MaxInt64)
	a := newAuthority(t)
	attached := confirmed(t, a, "A")
	last, err := a.Create("B", end-time.Second)
	require.NoError(t, err)
	require.Empty(t, a.Expire(end))
	require.True(t, a.Attached("A", attached.ID, 1, end), "an executor without a deadline has none at the end of time either")
	_, err = a.Confirm("B", last.ID, last.Secret, end)
	require.NoError(t, err)
	_, waiting := a.NextDeadline()
	require.False(t, waiting)
}
