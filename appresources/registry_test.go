package appresources

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// rule
func TestRevisionsAreFreshRandomUUIDs(t *testing.T) {
	set, err := New(Options{})
	require.NoError(t, err)
	seen := make(map[ID]bool)
	fresh := func(ids ...ID) {
		t.Helper()
		for _, id := range ids {
			parsed, err := uuid.Parse(string(id))
			require.NoError(t, err)
			require.Equal(t, uuid.Version(4), parsed.Version())
			require.Equal(t, parsed.String(), string(id))
			require.False(t, seen[id])
			seen[id] = true
		}
	}
	for _, session := range []ID{"one", "two"} {
		set.Claim(session, 0)
		l, err := set.List(session, 0)
		require.NoError(t, err)
		require.Empty(t, l.Entries)
		fresh(l.RegistryRevision)
		again, err := set.List(session, 0)
		require.NoError(t, err)
		require.Equal(t, l, again)

		r, err := set.Register(session, Registration{Kind: KindSkill, Name: "a"}, "x", 0)
		require.NoError(t, err)
		fresh(r.Entry.ResourceID, r.Entry.RevisionID, r.RegistryRevision)
		same, err := set.Register(session, Registration{Kind: KindSkill, Name: "a", ExpectedRevision: r.Entry.RevisionID}, "x", 0)
		require.NoError(t, err)
		fresh(same.Entry.RevisionID, same.RegistryRevision)
		u, err := set.Unregister(session, r.Entry.ResourceID, same.Entry.RevisionID, 0)
		require.NoError(t, err)
		fresh(u.RegistryRevision)
		r, err = set.Register(session, Registration{Kind: KindSkill, Name: "a"}, "x", 0)
		require.NoError(t, err)
		fresh(r.Entry.ResourceID, r.Entry.RevisionID, r.RegistryRevision)
		c, err := set.Clear(session, r.RegistryRevision, 0)
		require.NoError(t, err)
		fresh(c.RegistryRevision)
	}
}

// rule: A-009, M-084, M-085
func TestCreateNeedsANullRevisionAndAFreeName(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	_, err := f.register("s", KindSkill, "a", "00000000-0000-4000-8000-000000000000", "x")
	requireCode(t, CodeConflict, err)
	require.Zero(t, f.set.Usage().Registries)
	f.skill("s", "a", "", "x")
	require.Equal(t, 1, f.set.Usage().Registries)
	before := f.list("s")
	_, err = f.register("s", KindSkill, "a", "", "x")
	requireCode(t, CodeConflict, err)
	require.Equal(t, before, f.list("s"))
}

// rule
func TestReplacementKeepsTheResourceAndRenewsTheRevision(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	first := f.skill("s", "a", "", "x")
	f.skill("s", "b", "", "y")
	f.tool("s", "c", "")
	second := f.skill("s", "a", first.Entry.RevisionID, "x")
	require.Equal(t, first.Entry.ResourceID, second.Entry.ResourceID)
	require.NotEqual(t, first.Entry.RevisionID, second.Entry.RevisionID)
	require.Equal(t, first.Entry.RevisionSHA256, second.Entry.RevisionSHA256)
	require.NotEqual(t, first.RegistryRevision, second.RegistryRevision)
	for _, stale := range []ID{first.Entry.RevisionID, first.Entry.ResourceID, second.RegistryRevision, "x"} {
		_, err := f.register("s", KindSkill, "a", stale, "x")
		requireCode(t, CodeConflict, err)
	}
	require.Equal(t, second.RegistryRevision, f.list("s").RegistryRevision)
	require.Len(t, f.list("s").Entries, 3)
}

// rule: A-056
func TestReplacingOnlyMetadataChangesTheRevisionHashAlone(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	first := f.skill("s", "a", "", "x")
	second, err := f.set.Register("s", Registration{
		Kind: KindSkill, Name: "a", Description: "new", ExpectedRevision: first.Entry.RevisionID,
	}, "x", 0)
	require.NoError(t, err)
	require.Equal(t, first.Entry.ContentSHA256, second.Entry.ContentSHA256)
	require.NotEqual(t, first.Entry.RevisionSHA256, second.Entry.RevisionSHA256)
}

// rule
func TestToolsAndSkillsShareOneNamespace(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	skill := f.skill("s", "a", "", "x")
	tool := f.tool("s", "b", "")
	for _, c := range []struct {
		kind     Kind
		name     string
		expected ID
	}{
		{KindTool, "a", ""}, {KindTool, "a", skill.Entry.RevisionID}, {KindSkill, "b", ""}, {KindSkill, "b", tool.Entry.RevisionID},
	} {
		content := "x"
		if c.kind == KindTool {
			content = plainTool
		}
		_, err := f.register("s", c.kind, c.name, c.expected, content)
		requireCode(t, CodeConflict, err)
	}
	f.set.Claim("other", 0)
	f.tool("other", "a", "")
}

