package appresources

import "time"

// Unregistered is the outcome of a removal.
type Unregistered struct {
	ResourceID       ID
	RemovedRevision  ID
	RegistryRevision ID
}

// Unregister removes one resource from what later turns may select. Snapshots
// that turns hold keep it. It is refused for want of room only while the
// previous snapshot is held and the smaller one does not fit beside it;
// [Set.Clear] needs no room.
func (s *Set) Unregister(session, resourceID, expectedRevision ID, now time.Duration) (Unregistered, error) {
	s.tick(now)
	e, err := s.claimedSession(session)
	if err != nil {
		return Unregistered{}, err
	}
	at := e.indexOf(resourceID)
	if at < 0 {
		return Unregistered{}, &Error{Code: CodeResourceNotFound, Message: "no resource has this ID"}
	}
	current := e.registry.snapshot
	if current.resources[at].desc.RevisionID != expectedRevision {
		return Unregistered{}, conflict("expected_revision is not the resource's current revision")
	}
	rest := make([]*resource, 0, current.Len()-1)
	rest = append(rest, current.resources[:at]...)
	rest = append(rest, current.resources[at+1:]...)
	next := newSnapshot(s.newID(), rest, s.limits.MaxManifestBytes)
	if err := s.fits(current, next.Len(), next.charge, false); err != nil {
		return Unregistered{}, err
	}
	s.publish(e, next)
	return Unregistered{ResourceID: resourceID, RemovedRevision: expectedRevision, RegistryRevision: next.revision}, nil
}

// indexOf returns the place of a resource in the registry, -1 where it has
// none.
func (e *session) indexOf(resourceID ID) int {
	if e.registry != nil {
		for i, r := range e.registry.snapshot.resources {
			if r.desc.ResourceID == resourceID {
				return i
			}
		}
	}
	return -1
}
