package appresources

import "time"

// Listing is what a registry shows of itself.
type Listing struct {
	RegistryRevision ID
	Entries          []Descriptor // by kind, then name
}

// List returns the session's registry and creates an empty one where there is
// none. The session must be claimed.
func (s *Set) List(session ID, now time.Duration) (Listing, error) {
	s.tick(now)
	e, err := s.claimedSession(session)
	if err != nil {
		return Listing{}, err
	}
	if e.registry == nil {
		if err := s.roomForRegistry(); err != nil {
			return Listing{}, err
		}
		s.open(e)
	}
	p := e.registry.snapshot
	return Listing{RegistryRevision: p.revision, Entries: p.Descriptors()}, nil
}
