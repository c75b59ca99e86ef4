package appresources

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The model is the rules in their plainest form: every account is counted anew
// from what is alive whenever it is needed.

type modelEntry struct {
	id, revision ID
	kind         Kind
	name, text   string
}

// charge is the rule of the specification, in numbers that the code under test
// does not share: five IDs of 36 and two hashes of 64.
func (e modelEntry) charge() int {
	const members = len(`{"resource_id":"","revision_id":"","kind":"","name":"","description":"","content_sha256":"","revision_sha256":"",` +
		`"captured_bytes":,"registered_by":{"instance_id":"","connection_id":"","operation_id":"","grant_generation":1}}`)
	n := members + 5*36 + 2*64 + len(e.kind) + len(e.name) + len(fmt.Sprint(len(e.text))) + len(e.text)
	if e.kind == KindTool {
		n += 2 * len(emptySchema)
	}
	return n
}

type modelSnapshot struct {
	revision ID
	entries  []modelEntry
}

func (p *modelSnapshot) body() (n int) {
	for _, e := range p.entries {
		n += e.charge()
	}
	return n
}

func (p *modelSnapshot) text() string {
	var skills []modelEntry
	for _, e := range p.entries {
		if e.kind == KindSkill {
			skills = append(skills, e)
		}
	}
	slices.SortFunc(skills, func(a, b modelEntry) int { return strings.Compare(a.name, b.name) })
	var text []string
	for _, e := range skills {
		text = append(text, e.text)
	}
	return strings.Join(text, "\n")
}

func (p *modelSnapshot) find(name string) int {
	return slices.IndexFunc(p.entries, func(e modelEntry) bool { return e.name == name })
}

type modelSession struct {
	claimed  bool
	registry *modelSnapshot
	idleFrom time.Duration
}

type modelHold struct {
	session  ID
	snapshot *modelSnapshot
	real     *Hold
}

type modelStaging struct {
	session ID
	r       Registration
	real    *Staging
}

type model struct {
	t        *testing.T
	r        *rand.Rand
	f        *fixture
	now      time.Duration
	sessions map[ID]*modelSession
	holds    []*modelHold
	slot     *modelStaging
	log      []string
	refused  map[string]int
}

func (m *model) alive() map[*modelSnapshot]bool {
	out := make(map[*modelSnapshot]bool)
	for _, s := range m.sessions {
		if s.registry != nil && len(s.registry.entries) > 0 {
			out[s.registry] = true
		}
	}
	for _, h := range m.holds {
		if h.snapshot != nil && len(h.snapshot.entries) > 0 {
			out[h.snapshot] = true
		}
	}
	return out
}

func (m *model) usage() (u Usage) {
	for _, s := range m.sessions {
		if s.registry != nil {
			u.Registries++
		}
	}
	for p := range m.alive() {
		u.Snapshots++
		u.Entries += len(p.entries)
		u.Bytes += p.body() + len(p.text())
	}
	if m.slot != nil {
		u.CaptureBytes = m.f.set.limits.CaptureBytes
	}
	return u
}

func (m *model) holdsOf(id ID) (n int) {
	for _, h := range m.holds {
		if h.session == id {
			n++
		}
	}
	return n
}

// fits answers the first daemon-wide budget that refuses next, with the old
// snapshot counted or not.
func (m *model) fits(old, next *modelSnapshot, beside bool, text bool) string {
	u, l := m.usage(), m.f.set.limits
	pinned := slices.ContainsFunc(m.holds, func(h *modelHold) bool { return h.snapshot == old })
	if old != nil && len(old.entries) > 0 && !beside && !pinned {
		u.Snapshots--
		u.Entries -= len(old.entries)
		u.Bytes -= old.body() + len(old.text())
	}
	bytes := u.Bytes + u.CaptureBytes
	if text {
		bytes += next.body() + len(next.text())
	}
	switch {
	case len(next.entries) == 0:
		return ""
	case u.Snapshots >= l.MaxSnapshots:
		return string(BudgetSnapshots)
	case u.Entries+len(next.entries) > l.MaxRetainedEntries:
		return string(BudgetEntries)
	case bytes > l.MaxRetainedBytes:
		return string(BudgetRetainedBytes)
	}
	return ""
}

