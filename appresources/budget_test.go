package appresources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sized returns a tool source of exactly n bytes: white space may be anywhere.
func sized(n int) string { return plainTool + strings.Repeat(" ", n-len(plainTool)) }

// chargeOf is the charge of a tool of this fixture with a source of n bytes.
func chargeOf(name string, n int) int {
	const id = "00000000-0000-4000-8000-000000000000"
	d := Descriptor{
		ResourceID: id, RevisionID: id, Kind: KindTool, Name: name, ContentSHA256: strings.Repeat("0", 64),
		RevisionSHA256: strings.Repeat("0", 64), CapturedBytes: n, RegisteredBy: by(1),
	}
	return len(appendDescriptor(nil, &d)) + n + 2*len(emptySchema)
}

// toolOf registers a tool whose charge is exactly n bytes.
func (f *fixture) toolOf(session ID, name string, n int) (Registered, error) {
	f.t.Helper()
	for size := n - chargeOf(name, 0); ; size-- {
		if chargeOf(name, size) == n {
			return f.register(session, KindTool, name, "", sized(size))
		}
	}
}

func (f *fixture) claim(n int) []ID {
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = ID(fmt.Sprintf("s%03d", i))
		f.set.Claim(ids[i], 0)
	}
	return ids
}

// rule: A-117
func TestRegistryHolds16ToolsAnd16Skills(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	for i := range 16 {
		f.tool("s", fmt.Sprintf("t%d", i), "")
		f.skill("s", fmt.Sprintf("s%d", i), "", "x")
	}
	before := f.list("s")
	require.Len(t, before.Entries, 32)
	_, err := f.register("s", KindTool, "t16", "", plainTool)
	requireBudget(t, BudgetTools, err)
	_, err = f.register("s", KindSkill, "s16", "", "x")
	requireBudget(t, BudgetSkills, err)
	require.Equal(t, before, f.list("s"))
	f.tool("s", "t3", f.entry("s", "t3").RevisionID) // a replacement is not a 17th
	require.Len(t, f.list("s").Entries, 32)
}

// rule: A-118, M-073
func TestRegistryHolds32768Bytes(t *testing.T) {
	for _, c := range []struct {
		bytes int
		ok    bool
	}{{32767, true}, {32768, true}, {32769, false}} {
		f := newFixture(t, Limits{})
		f.set.Claim("s", 0)
		first, err := f.toolOf("s", "a", 10000)
		require.NoError(t, err)
		_, err = f.toolOf("s", "b", c.bytes-10000)
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, c.bytes, f.set.Usage().Bytes)
			// A replacement counts in the place of what it replaces.
			_, err = f.register("s", KindTool, "a", first.Entry.RevisionID, plainTool)
			require.NoError(t, err)
			continue
		}
		requireBudget(t, BudgetRegistryBytes, err)
		require.Equal(t, 10000, f.set.Usage().Bytes)
	}
}

// rule: A-119, M-144, A-030
func TestCombinedSkillTextHasAtMost16384BytesWithItsSeparators(t *testing.T) {
	for _, c := range []struct {
		last int
		ok   bool
	}{{5381, true}, {5382, true}, {5383, false}} {
		f := newFixture(t, Limits{})
		f.set.Claim("s", 0)
		f.skill("s", "b", "", strings.Repeat("b", 1000))
		f.skill("s", "a", "", strings.Repeat("a", 10000))
		_, err := f.register("s", KindSkill, "c", "", strings.Repeat("c", c.last))
		if !c.ok {
			requireBudget(t, BudgetSkillText, err)
			continue
		}
		require.NoError(t, err)
		text := f.take("s", 0).Snapshot().Instructions()
		require.Equal(t, strings.Repeat("a", 10000)+"\n"+strings.Repeat("b", 1000)+"\n"+strings.Repeat("c", c.last), text)
		require.Len(t, text, 16384+c.last-5382)
	}
}

// rule: A-124, M-089
func TestSourcesHaveTheirOwnLimits(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	for _, n := range []int{16383, 16384} {
		_, err := f.register("s", KindSkill, fmt.Sprintf("s%d", n), "", strings.Repeat("x", n))
		require.NoError(t, err)
		_, err = f.set.Clear("s", f.list("s").RegistryRevision, 0)
		require.NoError(t, err)
	}
	_, err := f.register("s", KindSkill, "a", "", strings.Repeat("x", 16385))
	requireBudget(t, BudgetSkillSource, err)
	// A tool's largest source cannot fit a registry of the same size; it passes
	// its own limit and fails the registry's.
	_, err = f.register("s", KindTool, "a", "", sized(32768))
	requireBudget(t, BudgetRegistryBytes, err)
	_, err = f.register("s", KindTool, "a", "", sized(32769))
	requireBudget(t, BudgetToolSource, err)

	wide := newFixture(t, Limits{MaxRegistryBytes: 1 << 20})
	wide.set.Claim("s", 0)
	for _, n := range []int{32767, 32768} {
		_, err = wide.register("s", KindTool, fmt.Sprintf("t%d", n), "", sized(n))
		require.NoError(t, err)
	}
	_, err = wide.register("s", KindTool, "a", "", sized(32769))
	requireBudget(t, BudgetToolSource, err)
}

