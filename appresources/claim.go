package appresources

import "time"

// Claim tells the set that the session has a controller, by a first claim, a
// repeated one or a takeover. A registry whose deadline has come is gone: at
// its instant expiry wins (magid: Ties). Otherwise its idle timer is reset.
func (s *Set) Claim(session ID, now time.Duration) {
	s.tick(now)
	e := s.session(session)
	e.claimed = true
	s.setIdle(e, false, 0)
}

// Unclaim tells the set that the session has no controller any more, by
// release or disconnect. An empty registry is removed, held or not; of any
// other the idle timer starts unless a hold protects it. Repeating it changes
// nothing.
func (s *Set) Unclaim(session ID, now time.Duration) {
	now = s.tick(now)
	e := s.sessions[session]
	if e == nil || !e.claimed {
		return
	}
	e.claimed = false
	if e.registry != nil && e.registry.snapshot.Len() == 0 {
		s.drop(e)
	}
	s.rest(e, now)
}

// rest starts the idle timer if the last protection has just ended.
func (s *Set) rest(e *session, now time.Duration) {
	if e.claimed || e.holds > 0 {
		return
	}
	if e.registry != nil {
		s.setIdle(e, true, now+s.limits.IdleTimeout)
	}
	s.forgetUnused(e)
}

func (s *Set) setIdle(e *session, idle bool, at time.Duration) {
	if e.idle || idle {
		s.deadlineStale = true
	}
	e.idle, e.expiresAt = idle, at
}
