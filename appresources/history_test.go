package appresources

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")
	seed = flag.Uint64("seed", 0, "run the one random history of this seed")
)

func (m *model) unregister(id ID, s *modelSession) {
	resource, revision := ID("none"), ID("none")
	at := -1
	if s.registry != nil && len(s.registry.entries) > 0 && m.r.IntN(8) > 0 {
		at = m.r.IntN(len(s.registry.entries))
		resource = s.registry.entries[at].id
		if m.r.IntN(6) > 0 {
			revision = s.registry.entries[at].revision
		}
	}
	m.note("unregister", id, resource, revision)
	want := ""
	var next *modelSnapshot
	switch {
	case !s.claimed:
		want = "unclaimed"
	case at < 0:
		want = string(CodeResourceNotFound)
	case revision == "none":
		want = string(CodeConflict)
	default:
		next = &modelSnapshot{entries: slices.Delete(slices.Clone(s.registry.entries), at, at+1)}
		want = m.fits(s.registry, next, false, true)
	}
	got, err := m.f.set.Unregister(id, resource, revision, m.now)
	m.expect(want, err)
	if want == "" {
		require.NotEqual(m.t, s.registry.revision, got.RegistryRevision)
		next.revision = got.RegistryRevision
		s.registry = next
	}
}

func (m *model) clear(id ID, s *modelSession) {
	revision := ID("none")
	if s.registry != nil && m.r.IntN(4) > 0 {
		revision = s.registry.revision
	}
	m.note("clear", id, revision)
	want := ""
	switch {
	case !s.claimed:
		want = "unclaimed"
	case s.registry == nil || s.registry.revision != revision:
		want = string(CodeConflict)
	}
	got, err := m.f.set.Clear(id, revision, m.now)
	m.expect(want, err)
	if want != "" {
		return
	}
	require.Equal(m.t, len(s.registry.entries), got.RemovedCount)
	require.Equal(m.t, got.RemovedCount == 0, got.RegistryRevision == s.registry.revision)
	s.registry = &modelSnapshot{revision: got.RegistryRevision}
}

// choose selects the registry for a turn, with the right authorizations or
// with one of them spoilt.
func (m *model) choose(id ID, s *modelSession) {
	sel := Selection{ExpectedRegistryRevision: "none"}
	want := ""
	switch {
	case !s.claimed:
		want = "unclaimed"
	case s.registry == nil:
		want = string(CodeConflict)
	default:
		sel.ExpectedRegistryRevision = s.registry.revision
		for _, e := range s.registry.entries {
			if e.kind == KindTool {
				sel.Authorizations = append(sel.Authorizations, Tuple{e.id, e.revision, RevisionSHA256(e.kind, e.name, "", e.text)})
			}
		}
		m.r.Shuffle(len(sel.Authorizations), func(i, j int) {
			sel.Authorizations[i], sel.Authorizations[j] = sel.Authorizations[j], sel.Authorizations[i]
		})
		if n := len(sel.Authorizations); n > 0 {
			switch m.r.IntN(6) {
			case 0:
				sel.Authorizations = sel.Authorizations[1:]
				want = string(CodeInvalidPayload)
			case 1:
				sel.Authorizations = append(sel.Authorizations, sel.Authorizations[0])
				want = string(CodeInvalidPayload)
			case 2:
				sel.Authorizations[m.r.IntN(n)].RevisionID = "none"
				want = string(CodeConflict)
			}
		}
	}
	m.note("select", id, want)
	h, err := m.f.set.Select(id, sel, m.now)
	m.expect(want, err)
	if want != "" {
		return
	}
	require.Equal(m.t, s.registry.text(), h.Snapshot().Instructions())
	m.holds = append(m.holds, &modelHold{session: id, snapshot: s.registry, real: h})
	m.f.holds[h] = true
}

func (m *model) release() {
	if len(m.holds) == 0 {
		return
	}
	at := m.r.IntN(len(m.holds))
	h := m.holds[at]
	if m.r.IntN(4) == 0 {
		m.note("share", h.session)
		m.holds = append(m.holds, &modelHold{session: h.session, snapshot: h.snapshot, real: m.f.set.Share(h.real, m.now)})
		m.f.holds[m.holds[len(m.holds)-1].real] = true
		return
	}
	m.note("release", h.session)
	m.holds = slices.Delete(m.holds, at, at+1)
	delete(m.f.holds, h.real)
	m.f.set.Release(h.real, m.now)
	if s := m.sessions[h.session]; m.holdsOf(h.session) == 0 && !s.claimed {
		s.idleFrom = m.now
	}
}