// expect compares an error with the model's answer: "" for none, a code or a
// budget.
func (m *model) expect(want string, err error) {
	m.t.Helper()
	got := ""
	var refusal *Error
	switch {
	case err == ErrUnclaimed:
		got = "unclaimed"
	case err != nil:
		require.ErrorAs(m.t, err, &refusal)
		got = string(refusal.Code)
		if refusal.Code == CodeLimitExceeded {
			got = string(refusal.Budget)
		}
	}
	require.Equal(m.t, want, got)
	if want != "" {
		m.refused[want]++
	}
}

func (m *model) expire() {
	for _, id := range slices.Collect(maps.Keys(m.sessions)) {
		s := m.sessions[id]
		if s.registry == nil || s.claimed || m.holdsOf(id) > 0 {
			continue
		}
		if m.now >= s.idleFrom+m.f.set.limits.IdleTimeout {
			s.registry = nil
		}
	}
}

func (m *model) step() {
	id := ID(fmt.Sprint(m.r.IntN(4)))
	s := m.sessions[id]
	m.expire()
	switch op := m.r.IntN(48); {
	case op == 0:
		m.note("unclaim", id)
		m.f.set.Unclaim(id, m.now)
		if s.claimed {
			s.claimed, s.idleFrom = false, m.now
			if s.registry != nil && len(s.registry.entries) == 0 {
				s.registry = nil
			}
		}
	case op < 5:
		m.note("claim", id)
		m.f.set.Claim(id, m.now)
		s.claimed = true
	case op < 7:
		m.list(id, s)
	case op < 31:
		m.register(id, s)
	case op < 34:
		m.unregister(id, s)
	case op == 34 && m.r.IntN(3) == 0:
		m.clear(id, s)
	case op < 38:
		m.choose(id, s)
	case op == 38:
		m.note("protect", id)
		m.holds = append(m.holds, &modelHold{session: id, real: m.f.set.Protect(id, m.now)})
		m.f.holds[m.holds[len(m.holds)-1].real] = true
	case op < 42:
		m.release()
	case op < 46:
		m.settle()
	default:
		m.now += time.Duration(m.r.IntN(200))
		m.note("time", m.now)
	}
	m.expire()
	m.compare()
}

func (m *model) note(args ...any) { m.log = append(m.log, fmt.Sprintln(args...)) }

func (m *model) list(id ID, s *modelSession) {
	m.note("list", id)
	want := ""
	switch {
	case !s.claimed:
		want = "unclaimed"
	case s.registry == nil && m.usage().Registries >= m.f.set.limits.MaxRegistrySessions:
		want = string(BudgetRegistrySessions)
	}
	l, err := m.f.set.List(id, m.now)
	m.expect(want, err)
	if want == "" && s.registry == nil {
		s.registry = &modelSnapshot{revision: l.RegistryRevision}
	}
}

// admit is what a registration answers before its content is known.
func (m *model) admit(s *modelSession, r Registration) string {
	l := m.f.set.limits
	if !s.claimed {
		return "unclaimed"
	}
	if r.Reserved(r.Name) {
		return string(CodeConflict)
	}
	at := -1
	tools, skills := 0, 0
	next := &modelSnapshot{entries: []modelEntry{{}}}
	if s.registry != nil {
		at = s.registry.find(r.Name)
		next.entries = make([]modelEntry, len(s.registry.entries)+1)
		for _, e := range s.registry.entries {
			if e.kind == KindTool {
				tools++
			} else {
				skills++
			}
		}
	}
	if at < 0 && r.ExpectedRevision != "" {
		return string(CodeConflict)
	}
	if at >= 0 {
		if e := s.registry.entries[at]; e.kind != r.Kind || e.revision != r.ExpectedRevision {
			return string(CodeConflict)
		}
		next.entries = next.entries[1:]
		return m.fits(s.registry, next, true, false)
	}
	switch {
	case s.registry == nil && m.usage().Registries >= l.MaxRegistrySessions:
		return string(BudgetRegistrySessions)
	case r.Kind == KindTool && tools >= l.MaxTools:
		return string(BudgetTools)
	case r.Kind == KindSkill && skills >= l.MaxSkills:
		return string(BudgetSkills)
	}
	return m.fits(s.registry, next, false, false)
}