// rule
func TestSetRetains256Snapshots(t *testing.T) {
	f := newFixture(t, Limits{})
	ids := f.claim(257)
	for _, s := range ids[:255] {
		f.skill(s, "a", "", "x")
	}
	require.Equal(t, 255, f.set.Usage().Snapshots)
	held := f.take(ids[0], 0)
	first := f.entry(ids[0], "a")
	second := f.skill(ids[0], "a", first.RevisionID, "x") // the 256th: the first is held
	require.Equal(t, 256, f.set.Usage().Snapshots)
	_, err := f.register(ids[255], KindSkill, "a", "", "x")
	requireBudget(t, BudgetSnapshots, err)
	_, err = f.register(ids[0], KindSkill, "a", second.Entry.RevisionID, "x")
	requireBudget(t, BudgetSnapshots, err)
	_, err = f.register(ids[1], KindSkill, "a", f.entry(ids[1], "a").RevisionID, "x")
	requireBudget(t, BudgetSnapshots, err) // a replacement stands beside what it replaces
	require.Equal(t, "x", held.Snapshot().Instructions())
	f.release(held, 0)
	f.skill(ids[1], "a", f.entry(ids[1], "a").RevisionID, "x")
	f.skill(ids[255], "a", "", "x")
	require.Equal(t, 256, f.set.Usage().Snapshots)
}

// rule
func TestSetRetains1024Entries(t *testing.T) {
	f := newFixture(t, Limits{})
	ids := f.claim(33)
	for _, s := range ids[:32] {
		for i := range 16 {
			f.tool(s, fmt.Sprintf("t%d", i), "")
			f.skill(s, fmt.Sprintf("s%d", i), "", "x")
		}
	}
	require.Equal(t, 1024, f.set.Usage().Entries)
	_, err := f.register(ids[32], KindSkill, "a", "", "x")
	requireBudget(t, BudgetEntries, err)
	_, err = f.register(ids[0], KindSkill, "s0", f.entry(ids[0], "s0").RevisionID, "x")
	requireBudget(t, BudgetEntries, err)
	gone := f.entry(ids[1], "s0")
	_, err = f.set.Unregister(ids[1], gone.ResourceID, gone.RevisionID, 0)
	require.NoError(t, err)
	f.skill(ids[32], "a", "", "x")
	require.Equal(t, 1024, f.set.Usage().Entries)
}

// rule, M-075
func TestSetRetains8388608Bytes(t *testing.T) {
	f := newFixture(t, Limits{MaxSnapshots: 1000})
	ids := f.claim(256)
	for _, s := range ids[1:255] {
		_, err := f.toolOf(s, "a", 32768)
		require.NoError(t, err)
	}
	// A skill of 1,000 bytes costs its descriptor and the text twice: captured
	// and combined.
	skill := Registration{Kind: KindSkill, Name: "b", By: by(1)}
	like := f.skill("s000", "b", "", strings.Repeat("x", 1000)).Entry
	_, err := f.set.Unregister("s000", like.ResourceID, like.RevisionID, 0)
	require.NoError(t, err)
	_, err = f.toolOf(ids[0], "a", 32768)
	require.NoError(t, err)
	_, err = f.toolOf(ids[255], "a", 32768-len(appendDescriptor(nil, &like))-2000)
	require.NoError(t, err)
	more := skill
	more.Description = "d"
	_, err = f.set.Register(ids[255], more, strings.Repeat("x", 1000), 0)
	requireBudget(t, BudgetRetainedBytes, err)
	_, err = f.set.Register(ids[255], skill, strings.Repeat("x", 1000), 0)
	require.NoError(t, err)
	f.audit()
	require.Equal(t, 8388608, f.set.Usage().Bytes)
	_, err = f.register(ids[0], KindTool, "a", f.entry(ids[0], "a").RevisionID, plainTool)
	requireBudget(t, BudgetRetainedBytes, err)
}

// rule: A-123
func TestSetHolds256Registries(t *testing.T) {
	f := newFixture(t, Limits{})
	ids := f.claim(257)
	for i, s := range ids[:256] {
		if i%2 == 0 {
			f.list(s)
		} else {
			f.skill(s, "a", "", "x")
		}
	}
	require.Equal(t, 256, f.set.Usage().Registries)
	_, err := f.set.List(ids[256], 0)
	requireBudget(t, BudgetRegistrySessions, err)
	_, err = f.register(ids[256], KindSkill, "a", "", "x")
	requireBudget(t, BudgetRegistrySessions, err)
	_, err = f.set.Reserve(ids[256], Registration{Kind: KindSkill, Name: "a"}, 0)
	requireBudget(t, BudgetRegistrySessions, err)
	f.set.Unclaim(ids[1], 0) // not empty: it stays
	_, err = f.set.List(ids[256], 0)
	requireBudget(t, BudgetRegistrySessions, err)
	f.set.Unclaim(ids[0], 0) // empty: it goes
	f.list(ids[256])
	require.Equal(t, 256, f.set.Usage().Registries)
}

