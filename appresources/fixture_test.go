package appresources

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fixture is a set whose IDs are counted, whose holds are remembered, and
// whose accounts are recounted after every step.
type fixture struct {
	t     *testing.T
	set   *Set
	ids   int
	holds map[*Hold]bool
	// charges remembers what was recounted: a snapshot never changes.
	charges map[*Snapshot]int
}

func newFixture(t *testing.T, limits Limits) *fixture {
	t.Helper()
	f := &fixture{t: t, holds: make(map[*Hold]bool), charges: make(map[*Snapshot]int)}
	set, err := New(Options{Limits: limits, NewID: func() ID {
		f.ids++
		return ID(fmt.Sprintf("%08x-0000-4000-8000-%012x", f.ids, f.ids))
	}})
	require.NoError(t, err)
	f.set = set
	t.Cleanup(f.audit)
	return f
}

func by(operation int) Attribution {
	id := func(kind byte) ID { return ID(fmt.Sprintf("%c0000000-0000-4000-8000-%012x", kind, operation)) }
	return Attribution{InstanceID: id('a'), ConnectionID: id('b'), OperationID: id('c'), GrantGeneration: int64(operation)}
}

// audit recounts everything that is alive, from the registries and holds and
// from each resource's own parts, and compares it with the set's accounts.
func (f *fixture) audit() {
	f.t.Helper()
	var want Usage
	alive := make(map[*Snapshot]int)
	for _, e := range f.set.sessions {
		if !e.claimed && e.holds == 0 && e.registry == nil {
			require.Fail(f.t, "an unused session is kept")
		}
		if e.registry == nil {
			require.False(f.t, e.idle)
			continue
		}
		want.Registries++
		alive[e.registry.snapshot]++
		require.Equal(f.t, !e.claimed && e.holds == 0, e.idle)
		require.True(f.t, e.claimed || e.registry.snapshot.Len() > 0, "an unclaimed empty registry is kept")
	}
	held := make(map[ID]int)
	for h := range f.holds {
		held[h.session]++
		if h.snapshot != nil {
			alive[h.snapshot]++
		}
	}
	for id, n := range held {
		require.Equal(f.t, n, f.set.sessions[id].holds)
	}
	for p, refs := range alive {
		require.Equal(f.t, refs, p.refs)
		if p.Len() == 0 {
			require.Zero(f.t, p.Bytes())
			continue
		}
		want.Snapshots++
		want.Entries += p.Len()
		want.Bytes += f.charge(p)
	}
	if f.set.slot != nil {
		want.CaptureBytes = f.set.limits.CaptureBytes
	}
	require.Equal(f.t, want, f.set.Usage())
	l := f.set.limits
	require.LessOrEqual(f.t, want.Registries, l.MaxRegistrySessions)
	require.LessOrEqual(f.t, want.Snapshots, l.MaxSnapshots)
	require.LessOrEqual(f.t, want.Entries, l.MaxRetainedEntries)
	require.LessOrEqual(f.t, want.Bytes+want.CaptureBytes, l.MaxRetainedBytes)
}

func (f *fixture) charge(p *Snapshot) int {
	n, ok := f.charges[p]
	if !ok {
		n = recount(f.t, p)
		f.charges[p] = n
	}
	return n
}

// recount is a snapshot's charge from the text of the rule: descriptors,
// captured bytes, schemas, and the combined instructions once.
func recount(t *testing.T, p *Snapshot) int {
	total := 0
	var skills []string
	for _, r := range p.resources {
		total += len(appendDescriptor(nil, &r.desc)) + r.desc.CapturedBytes
		require.Len(t, r.content, r.desc.CapturedBytes)
		if r.desc.Kind == KindTool {
			c, err := ParseContract([]byte(r.content))
			require.NoError(t, err)
			total += len(c.Input.Encoded()) + len(c.Output.Encoded())
		} else {
			skills = append(skills, r.content)
		}
	}
	require.Equal(t, strings.Join(skills, "\n"), p.Instructions())
	return total + len(strings.Join(skills, "\n"))
}

var plainTool = source(emptySchema, "")

func (f *fixture) register(session ID, kind Kind, name string, expected ID, content string) (Registered, error) {
	f.t.Helper()
	got, err := f.set.Register(session, Registration{Kind: kind, Name: name, ExpectedRevision: expected, By: by(1)}, content, 0)
	f.audit()
	return got, err
}

func (f *fixture) skill(session ID, name string, expected ID, content string) Registered {
	f.t.Helper()
	got, err := f.register(session, KindSkill, name, expected, content)
	require.NoError(f.t, err)
	return got
}

func (f *fixture) tool(session ID, name string, expected ID) Registered {
	f.t.Helper()
	got, err := f.register(session, KindTool, name, expected, plainTool)
	require.NoError(f.t, err)
	return got
}

func (f *fixture) list(session ID) Listing {
	f.t.Helper()
	l, err := f.set.List(session, 0)
	require.NoError(f.t, err)
	f.audit()
	return l
}

func (f *fixture) entry(session ID, name string) Descriptor {
	f.t.Helper()
	for _, d := range f.list(session).Entries {
		if d.Name == name {
			return d
		}
	}
	require.Fail(f.t, "no such entry", name)
	return Descriptor{}
}

// selection authorizes everything that the session's registry holds now.
func (f *fixture) selection(session ID) Selection {
	f.t.Helper()
	l := f.list(session)
	sel := Selection{ExpectedRegistryRevision: l.RegistryRevision}
	for _, d := range l.Entries {
		if d.Kind == KindTool {
			sel.Authorizations = append(sel.Authorizations, d.Tuple())
		}
	}
	return sel
}

func (f *fixture) take(session ID, now time.Duration) *Hold {
	f.t.Helper()
	h, err := f.set.Select(session, f.selection(session), now)
	require.NoError(f.t, err)
	f.holds[h] = true
	f.audit()
	return h
}

func (f *fixture) release(h *Hold, now time.Duration) {
	f.t.Helper()
	delete(f.holds, h)
	f.set.Release(h, now)
	f.audit()
}
