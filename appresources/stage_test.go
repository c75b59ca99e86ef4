package appresources

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (f *fixture) reserve(session ID, r Registration) *Staging {
	f.t.Helper()
	st, err := f.set.Reserve(session, r, 0)
	require.NoError(f.t, err)
	f.audit()
	return st
}

// rule: A-035, W-308
func TestReserveChecksEverythingThatNeedsNoContent(t *testing.T) {
	f := newFixture(t, Limits{MaxSkills: 1})
	f.set.Claim("s", 0)
	skill := f.skill("s", "a", "", "x")
	occupied := false
	check := func() {
		t.Helper()
		for _, c := range []struct {
			r    Registration
			code Code
		}{
			{Registration{Kind: KindSkill, Name: "a"}, CodeConflict},
			{Registration{Kind: KindSkill, Name: "a", ExpectedRevision: skill.Entry.ResourceID}, CodeConflict},
			{Registration{Kind: KindSkill, Name: "b", ExpectedRevision: skill.Entry.RevisionID}, CodeConflict},
			{Registration{Kind: KindTool, Name: "a", ExpectedRevision: skill.Entry.RevisionID}, CodeConflict},
			{Registration{Kind: KindTool, Name: "b", Reserved: func(string) bool { return true }}, CodeConflict},
			{Registration{Kind: KindSkill, Name: "b"}, CodeLimitExceeded},
			{Registration{Kind: KindSkill, Name: "B"}, CodeInvalidPayload},
		} {
			_, err := f.set.Reserve("s", c.r, 0)
			requireCode(t, c.code, err)
			_, err = f.set.Register("s", c.r, "x", 0)
			requireCode(t, c.code, err)
			require.Equal(t, occupied, f.set.Usage().CaptureBytes != 0)
		}
	}
	check()
	f.reserve("s", Registration{Kind: KindTool, Name: "t"})
	occupied = true
	check() // and in this order also while the slot is occupied
}

// rule: M-090, M-091, A-046, W-308
func TestOccupiedSlotMakesEveryRegistrationBusyAndNothingElse(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.set.Claim("other", 0)
	a := f.skill("s", "a", "", "x")
	b := f.skill("other", "b", "", "x")
	require.Zero(t, f.set.Usage().CaptureBytes, "inline registrations take no slot")
	st := f.reserve("s", Registration{Kind: KindTool, Name: "t"})
	require.Equal(t, ID("s"), st.Session())
	require.Equal(t, 32768, st.MaxBytes())
	for _, s := range []ID{"s", "other"} {
		_, err := f.register(s, KindSkill, "c", "", "x")
		requireCode(t, CodeBusy, err)
		_, err = f.set.Reserve(s, Registration{Kind: KindSkill, Name: "c"}, 0)
		requireCode(t, CodeBusy, err)
	}
	_, err := f.register("s", KindSkill, "a", a.Entry.RevisionID, "y")
	requireCode(t, CodeBusy, err)

	require.Len(t, f.list("s").Entries, 1)
	_, err = f.set.Unregister("s", a.Entry.ResourceID, a.Entry.RevisionID, 0)
	require.NoError(t, err)
	f.release(f.take("other", 0), 0)
	_, err = f.set.Clear("other", b.RegistryRevision, 0)
	require.NoError(t, err)
	f.audit()

	require.True(t, f.set.Discard(st))
	require.False(t, f.set.Discard(st))
	require.False(t, f.set.Discard(nil))
	skill := f.reserve("s", Registration{Kind: KindSkill, Name: "c"})
	require.Equal(t, 16384, skill.MaxBytes())
	require.True(t, f.set.Discard(skill))
}

// rule: A-045
func TestSlotReserves128KiBOfTheSameBudget(t *testing.T) {
	f := newFixture(t, Limits{})
	ids := f.claim(254)
	for _, s := range ids[:251] {
		_, err := f.toolOf(s, "a", 32768)
		require.NoError(t, err)
	}
	_, err := f.toolOf(ids[251], "a", 32767)
	require.NoError(t, err)
	require.Equal(t, 8388608-131072-1, f.set.Usage().Bytes)
	r := Registration{Kind: KindSkill, Name: "c"}
	require.True(t, f.set.Discard(f.reserve(ids[253], r)))
	gone := f.entry(ids[251], "a")
	_, err = f.set.Unregister(ids[251], gone.ResourceID, gone.RevisionID, 0)
	require.NoError(t, err)
	_, err = f.toolOf(ids[251], "a", 32768)
	require.NoError(t, err)
	st := f.reserve(ids[253], r)
	require.Equal(t, 131072, f.set.Usage().CaptureBytes)
	require.Equal(t, 8388608, f.set.Usage().Bytes+f.set.Usage().CaptureBytes)
	require.True(t, f.set.Discard(st))
	_, err = f.toolOf(ids[252], "a", 1500)
	require.NoError(t, err)
	_, err = f.set.Reserve(ids[253], r, 0)
	requireBudget(t, BudgetRetainedBytes, err)
	require.Zero(t, f.set.Usage().CaptureBytes)
}