// compare lays everything that can be seen of the set beside the model.
func (m *model) compare() {
	m.f.set.Expire(m.now)
	m.f.audit()
	require.Equal(m.t, m.usage(), m.f.set.Usage())
	next := time.Duration(-1)
	for id, s := range m.sessions {
		require.Equal(m.t, s.registry != nil && len(s.registry.entries) > 0, m.f.set.Nonempty(id))
		if s.registry == nil {
			continue
		}
		p := m.f.set.sessions[id].registry.snapshot
		require.Equal(m.t, s.registry.revision, p.RegistryRevision())
		require.Len(m.t, p.resources, len(s.registry.entries))
		for _, d := range p.Descriptors() {
			e := s.registry.entries[s.registry.find(d.Name)]
			require.Equal(m.t, []any{e.id, e.revision, e.kind, len(e.text)}, []any{d.ResourceID, d.RevisionID, d.Kind, d.CapturedBytes})
		}
		if at := s.idleFrom + m.f.set.limits.IdleTimeout; !s.claimed && m.holdsOf(id) == 0 && (next < 0 || at < next) {
			next = at
		}
	}
	for _, h := range m.holds {
		if h.snapshot != nil {
			require.Equal(m.t, h.snapshot.revision, h.real.Snapshot().RegistryRevision())
			require.Equal(m.t, h.snapshot.text(), h.real.Snapshot().Instructions())
		}
	}
	at, waits := m.f.set.NextDeadline()
	require.Equal(m.t, next >= 0, waits)
	if waits {
		require.Equal(m.t, next, at)
	}
}

// rule
func TestRandomHistoriesAgreeWithTheModel(t *testing.T) {
	histories := uint64(400)
	if *long {
		histories = 20_000
	}
	first := uint64(1)
	if *seed != 0 {
		first, histories = *seed, 1
	}
	refused := make(map[string]int)
	for n := first; n < first+histories; n++ {
		ok := t.Run("", func(t *testing.T) { history(t, n, refused) })
		if !ok {
			t.Fatalf("reproduce with -seed=%d", n)
		}
	}
	if *seed != 0 {
		return
	}
	// Every kind of refusal was met: no budget is out of the histories' reach.
	for _, want := range []string{
		"unclaimed", string(CodeConflict), string(CodeBusy), string(CodeInvalidPayload), string(CodeResourceNotFound),
		string(BudgetTools), string(BudgetSkills), string(BudgetRegistryBytes), string(BudgetSkillText), string(BudgetToolSource),
		string(BudgetSkillSource), string(BudgetSnapshots), string(BudgetEntries), string(BudgetRetainedBytes), string(BudgetRegistrySessions),
	} {
		require.Positive(t, refused[want], want)
	}
}

func history(t *testing.T, seed uint64, refused map[string]int) {
	r := rand.New(rand.NewPCG(seed, 0))
	limits := Limits{
		MaxTools: 2 + r.IntN(3), MaxSkills: 2 + r.IntN(3), MaxRegistryBytes: 2500 + r.IntN(3000), MaxSkillTextBytes: 500 + r.IntN(600),
		MaxToolSourceBytes: len(plainTool) + 550, MaxSkillSourceBytes: 460, MaxSnapshots: 3 + r.IntN(8), MaxRetainedEntries: 6 + r.IntN(16),
		MaxRetainedBytes: 8000 + r.IntN(12000), MaxRegistrySessions: 2 + r.IntN(3), CaptureBytes: 1500, IdleTimeout: 300,
	}
	m := &model{t: t, r: r, f: newFixture(t, limits), sessions: make(map[ID]*modelSession), refused: refused}
	for i := range 4 {
		m.sessions[ID(fmt.Sprint(i))] = &modelSession{}
	}
	defer func() {
		if t.Failed() {
			t.Logf("history of seed %d:\n%s", seed, strings.Join(m.log, ""))
		}
	}()
	for range 150 {
		m.step()
	}
	for len(m.holds) > 0 {
		m.release()
	}
	if m.slot != nil {
		require.True(t, m.f.set.Discard(m.slot.real))
		m.slot = nil
	}
	for id := range m.sessions {
		m.f.set.Unclaim(id, m.now)
	}
	m.f.set.Expire(m.now + limits.IdleTimeout)
	require.Zero(t, m.f.set.Usage())
	require.Empty(t, m.f.set.sessions)
}
