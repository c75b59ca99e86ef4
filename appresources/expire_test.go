package appresources

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const idle = 900_000 * time.Millisecond

// rule: A-059, M-124
func TestUnclaimedRegistryExpiresAtExactly900Seconds(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		gone  bool
	}{{idle - 1, false}, {idle, true}, {idle + 1, true}} {
		f := newFixture(t, Limits{})
		f.set.Claim("s", 5)
		f.skill("s", "a", "", "x")
		_, waits := f.set.NextDeadline()
		require.False(t, waits)
		f.set.Unclaim("s", 7)
		at, waits := f.set.NextDeadline()
		require.True(t, waits)
		require.Equal(t, 7+idle, at)
		expired := f.set.Expire(7 + c.after)
		f.audit()
		_, waits = f.set.NextDeadline()
		if c.gone {
			require.Equal(t, 1, expired)
			require.Zero(t, f.set.Usage())
			require.False(t, waits)
		} else {
			require.Zero(t, expired)
			require.Equal(t, 1, f.set.Usage().Registries)
			require.True(t, waits)
		}
	}
}

// rule: M-124, A-062
func TestExpiryWinsOverAClaimAtItsInstantAndAnEarlierClaimResetsIt(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		gone  bool
	}{{idle - 1, false}, {idle, true}, {idle + 1, true}} {
		f := newFixture(t, Limits{})
		f.set.Claim("s", 0)
		r := f.skill("s", "a", "", "x")
		f.set.Unclaim("s", 0)
		f.set.Claim("s", c.after)
		if c.gone {
			require.Zero(t, f.set.Usage())
			require.NotEqual(t, r.RegistryRevision, f.list("s").RegistryRevision)
			require.Empty(t, f.list("s").Entries)
			continue
		}
		require.Equal(t, r.RegistryRevision, f.list("s").RegistryRevision)
		require.Zero(t, f.set.Expire(10*idle))
		f.set.Unclaim("s", 10*idle)
		require.Zero(t, f.set.Expire(11*idle-1))
		f.audit()
		require.Equal(t, 1, f.set.Expire(11*idle))
	}
}

// rule
func TestIdleTimerStartsWhenTheLastProtectionEnds(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	preparation := f.take("s", 0)
	worker := f.set.Share(preparation, 1)
	f.holds[worker] = true
	ordinary := f.set.Protect("s", 2)
	f.holds[ordinary] = true
	require.Nil(t, ordinary.Snapshot())
	f.set.Unclaim("s", 3)
	for i, h := range []*Hold{preparation, ordinary, worker} {
		_, waits := f.set.NextDeadline()
		require.False(t, waits)
		require.Zero(t, f.set.Expire(time.Duration(i+1)*idle))
		f.release(h, time.Duration(i+1)*idle)
	}
	at, waits := f.set.NextDeadline()
	require.True(t, waits)
	require.Equal(t, 4*idle, at)
	require.Zero(t, f.set.Expire(at-1))
	require.Equal(t, 1, f.set.Expire(at))
	f.audit()
	require.Zero(t, f.set.Usage())
}

// rule: A-060
func TestAHoldTakenWhileIdleStopsTheTimer(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	f.set.Unclaim("s", 0)
	h := f.set.Protect("s", idle-1)
	f.holds[h] = true
	require.Zero(t, f.set.Expire(2*idle))
	f.release(h, 2*idle)
	require.Equal(t, 1, f.set.Expire(3*idle))

	late := f.set.Protect("s", 4*idle)
	f.holds[late] = true
	f.audit()
	f.release(late, 4*idle)
	require.Empty(t, f.set.sessions)
}

// Budgets are answered as if every expiry had been served on time, though
// nobody called Expire.
//
// rule
func TestALateExpiryChangesNoAnswer(t *testing.T) {
	f := newFixture(t, Limits{MaxRegistrySessions: 1})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	f.set.Unclaim("s", 0)
	f.set.Claim("t", 0)
	_, err := f.set.List("t", idle-1)
	requireBudget(t, BudgetRegistrySessions, err)
	_, err = f.set.List("t", idle)
	require.NoError(t, err)
	f.audit()
}

func TestEachRegistryHasItsOwnDeadline(t *testing.T) {
	f := newFixture(t, Limits{IdleTimeout: 100})
	for i, s := range []ID{"a", "b", "c"} {
		f.set.Claim(s, 0)
		f.skill(s, "x", "", "x")
		f.set.Unclaim(s, time.Duration(10*i))
	}
	for _, at := range []time.Duration{100, 110, 120} {
		next, waits := f.set.NextDeadline()
		require.True(t, waits)
		require.Equal(t, at, next)
		require.Equal(t, 1, f.set.Expire(at))
		f.audit()
	}
	_, waits := f.set.NextDeadline()
	require.False(t, waits)
}

func TestTimeThatRunsBackwardsStandsStill(t *testing.T) {
	f := newFixture(t, Limits{IdleTimeout: 100})
	f.set.Claim("s", 1000)
	f.skill("s", "x", "", "x")
	f.set.Unclaim("s", 5)
	at, _ := f.set.NextDeadline()
	require.Equal(t, time.Duration(1100), at)
}