// rule: A-047, M-092, A-015
func TestPublishRegistersAndFreesTheSlot(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	st := f.reserve("s", Registration{Kind: KindTool, Name: "t", Description: "d", By: by(7)})
	require.Zero(t, f.set.Usage().Registries, "staging creates nothing")
	got, err := f.set.Publish(st, plainTool, 0)
	require.NoError(t, err)
	f.audit()
	require.Equal(t, got.Entry, f.entry("s", "t"))
	require.Equal(t, by(7), got.Entry.RegisteredBy)
	require.Equal(t, got.RegistryRevision, f.list("s").RegistryRevision)
	require.Equal(t, RevisionSHA256(KindTool, "t", "d", plainTool), got.Entry.RevisionSHA256)
	f.skill("s", "next", "", "x")
	_, err = f.set.Publish(st, plainTool, 0)
	requireCode(t, CodeConflict, err)
}

// rule
func TestPublishChecksEverythingAgain(t *testing.T) {
	reserved := false
	replace := func(f *fixture) Registration {
		return Registration{Kind: KindSkill, Name: "a", ExpectedRevision: f.entry("s", "a").RevisionID, Reserved: func(string) bool { return reserved }}
	}
	for name, c := range map[string]struct {
		between func(f *fixture)
		content string
		check   func(t *testing.T, err error)
	}{
		"the resource was removed": {
			func(f *fixture) {
				d := f.entry("s", "a")
				_, err := f.set.Unregister("s", d.ResourceID, d.RevisionID, 0)
				require.NoError(t, err)
			},
			"y", func(t *testing.T, err error) { requireCode(t, CodeConflict, err) },
		},
		"the registry was cleared": {
			func(f *fixture) {
				_, err := f.set.Clear("s", f.list("s").RegistryRevision, 0)
				require.NoError(t, err)
			},
			"y", func(t *testing.T, err error) { requireCode(t, CodeConflict, err) },
		},
		"the catalog took the name": {
			func(*fixture) { reserved = true },
			"y", func(t *testing.T, err error) { requireCode(t, CodeConflict, err) },
		},
		"the controller left": {
			func(f *fixture) { f.set.Unclaim("s", 0) },
			"y", func(t *testing.T, err error) { require.ErrorIs(t, err, ErrUnclaimed) },
		},
		"the budget was spent": {
			func(f *fixture) {
				// Held snapshots of other sessions took the room meanwhile.
				f.set.limits.MaxSnapshots = 1
			},
			"y", func(t *testing.T, err error) { requireBudget(t, BudgetSnapshots, err) },
		},
		"the content is no text": {
			func(*fixture) {}, "\x00", func(t *testing.T, err error) { requireCode(t, CodeInvalidPayload, err) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			reserved = false
			f := newFixture(t, Limits{})
			f.set.Claim("s", 0)
			f.skill("s", "a", "", "x")
			st := f.reserve("s", replace(f))
			c.between(f)
			usage := f.set.Usage()
			_, err := f.set.Publish(st, c.content, 0)
			c.check(t, err)
			usage.CaptureBytes = 0
			require.Equal(t, usage, f.set.Usage(), "only the slot is free again")
			f.audit()
		})
	}
}

// rule
func TestPublishChecksTheNumberOfRegistriesAgain(t *testing.T) {
	f := newFixture(t, Limits{MaxRegistrySessions: 2})
	for i := range 3 {
		f.set.Claim(ID(fmt.Sprint(i)), 0)
	}
	st := f.reserve("0", Registration{Kind: KindSkill, Name: "a"})
	f.list("1")
	f.list("2")
	_, err := f.set.Publish(st, "x", 0)
	requireBudget(t, BudgetRegistrySessions, err)
	f.audit()
}

// rule: A-049
func TestSlotStaysTakenWhateverBecomesOfItsSession(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	st := f.reserve("s", Registration{Kind: KindTool, Name: "t"})
	f.set.Unclaim("s", 0)
	require.Equal(t, 1, f.set.Expire(900*time.Second))
	require.Equal(t, Usage{CaptureBytes: 131072}, f.set.Usage())
	f.set.Claim("other", 900*time.Second)
	_, err := f.register("other", KindSkill, "a", "", "x")
	requireCode(t, CodeBusy, err)
	require.True(t, f.set.Discard(st))
	f.skill("other", "a", "", "x")
}
