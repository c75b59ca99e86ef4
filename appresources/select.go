package appresources

import "time"

// Selection is what a turn asks for.
type Selection struct {
	ExpectedRegistryRevision ID
	// Authorizations is a set: exactly one tuple for every tool.
	Authorizations []Tuple
	// Reserved reports whether the loaded catalog keeps a name for itself.
	// Optional; nil means no name is.
	Reserved func(name string) bool
}

// Hold protects a session's registry from expiry and, if it came from
// [Set.Select], keeps one snapshot charged. One hold lasts from the start of a
// turn's preparation to its worker's cleanup, or is handed on with
// [Set.Share].
type Hold struct {
	set      *Set
	session  ID
	snapshot *Snapshot
	released bool
}

// Session returns the session that is protected.
func (h *Hold) Session() ID { return h.session }

// Snapshot returns the snapshot held; nil for a turn without one.
func (h *Hold) Snapshot() *Snapshot { return h.snapshot }

// Select takes the session's whole registry for a turn. The registry's
// revision must be the expected one (conflict), no name may have become the
// catalog's (conflict), and the authorizations must be the tuples of all tools:
// a repeated, missing or foreign one is an invalid payload, one of a known tool
// that is not its current tuple a conflict. The snapshot is shared: selecting
// charges nothing.
func (s *Set) Select(session ID, sel Selection, now time.Duration) (*Hold, error) {
	s.tick(now)
	e, err := s.claimedSession(session)
	if err != nil {
		return nil, err
	}
	if err := e.at(sel.ExpectedRegistryRevision); err != nil {
		return nil, err
	}
	p := e.registry.snapshot
	if err := p.available(sel.Reserved); err != nil {
		return nil, err
	}
	if err := p.authorize(sel.Authorizations); err != nil {
		return nil, err
	}
	return s.hold(e, p), nil
}

// Protect holds the session for a turn without application resources.
func (s *Set) Protect(session ID, now time.Duration) *Hold {
	s.tick(now)
	return s.hold(s.session(session), nil)
}

// Share returns a second hold on what h holds, or nil if h was released or is
// another set's.
func (s *Set) Share(h *Hold, now time.Duration) *Hold {
	s.tick(now)
	if h == nil || h.set != s || h.released {
		return nil
	}
	return s.hold(s.session(h.session), h.snapshot)
}

func (s *Set) hold(e *session, p *Snapshot) *Hold {
	if p != nil {
		s.ref(p)
	}
	e.holds++
	s.setIdle(e, false, 0)
	return &Hold{set: s, session: e.id, snapshot: p}
}

// Release ends a hold; the last one ends the snapshot's charge and, if the
// session is unclaimed, starts its registry's idle timer. A second release of
// the same hold, one of another set's, and one of nil change nothing.
func (s *Set) Release(h *Hold, now time.Duration) {
	now = s.tick(now)
	if h == nil || h.set != s || h.released {
		return
	}
	h.released = true
	if h.snapshot != nil {
		s.unref(h.snapshot)
	}
	e := s.sessions[h.session]
	e.holds--
	s.rest(e, now)
}

// available checks the names against the catalog as registration did: the
// catalog of a turn may have grown since.
func (p *Snapshot) available(reserved func(string) bool) error {
	if reserved == nil {
		return nil
	}
	for _, r := range p.resources {
		if reserved(r.desc.Name) {
			return conflict("a resource's name is reserved by the daemon's catalog")
		}
	}
	return nil
}

func (p *Snapshot) authorize(tuples []Tuple) error {
	if len(tuples) > len(p.tools) {
		// Longer lists repeat a tool or name a foreign one: which need not be
		// found out, and the list needs no bound of its own.
		return invalid("tool_authorizations must name every tool of the registry once and nothing else")
	}
	stale := false
	seen := make(map[ID]bool, len(tuples))
	for _, t := range tuples {
		current, ok := p.toolByID(t.ResourceID)
		switch {
		case !ok:
			return invalid("tool_authorizations names a resource that is no tool of the registry")
		case seen[t.ResourceID]:
			return invalid("tool_authorizations names a tool twice")
		}
		seen[t.ResourceID] = true
		stale = stale || current.Tuple() != t
	}
	switch {
	case len(tuples) < len(p.tools):
		return invalid("tool_authorizations leaves out a tool of the registry")
	case stale:
		return conflict("tool_authorizations holds a revision that is not current")
	}
	return nil
}

func (p *Snapshot) toolByID(id ID) (*Tool, bool) {
	for i := range p.tools {
		if p.tools[i].ResourceID == id {
			return &p.tools[i], true
		}
	}
	return nil, false
}
