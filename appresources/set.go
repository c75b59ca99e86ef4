package appresources

import (
	"time"

	"github.com/google/uuid"
)

// Options configure a [Set].
type Options struct {
	Limits Limits
	// NewID returns a fresh, unpredictable ID. Optional; nil means random
	// version 4 UUIDs.
	NewID func() ID
}

// Set is every registry of one daemon with the budgets they share. It is not
// safe for concurrent use. "now" is monotonic time since an origin that the
// caller chooses; one that runs backwards counts as standing still.
type Set struct {
	limits   Limits
	newID    func() ID
	sessions map[ID]*session
	// registries counts the sessions that have one.
	registries int
	usage      Usage
	slot       *Staging // the one source being captured
	now        time.Duration
	// deadline is the earliest expiry, valid unless stale.
	deadline      time.Duration
	deadlineSet   bool
	deadlineStale bool
}

// session is kept while it is claimed, held or has a registry.
type session struct {
	id       ID
	claimed  bool
	holds    int
	registry *registry
	// idle is set while the registry waits for its expiry.
	idle      bool
	expiresAt time.Duration
}

// registry always has a snapshot, an empty one too: its revision is the
// registry's. An empty snapshot is not charged.
type registry struct {
	snapshot *Snapshot
}

// Usage is what is alive in a [Set].
type Usage struct {
	Registries   int // sessions with a registry
	Snapshots    int // charged snapshots
	Entries      int // their resources
	Bytes        int // their charges
	CaptureBytes int // reserved for a source being captured; counts towards the same budget as Bytes
}

// New returns an empty set.
func New(o Options) (*Set, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.NewID == nil {
		o.NewID = func() ID { return ID(uuid.NewString()) }
	}
	return &Set{limits: limits, newID: o.NewID, sessions: make(map[ID]*session)}, nil
}

// Limits returns the limits in force, defaults filled in.
func (s *Set) Limits() Limits { return s.limits }

// Usage returns what is alive. It returns to zero when every registry is gone
// and every hold released.
func (s *Set) Usage() Usage {
	u := s.usage
	u.Registries = s.registries
	return u
}

// Nonempty reports whether the session has a registry with a resource in it:
// then a turn must select its application resources.
func (s *Set) Nonempty(session ID) bool {
	e := s.sessions[session]
	return e != nil && e.registry != nil && e.registry.snapshot.Len() > 0
}

func (s *Set) session(id ID) *session {
	e := s.sessions[id]
	if e == nil {
		e = &session{id: id}
		s.sessions[id] = e
	}
	return e
}

func (s *Set) forgetUnused(e *session) {
	if !e.claimed && e.holds == 0 && e.registry == nil {
		delete(s.sessions, e.id)
	}
}

// claimed returns the session if it is claimed.
func (s *Set) claimedSession(id ID) (*session, error) {
	e := s.sessions[id]
	if e == nil || !e.claimed {
		return nil, ErrUnclaimed
	}
	return e, nil
}

// roomForRegistry checks the one budget that an empty registry needs.
func (s *Set) roomForRegistry() error {
	if s.registries >= s.limits.MaxRegistrySessions {
		return exceeded(BudgetRegistrySessions, s.limits.MaxRegistrySessions)
	}
	return nil
}

// open gives the session an empty registry.
func (s *Set) open(e *session) {
	e.registry = &registry{snapshot: s.empty()}
	s.ref(e.registry.snapshot)
	s.registries++
}

// empty returns the snapshot of a registry without resources, at a fresh
// revision.
func (s *Set) empty() *Snapshot {
	return newSnapshot(s.newID(), nil, s.limits.MaxManifestBytes)
}

// drop removes the session's registry.
func (s *Set) drop(e *session) {
	s.unref(e.registry.snapshot)
	e.registry = nil
	s.registries--
	s.setIdle(e, false, 0)
}

// ref and unref count holders. The charge begins with the first and ends with
// the last, so the sum of charges is what is alive.
func (s *Set) ref(p *Snapshot) {
	p.refs++
	if p.refs == 1 && p.Len() > 0 {
		s.usage.Snapshots++
		s.usage.Entries += p.Len()
		s.usage.Bytes += p.charge
	}
}

func (s *Set) unref(p *Snapshot) {
	p.refs--
	if p.refs == 0 && p.Len() > 0 {
		s.usage.Snapshots--
		s.usage.Entries -= p.Len()
		s.usage.Bytes -= p.charge
	}
}

// fits reports whether a snapshot of entries and bytes has room, beside the
// previous one or in its place if nobody else holds that.
func (s *Set) fits(previous *Snapshot, entries, bytes int, beside bool) error {
	snapshots, used, held := s.usage.Snapshots, s.usage.Entries, s.usage.Bytes+s.usage.CaptureBytes
	if !beside && previous != nil && previous.refs == 1 && previous.Len() > 0 {
		snapshots--
		used -= previous.Len()
		held -= previous.charge
	}
	switch {
	case entries == 0:
		return nil
	case snapshots+1 > s.limits.MaxSnapshots:
		return exceeded(BudgetSnapshots, s.limits.MaxSnapshots)
	case used+entries > s.limits.MaxRetainedEntries:
		return exceeded(BudgetEntries, s.limits.MaxRetainedEntries)
	case held+bytes > s.limits.MaxRetainedBytes:
		return exceeded(BudgetRetainedBytes, s.limits.MaxRetainedBytes)
	}
	return nil
}

// publish makes next the registry's snapshot.
func (s *Set) publish(e *session, next *Snapshot) {
	previous := e.registry.snapshot
	s.ref(next)
	e.registry.snapshot = next
	s.unref(previous)
}