// rule: M-073, M-074, M-075, M-076, A-130
func TestChargesAreDescriptorBytesSchemasAndInstructionsOnce(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	f.list("s")
	require.Equal(t, Usage{Registries: 1}, f.set.Usage())

	// 36 for every ID, 64 for every hash, the rest as it stands.
	const descriptor = `{"resource_id":"","revision_id":"","kind":"","name":"","description":"","content_sha256":"","revision_sha256":"",` +
		`"captured_bytes":,"registered_by":{"instance_id":"","connection_id":"","operation_id":"","grant_generation":1}}`
	const ids = 5*36 + 2*64
	content := source(one(`{"type":"boolean"}`), ` ,  "timeout_ms":1000`)
	_, err := f.set.Register("s", Registration{Kind: KindTool, Name: "look", Description: "a\n\u2028é", By: by(1)}, content, 0)
	require.NoError(t, err)
	tool := len(descriptor) + ids + len("tool") + len("look") + len(`a\n\u2028é`) + len("234") + len(content) +
		len(one(`{"type":"boolean"}`)) + len(emptySchema)
	require.GreaterOrEqual(t, len(content), 100)
	require.Less(t, len(content), 1000)
	require.Equal(t, Usage{Registries: 1, Snapshots: 1, Entries: 1, Bytes: tool}, f.set.Usage())

	f.skill("s", "one", "", "12345")
	f.skill("s", "two", "", "1234567")
	skills := 2*(len(descriptor)+ids+len("skill")+len("one")+len("5")) + 5 + 7
	require.Equal(t, Usage{Registries: 1, Snapshots: 1, Entries: 3, Bytes: tool + skills + 5 + 1 + 7}, f.set.Usage())
	require.Equal(t, f.set.Usage().Bytes, f.take("s", 0).Snapshot().Bytes())
}

// rule
func TestHeldSnapshotsStayChargedOnceAndNothingElse(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	r := f.skill("s", "a", "", "first")
	f.tool("s", "b", "")
	one := f.set.Usage()
	held := f.take("s", 0)
	shared := f.set.Share(held, 0)
	f.holds[shared] = true
	other := f.take("s", 0)
	require.Equal(t, one, f.set.Usage(), "holds of one snapshot count once")

	f.skill("s", "a", r.Entry.RevisionID, "other")
	require.Equal(t, Usage{Registries: 1, Snapshots: 2, Entries: 4, Bytes: 2 * one.Bytes}, f.set.Usage())
	_, err := f.set.Clear("s", f.list("s").RegistryRevision, 0)
	require.NoError(t, err)
	require.Equal(t, one, f.set.Usage(), "clearing releases what nobody holds and nothing else")

	f.release(held, 0)
	f.set.Release(held, 0)
	f.release(other, 0)
	require.Equal(t, one, f.set.Usage())
	require.Nil(t, f.set.Share(held, 0))
	stranger := newFixture(t, Limits{})
	stranger.set.Claim("s", 0)
	require.Nil(t, stranger.set.Share(shared, 0))
	stranger.set.Release(shared, 0)
	f.audit()
	require.Equal(t, "first", shared.Snapshot().Instructions())
	f.release(shared, 0)
	require.Equal(t, Usage{Registries: 1}, f.set.Usage())
	f.set.Unclaim("s", 0)
	require.Zero(t, f.set.Usage())
	f.set.Release(nil, 0)
}

// At saturation a removal takes the place of a snapshot that nobody holds. One
// that a turn holds leaves no room for the smaller one, but clearing needs
// none.
//
// rule
func TestRemovalsAtSaturation(t *testing.T) {
	f := newFixture(t, Limits{MaxSnapshots: 1})
	f.set.Claim("s", 0)
	f.skill("s", "a", "", "x")
	f.skill("s", "b", "", "x")
	f.skill("s", "c", "", "x")
	gone := f.entry("s", "a")
	_, err := f.set.Unregister("s", gone.ResourceID, gone.RevisionID, 0)
	require.NoError(t, err)
	held := f.take("s", 0)
	before := f.list("s")
	gone = f.entry("s", "b")
	_, err = f.set.Unregister("s", gone.ResourceID, gone.RevisionID, 0)
	requireBudget(t, BudgetSnapshots, err)
	require.Equal(t, before, f.list("s"))
	cleared, err := f.set.Clear("s", before.RegistryRevision, 0)
	require.NoError(t, err)
	require.Equal(t, 2, cleared.RemovedCount)
	require.Equal(t, 2, held.Snapshot().Len())
	_, err = f.register("s", KindSkill, "d", "", "x")
	requireBudget(t, BudgetSnapshots, err)
	f.release(held, 0)
	f.skill("s", "d", "", "x")
}
