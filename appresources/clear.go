package appresources

import "time"

// Cleared is the outcome of clearing.
type Cleared struct {
	RegistryRevision ID
	RemovedCount     int
}

// Clear removes every resource from what later turns may select. It releases
// no capacity that a turn holds, and is never refused for want of room. An
// empty registry keeps its revision.
func (s *Set) Clear(session, expectedRegistryRevision ID, now time.Duration) (Cleared, error) {
	s.tick(now)
	e, err := s.claimedSession(session)
	if err != nil {
		return Cleared{}, err
	}
	if err := e.at(expectedRegistryRevision); err != nil {
		return Cleared{}, err
	}
	current := e.registry.snapshot
	if current.Len() > 0 {
		s.publish(e, s.empty())
	}
	return Cleared{RegistryRevision: e.registry.snapshot.revision, RemovedCount: current.Len()}, nil
}

// at compares the registry's revision with the one a caller believes in.
func (e *session) at(revision ID) error {
	if e.registry == nil {
		return conflict("the session has no registry; list or register first")
	}
	if e.registry.snapshot.revision != revision {
		return conflict("expected_registry_revision is not the registry's current revision")
	}
	return nil
}
