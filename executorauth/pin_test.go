package executorauth_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// rule: A-139, M-124
func TestAnUnpinnedDetachedExecutorExpiresAfter15Minutes(t *testing.T) {
	const at = 3 * time.Second
	for _, offset := range []int{-1, 0, 1} {
		a := newAuthority(t)
		c := confirmed(t, a, "A")
		a.Disconnect("A", at)
		next, waiting := a.NextDeadline()
		require.True(t, waiting)
		require.Equal(t, at+idleTimeout, next)
		now := at + idleTimeout + dur(offset)
		_, err := a.Resume("B", c.ID, c.Secret, now)
		require.ErrorIs(t, err, pick(offset < 0, nil, executorauth.ErrRejected), "%+d ns", offset)
		require.Equal(t, offset < 0, a.Counts(now).Executors == 1)
	}
}

// rule: A-139, W-236
func TestAPinnedExecutorDoesNotExpire(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	pin, err := a.Pin("A", c.ID, 1, 0)
	require.NoError(t, err)
	a.Disconnect("A", 0)
	_, waiting := a.NextDeadline()
	require.False(t, waiting)
	require.Equal(t, executorauth.Counts{Executors: 1, Pinned: 1}, a.Counts(100*time.Hour))

	// The turn ends; the idle time begins then.
	const end = 100 * time.Hour
	require.True(t, a.Unpin(pin, end))
	require.Equal(t, end+idleTimeout, status(t, a, c.ID, end+idleTimeout-1).Expires)
	gone(t, a, c.ID, end+idleTimeout)
}

func TestTheLastOfSeveralPinsStartsTheIdleTime(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	var pins []executorauth.Pin
	for range 3 {
		p, err := a.Pin("A", c.ID, 1, 0)
		require.NoError(t, err)
		pins = append(pins, p)
	}
	a.Disconnect("A", 0)
	require.True(t, a.Unpin(pins[1], time.Hour))
	require.False(t, a.Unpin(pins[1], time.Hour), "a pin ends once")
	require.False(t, a.Unpin(executorauth.Pin{}, time.Hour), "no pin")
	require.True(t, a.Unpin(pins[0], 2*time.Hour))
	require.Equal(t, executorauth.Status{Identity: c.Identity, State: executorauth.Confirmed, Pins: 1}, status(t, a, c.ID, 2*time.Hour))
	require.True(t, a.Unpin(pins[2], 3*time.Hour))
	require.Equal(t, 3*time.Hour+idleTimeout, status(t, a, c.ID, 3*time.Hour).Expires)
}

func TestAnAttachedExecutorNeverExpires(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	pin, err := a.Pin("A", c.ID, 1, 0)
	require.NoError(t, err)
	require.True(t, a.Unpin(pin, time.Hour))
	require.True(t, a.Attached("A", c.ID, 1, 10000*time.Hour))

	a.Disconnect("A", 10000*time.Hour)
	_, err = a.Resume("B", c.ID, c.Secret, 10000*time.Hour+idleTimeout-1)
	require.NoError(t, err)
	require.True(t, a.Attached("B", c.ID, 2, 20000*time.Hour), "a resume ends the idle time")
}

// rule: A-070
func TestATurnNeedsTheConfirmedAttachment(t *testing.T) {
	a := newAuthority(t)
	p := provisional(t, a, "A")
	c := confirmed(t, a, "B")
	d := confirmed(t, a, "C")
	a.Disconnect("C", 0)
	for _, x := range []struct {
		name       string
		conn       executorauth.ConnID
		id         executorauth.ID
		generation int64
		want       error
	}{
		{"attached", "B", c.ID, 1, nil},
		{"provisional", "A", p.ID, 1, executorauth.ErrStale},
		{"another's", "A", c.ID, 1, executorauth.ErrStale},
		{"generation", "B", c.ID, 2, executorauth.ErrStale},
		{"detached", "C", d.ID, 1, executorauth.ErrStale},
		{"unknown", "B", "nobody", 1, executorauth.ErrRejected},
	} {
		require.ErrorIs(t, a.Authorize(x.conn, x.id, x.generation, 0), x.want, x.name)
		require.Equal(t, x.want == nil, a.Attached(x.conn, x.id, x.generation, 0), x.name)
		_, err := a.Pin(x.conn, x.id, x.generation, 0)
		require.ErrorIs(t, err, x.want, x.name)
	}
	require.Equal(t, 1, status(t, a, c.ID, 0).Pins)
	_, _, attached := a.Route(p.ID, 0)
	require.False(t, attached, "no call goes to a provisional executor")
}
