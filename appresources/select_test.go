package appresources

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rule, M-080, M-083, W-164, W-165, W-166
func TestSelectNeedsTheRevisionAndExactlyTheTools(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	_, err := f.set.Select("s", Selection{ExpectedRegistryRevision: "00000000-0000-4000-8000-000000000000"}, 0)
	requireCode(t, CodeConflict, err)
	require.Zero(t, f.set.Usage().Registries)

	old := f.list("s").RegistryRevision
	f.skill("s", "k", "", "x")
	for _, name := range []string{"a", "b", "c"} {
		f.tool("s", name, "")
	}
	good := f.selection("s")
	require.Len(t, good.Authorizations, 3)
	skill := f.entry("s", "k").Tuple()
	change := func(edit func(a []Tuple) []Tuple) Selection {
		return Selection{ExpectedRegistryRevision: good.ExpectedRegistryRevision, Authorizations: edit(slices.Clone(good.Authorizations))}
	}
	for name, c := range map[string]struct {
		sel  Selection
		code Code
	}{
		"stale registry": {Selection{ExpectedRegistryRevision: old, Authorizations: good.Authorizations}, CodeConflict},
		"missing":        {change(func(a []Tuple) []Tuple { return a[1:] }), CodeInvalidPayload},
		"none":           {change(func([]Tuple) []Tuple { return nil }), CodeInvalidPayload},
		"extra skill":    {change(func(a []Tuple) []Tuple { return append(a, skill) }), CodeInvalidPayload},
		"skill instead":  {change(func(a []Tuple) []Tuple { return append(a[1:], skill) }), CodeInvalidPayload},
		"unknown instead": {change(func(a []Tuple) []Tuple {
			a[1].ResourceID = "00000000-0000-4000-8000-000000000000"
			return a
		}), CodeInvalidPayload},
		"duplicate":         {change(func(a []Tuple) []Tuple { return append(a, a[0]) }), CodeInvalidPayload},
		"duplicate instead": {change(func(a []Tuple) []Tuple { a[1] = a[0]; return a }), CodeInvalidPayload},
		"stale revision":    {change(func(a []Tuple) []Tuple { a[2].RevisionID = a[1].RevisionID; return a }), CodeConflict},
		"other hash":        {change(func(a []Tuple) []Tuple { a[0].RevisionSHA256 = skill.RevisionSHA256; return a }), CodeConflict},
		"upper case hash":   {change(func(a []Tuple) []Tuple { a[0].RevisionSHA256 = "X"; return a }), CodeConflict},
		"missing and stale": {change(func(a []Tuple) []Tuple { a[0].RevisionID = ""; return a[:2] }), CodeInvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := f.set.Select("s", c.sel, 0)
			requireCode(t, c.code, err)
			require.Nil(t, h)
			f.audit()
		})
	}
	for _, sel := range []Selection{good, change(func(a []Tuple) []Tuple { slices.Reverse(a); return a })} {
		h, err := f.set.Select("s", sel, 0)
		require.NoError(t, err)
		require.Equal(t, good.ExpectedRegistryRevision, h.Snapshot().RegistryRevision())
		require.Equal(t, ID("s"), h.Session())
		f.set.Release(h, 0)
		f.audit()
	}
}

// rule
func TestSkillOnlyAndEmptySnapshotsNeedNoAuthorizations(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	require.False(t, f.set.Nonempty("s"))
	empty := f.take("s", 0)
	require.False(t, f.set.Nonempty("s"))
	require.Zero(t, empty.Snapshot().Len())
	require.Zero(t, empty.Snapshot().Bytes())
	require.Empty(t, empty.Snapshot().Instructions())
	require.Empty(t, empty.Snapshot().Tools())
	f.skill("s", "k", "", "x")
	require.True(t, f.set.Nonempty("s"))
	only := f.take("s", 0)
	require.Empty(t, only.Snapshot().Tools())
	require.Equal(t, "x", only.Snapshot().Instructions())
	sel := f.selection("s")
	sel.Authorizations = []Tuple{f.entry("s", "k").Tuple()}
	_, err := f.set.Select("s", sel, 0)
	requireCode(t, CodeInvalidPayload, err)
}

// rule: A-029
func TestSelectChecksTheCatalogAsRegistrationDoes(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.skill("s", "k", "", "x")
	sel := f.selection("s")
	sel.Reserved = func(name string) bool { return name == "k" }
	_, err := f.set.Select("s", sel, 0)
	requireCode(t, CodeConflict, err)
	f.audit()
	sel.Reserved = func(name string) bool { return name == "other" }
	h, err := f.set.Select("s", sel, 0)
	require.NoError(t, err)
	f.set.Release(h, 0)
}

// rule
func TestASelectedSnapshotNeverChanges(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	style := f.skill("s", "style", "", "old text")
	f.skill("s", "tone", "", "calm")
	_, err := f.set.Register("s", Registration{Kind: KindTool, Name: "look", Description: "old", By: by(1)},
		source(one(`{"type":"boolean"}`), `,"timeout_ms":5000`), 0)
	require.NoError(t, err)
	before := f.set.Usage()
	h := f.take("s", 0)
	p := h.Snapshot()
	listed := f.list("s")
	tool, ok := p.Tool("look")
	require.True(t, ok)
	check := func() {
		t.Helper()
		require.Equal(t, listed.RegistryRevision, p.RegistryRevision())
		require.Equal(t, listed.Entries, p.Descriptors())
		require.Equal(t, "old text\ncalm", p.Instructions())
		again, ok := p.Tool("look")
		require.True(t, ok)
		require.Equal(t, tool, again)
		require.Equal(t, []Tool{tool}, p.Tools())
		require.Equal(t, 5*time.Second, tool.Contract.Timeout)
		require.NoError(t, tool.Contract.Input.Check([]byte(`{"p":true}`)))
	}
	check()
	f.skill("s", "style", style.Entry.RevisionID, "new text")
	check()
	d := f.entry("s", "look")
	_, err = f.set.Unregister("s", d.ResourceID, d.RevisionID, 0)
	require.NoError(t, err)
	check()
	_, err = f.set.Clear("s", f.list("s").RegistryRevision, 0)
	require.NoError(t, err)
	check()
	f.set.Unclaim("s", 0)
	f.audit()
	check()
	require.Equal(t, before.Bytes, f.set.Usage().Bytes)
	f.release(h, 0)
	require.Zero(t, f.set.Usage())
	check()
	_, ok = p.Tool("none")
	require.False(t, ok)
	p.Tools()[0].Name = "changed"
	p.Descriptors()[0].Name = "changed"
	tool.Contract.Input.Encoded()[0] = 'x'
	tool.Contract.Input.Properties()[0].Name = "changed"
	check()
}

// rule
func TestATupleIsEqualOnlyWhereAllThreeMembersAre(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.tool("s", "a", "")
	tool, ok := f.take("s", 0).Snapshot().Tool("a")
	require.True(t, ok)
	accepted := tool.Tuple()
	require.Equal(t, f.entry("s", "a").Tuple(), accepted)
	for _, other := range []Tuple{
		{"x", accepted.RevisionID, accepted.RevisionSHA256},
		{accepted.ResourceID, "x", accepted.RevisionSHA256},
		{accepted.ResourceID, accepted.RevisionID, "x"},
		{},
	} {
		require.False(t, accepted == other)
	}
	f.tool("s", "a", accepted.RevisionID)
	require.False(t, f.entry("s", "a").Tuple() == accepted)
}