// rule
func TestUnregisterNeedsTheResourceAndItsRevision(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	_, err := f.set.Unregister("s", "00000000-0000-4000-8000-000000000000", "x", 0)
	requireCode(t, CodeResourceNotFound, err)
	first := f.skill("s", "a", "", "x")
	second := f.skill("s", "a", first.Entry.RevisionID, "y")
	before := f.list("s")
	_, err = f.set.Unregister("s", first.Entry.ResourceID, first.Entry.RevisionID, 0)
	requireCode(t, CodeConflict, err)
	_, err = f.set.Unregister("s", first.Entry.RevisionID, second.Entry.RevisionID, 0)
	requireCode(t, CodeResourceNotFound, err)
	require.Equal(t, before, f.list("s"))
	gone, err := f.set.Unregister("s", first.Entry.ResourceID, second.Entry.RevisionID, 0)
	require.NoError(t, err)
	require.Equal(t, Unregistered{
		ResourceID: first.Entry.ResourceID, RemovedRevision: second.Entry.RevisionID, RegistryRevision: f.list("s").RegistryRevision,
	}, gone)
	require.NotEqual(t, before.RegistryRevision, gone.RegistryRevision)
	_, err = f.set.Unregister("s", first.Entry.ResourceID, second.Entry.RevisionID, 0)
	requireCode(t, CodeResourceNotFound, err)
	again := f.skill("s", "a", "", "x")
	require.NotEqual(t, first.Entry.ResourceID, again.Entry.ResourceID)
	f.set.Claim("other", 0)
	_, err = f.set.Unregister("other", again.Entry.ResourceID, again.Entry.RevisionID, 0)
	requireCode(t, CodeResourceNotFound, err)
}

// rule, M-079
func TestListIsSortedByKindThenName(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	for _, name := range []string{"c", "a", "e"} {
		f.tool("s", name, "")
	}
	for _, name := range []string{"d", "b", "f_1", "f"} {
		f.skill("s", name, "", "body of "+name)
	}
	var got []string
	for _, d := range f.list("s").Entries {
		got = append(got, string(d.Kind)+" "+d.Name)
		require.NotContains(t, string(appendDescriptor(nil, &d)), "body of")
	}
	require.Equal(t, []string{"skill b", "skill d", "skill f", "skill f_1", "tool a", "tool c", "tool e"}, got)
}

// rule
func TestClearNeedsTheRegistrysRevision(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	_, err := f.set.Clear("s", "00000000-0000-4000-8000-000000000000", 0)
	requireCode(t, CodeConflict, err)
	require.Zero(t, f.set.Usage().Registries)
	empty := f.list("s").RegistryRevision
	c, err := f.set.Clear("s", empty, 0)
	require.NoError(t, err)
	require.Equal(t, Cleared{RegistryRevision: empty}, c)
	f.skill("s", "a", "", "x")
	last := f.tool("s", "b", "")
	_, err = f.set.Clear("s", empty, 0)
	requireCode(t, CodeConflict, err)
	require.Len(t, f.list("s").Entries, 2)
	c, err = f.set.Clear("s", last.RegistryRevision, 0)
	require.NoError(t, err)
	require.Equal(t, 2, c.RemovedCount)
	require.NotEqual(t, last.RegistryRevision, c.RegistryRevision)
	require.Equal(t, Listing{RegistryRevision: c.RegistryRevision, Entries: []Descriptor{}}, f.list("s"))
}

// rule: A-052
func TestAttributionIsTheRegisteringRequestsAndStays(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	register := func(name string, expected ID, who int) {
		t.Helper()
		_, err := f.set.Register("s", Registration{Kind: KindSkill, Name: name, ExpectedRevision: expected, By: by(who)}, "x", 0)
		require.NoError(t, err)
	}
	register("a", "", 1)
	register("b", "", 2)
	require.Equal(t, by(1), f.entry("s", "a").RegisteredBy)
	register("a", f.entry("s", "a").RevisionID, 3)
	require.Equal(t, by(3), f.entry("s", "a").RegisteredBy)
	require.Equal(t, by(2), f.entry("s", "b").RegisteredBy)
}

