package appresources

import "time"

// Staging is a registration whose source is being captured. It occupies the
// set's one slot until [Set.Publish] or [Set.Discard].
type Staging struct {
	session ID
	r       Registration
	max     int
}

// Session returns the session that registers.
func (t *Staging) Session() ID { return t.session }

// MaxBytes returns how many bytes the source may have; the capture reads at
// most one more.
func (t *Staging) MaxBytes() int { return t.max }

// Reserve makes every check of a registration that needs no content, takes the
// slot and charges it. Nothing has been opened before it succeeds. The slot
// stays taken, whatever becomes of the session, until the worker has returned
// and the caller publishes or discards (seed: Captured sources).
func (s *Set) Reserve(session ID, r Registration, now time.Duration) (*Staging, error) {
	if _, err := s.admit(session, &r, now); err != nil {
		return nil, err
	}
	if s.slot != nil {
		return nil, busy()
	}
	if s.usage.Bytes+s.limits.CaptureBytes > s.limits.MaxRetainedBytes {
		return nil, exceeded(BudgetRetainedBytes, s.limits.MaxRetainedBytes)
	}
	limit, _ := s.limits.sourceBytes(r.Kind)
	s.slot = &Staging{session: session, r: r, max: limit}
	s.usage.CaptureBytes = s.limits.CaptureBytes
	return s.slot, nil
}

// Publish registers what was captured. It frees the slot, whatever it answers,
// and then checks everything again: name, revision and kind, content, budgets.
// Control, operation and deadline are the caller's to check first; if one of
// them is gone it calls [Set.Discard] instead. A staging that is not the one
// in the slot is refused as a conflict.
func (s *Set) Publish(t *Staging, content string, now time.Duration) (Registered, error) {
	if !s.Discard(t) {
		return Registered{}, conflict("the captured source was discarded")
	}
	e, err := s.admit(t.session, &t.r, now)
	if err != nil {
		return Registered{}, err
	}
	next, entry, err := s.plan(e, &t.r, content)
	if err != nil {
		return Registered{}, err
	}
	return s.commit(e, next, entry), nil
}

// Discard frees the slot if t occupies it and reports whether it did.
func (s *Set) Discard(t *Staging) bool {
	if t == nil || s.slot != t {
		return false
	}
	s.slot = nil
	s.usage.CaptureBytes = 0
	return true
}