// content is what a registration answers once its text is known, and the
// snapshot it makes.
func (m *model) content(s *modelSession, r Registration, text string) (string, *modelSnapshot) {
	l := m.f.set.limits
	limit, budget := l.MaxSkillSourceBytes, BudgetSkillSource
	if r.Kind == KindTool {
		limit, budget = l.MaxToolSourceBytes, BudgetToolSource
	}
	switch {
	case len(text) > limit:
		return string(budget), nil
	case strings.Contains(text, "\x00"):
		return string(CodeInvalidPayload), nil
	}
	next := &modelSnapshot{}
	e := modelEntry{kind: r.Kind, name: r.Name, text: text}
	replaces := false
	if s.registry != nil {
		for _, old := range s.registry.entries {
			if old.name == r.Name {
				replaces = true
				continue
			}
			next.entries = append(next.entries, old)
		}
	}
	next.entries = append(next.entries, e)
	switch {
	case next.body() > l.MaxRegistryBytes:
		return string(BudgetRegistryBytes), nil
	case len(next.text()) > l.MaxSkillTextBytes:
		return string(BudgetSkillText), nil
	}
	return m.fits(s.registry, next, replaces, true), next
}

func (m *model) adopt(s *modelSession, next *modelSnapshot, got Registered) {
	last := &next.entries[len(next.entries)-1]
	if s.registry != nil {
		if at := s.registry.find(last.name); at >= 0 {
			require.Equal(m.t, s.registry.entries[at].id, got.Entry.ResourceID)
			require.NotEqual(m.t, s.registry.entries[at].revision, got.Entry.RevisionID)
		}
		require.NotEqual(m.t, s.registry.revision, got.RegistryRevision)
	}
	last.id, last.revision = got.Entry.ResourceID, got.Entry.RevisionID
	next.revision = got.RegistryRevision
	s.registry = next
}

func (m *model) register(id ID, s *modelSession) {
	r := Registration{
		Kind: []Kind{KindTool, KindSkill}[m.r.IntN(2)], Name: string(rune('a' + m.r.IntN(6))), By: by(1),
		Reserved: func(name string) bool { return name == "f" },
	}
	if s.registry != nil && m.r.IntN(3) > 0 && len(s.registry.entries) > 0 {
		e := s.registry.entries[m.r.IntN(len(s.registry.entries))]
		r.ExpectedRevision = e.revision
		if m.r.IntN(4) > 0 {
			r.Name, r.Kind = e.name, e.kind
		}
	}
	want := m.admit(s, r)
	if m.r.IntN(5) == 0 {
		m.note("reserve", id, r.Kind, r.Name, r.ExpectedRevision)
		switch u := m.usage(); {
		case want != "":
		case m.slot != nil:
			want = string(CodeBusy)
		case u.Bytes+m.f.set.limits.CaptureBytes > m.f.set.limits.MaxRetainedBytes:
			want = string(BudgetRetainedBytes)
		}
		st, err := m.f.set.Reserve(id, r, m.now)
		m.expect(want, err)
		if want == "" {
			m.slot = &modelStaging{session: id, r: r, real: st}
		}
		return
	}
	text := m.text(r.Kind)
	m.note("register", id, r.Kind, r.Name, r.ExpectedRevision, len(text))
	var next *modelSnapshot
	if want == "" {
		want, next = m.content(s, r, text)
	}
	if want == "" && m.slot != nil {
		want = string(CodeBusy)
	}
	got, err := m.f.set.Register(id, r, text, m.now)
	m.expect(want, err)
	if want == "" {
		m.adopt(s, next, got)
	}
}

func (m *model) text(kind Kind) string {
	if m.r.IntN(12) == 0 {
		return plainTool + "\x00"
	}
	if kind == KindTool {
		return sized(len(plainTool) + m.r.IntN(600))
	}
	return strings.Repeat("x", m.r.IntN(500))
}

// settle ends the staging in the slot, if there is one.
func (m *model) settle() {
	if m.slot == nil {
		return
	}
	st := m.slot
	s := m.sessions[st.session]
	if m.r.IntN(3) == 0 {
		m.note("discard", st.session)
		require.True(m.t, m.f.set.Discard(st.real))
		m.slot = nil
		return
	}
	text := m.text(st.r.Kind)
	m.note("publish", st.session, len(text))
	m.slot = nil
	want := m.admit(s, st.r)
	var next *modelSnapshot
	if want == "" {
		want, next = m.content(s, st.r, text)
	}
	got, err := m.f.set.Publish(st.real, text, m.now)
	m.expect(want, err)
	if want == "" {
		m.adopt(s, next, got)
	}
}