func TestReservedNamesAreConflicts(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	reserved := func(name string) bool { return name == "read_file" }
	for _, kind := range []Kind{KindTool, KindSkill} {
		r := Registration{Kind: kind, Name: "read_file", Reserved: reserved}
		_, err := f.set.Register("s", r, plainTool, 0)
		requireCode(t, CodeConflict, err)
		_, err = f.set.Reserve("s", r, 0)
		requireCode(t, CodeConflict, err)
	}
	require.Zero(t, f.set.Usage())
	_, err := f.set.Register("s", Registration{Kind: KindTool, Name: "read_files", Reserved: reserved}, plainTool, 0)
	require.NoError(t, err)
}

// rule: A-026
func TestEmptyRegistryRemainsWhileClaimedOnly(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	first := f.list("s").RegistryRevision
	f.set.Claim("s", time.Hour) // takeover
	require.Equal(t, first, f.list("s").RegistryRevision)
	hold := f.set.Protect("s", time.Hour)
	f.holds[hold] = true
	f.set.Unclaim("s", time.Hour)
	require.Zero(t, f.set.Usage())
	f.set.Claim("s", time.Hour)
	require.NotEqual(t, first, f.list("s").RegistryRevision)
	f.release(hold, time.Hour)

	r := f.skill("s", "a", "", "x")
	c, err := f.set.Clear("s", r.RegistryRevision, time.Hour)
	require.NoError(t, err)
	require.Equal(t, c.RegistryRevision, f.list("s").RegistryRevision)
	f.set.Unclaim("s", time.Hour)
	require.Zero(t, f.set.Usage())
	_, waits := f.set.NextDeadline()
	require.False(t, waits)
}

func TestRegistryMethodsNeedAClaimedSession(t *testing.T) {
	f := newFixture(t, Limits{})
	r := Registration{Kind: KindSkill, Name: "a"}
	check := func() {
		t.Helper()
		_, err := f.set.List("s", 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		_, err = f.set.Register("s", r, "x", 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		_, err = f.set.Unregister("s", "x", "y", 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		_, err = f.set.Clear("s", "x", 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		_, err = f.set.Reserve("s", r, 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		_, err = f.set.Select("s", Selection{}, 0)
		require.ErrorIs(t, err, ErrUnclaimed)
		require.Empty(t, CodeOf(err))
		require.Zero(t, f.set.Usage())
	}
	check()
	f.set.Claim("s", 0)
	f.list("s")
	f.set.Unclaim("s", 0)
	f.set.Unclaim("s", 0)
	check()
}

// A refused change leaves nothing but its error.
//
// rule
func TestRefusedChangesChangeNothing(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	f.tool("s", "b", "")
	before, usage := f.list("s"), f.set.Usage()
	for _, c := range []struct {
		r       Registration
		content string
		code    Code
	}{
		{Registration{Kind: KindSkill, Name: "a"}, "y", CodeConflict},
		{Registration{Kind: KindTool, Name: "a", ExpectedRevision: before.Entries[0].RevisionID}, plainTool, CodeConflict},
		{Registration{Kind: KindTool, Name: "b", ExpectedRevision: before.Entries[1].RevisionID}, "{}", CodeInvalidPayload},
		{Registration{Kind: KindSkill, Name: "a", ExpectedRevision: before.Entries[0].RevisionID}, "\x00", CodeInvalidPayload},
		{Registration{Kind: KindSkill, Name: "A"}, "y", CodeInvalidPayload},
		{Registration{Kind: "other", Name: "c"}, "y", CodeInvalidPayload},
		{Registration{Kind: KindSkill, Name: "c", Description: "\r"}, "y", CodeInvalidPayload},
		{Registration{Kind: KindSkill, Name: "c"}, string(make([]byte, 16385)), CodeLimitExceeded},
	} {
		_, err := f.set.Register("s", c.r, c.content, 0)
		requireCode(t, c.code, err)
		require.Equal(t, before, f.list("s"))
		require.Equal(t, usage, f.set.Usage())
	}
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	for _, l := range []Limits{
		{MaxTools: -1}, {MaxSkills: -1}, {MaxRegistryBytes: -1}, {MaxSkillTextBytes: -1}, {MaxToolSourceBytes: -1},
		{MaxSkillSourceBytes: -1}, {MaxSnapshots: -1}, {MaxRetainedEntries: -1}, {MaxRetainedBytes: -1}, {MaxRegistrySessions: -1},
		{CaptureBytes: -1}, {MaxManifestBytes: -1}, {IdleTimeout: -1},
	} {
		_, err := New(Options{Limits: l})
		require.Error(t, err)
	}
	set, err := New(Options{Limits: Limits{MaxTools: 3}})
	require.NoError(t, err)
	want := DefaultLimits()
	want.MaxTools = 3
	require.Equal(t, want, set.Limits())
}
