package appresources

import "time"

// tick is the first thing that every method with a now does. A now from before
// the last one counts as the last one.
func (s *Set) tick(now time.Duration) time.Duration {
	s.now = max(s.now, now)
	s.expire()
	return s.now
}

// Expire removes every registry whose deadline is not after now and returns
// how many there were. Methods that take now do the same first, so a late call
// of Expire changes no answer.
func (s *Set) Expire(now time.Duration) int {
	s.now = max(s.now, now)
	return s.expire()
}

func (s *Set) expire() int {
	if at, ok := s.NextDeadline(); !ok || at > s.now {
		return 0
	}
	gone := 0
	for _, e := range s.sessions {
		if e.idle && e.expiresAt <= s.now {
			s.drop(e)
			s.forgetUnused(e)
			gone++
		}
	}
	return gone
}

// NextDeadline returns the earliest instant at which [Set.Expire] has
// something to do, and false while nothing waits.
func (s *Set) NextDeadline() (time.Duration, bool) {
	if s.deadlineStale {
		s.deadline, s.deadlineSet, s.deadlineStale = 0, false, false
		for _, e := range s.sessions {
			if e.idle && (!s.deadlineSet || e.expiresAt < s.deadline) {
				s.deadline, s.deadlineSet = e.expiresAt, true
			}
		}
	}
	return s.deadline, s.deadlineSet
}
