package coordinator

import (
	"errors"
	"fmt"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/wirev2"
)

// lease is an open journal whose writer lock this daemon holds. The core only
// hands it from one effect to another.
type lease = *journal.Session

// leaseState is where a session's writer lease stands.
type leaseState int

const (
	leaseClosed leaseState = iota
	leaseOpening
	leaseOpen
	leaseClosing
)

func (s leaseState) String() string {
	switch s {
	case leaseClosed:
		return "closed"
	case leaseOpening:
		return "opening"
	case leaseOpen:
		return "open"
	case leaseClosing:
		return "closing"
	}
	return fmt.Sprintf("lease state %d", int(s))
}

// needLease says whether the lease is open; if it is not, the request waits for
// it, or for its end by the deadline.
func (k *core) needLease(a *ask) bool {
	if a.session.lease == leaseOpen && !a.session.broken {
		if a.waits {
			a.session.unwait(a)
		}
		return true
	}
	if !a.waits {
		k.change(a.session)
	}
	k.wait(a)
	return false
}

// settleLease opens a lease that is waited for and closes one that nobody needs:
// it is held while the session is claimed or a turn prepares or runs
// (wire-v2 4: Claims).
func (k *core) settleLease(s *session) {
	switch s.lease {
	case leaseClosed:
		if len(s.waiting) > 0 || s.broken && s.holder != nil {
			s.lease, s.broken = leaseOpening, false
			k.do(openLease{s})
		}
	case leaseOpen:
		needed := s.holder != nil || len(s.waiting) > 0
		if s.turn == nil && (s.broken || !needed) {
			s.lease = leaseClosing
			k.do(closeLease{s, s.journal})
		}
	case leaseOpening, leaseClosing:
		// Settled when it comes back.
	}
	if s.lease != leaseClosing {
		then := s.then
		s.then = nil
		for _, f := range then {
			f()
		}
	}
}

// leaseOpened comes back from openLease.
func (k *core) leaseOpened(s *session, opened lease, err error) {
	if err == nil {
		s.lease, s.journal, s.workspace = leaseOpen, opened, opened.Workspace()
		k.change(s)
		return
	}
	s.lease = leaseClosed
	refusal := leaseRefusal(err)
	for len(s.waiting) > 0 {
		k.fail(s.waiting[0], refusal)
	}
}

// leaseClosed comes back from closeLease.
func (k *core) leaseClosed(s *session) {
	s.lease, s.journal = leaseClosed, nil
	k.change(s)
}

// leaseRefusal is what a request gets whose session could not be opened.
func leaseRefusal(err error) *wirev2.Error {
	var damage *journal.DamageError
	switch {
	case errors.As(err, &damage):
		return &wirev2.Error{
			Code:    wirev2.CodeSessionLocked,
			Message: fmt.Sprintf("the session's journal is damaged at line %d and stays untouched", damage.Line),
		}
	case errors.Is(err, journal.ErrLocked):
		return &wirev2.Error{Code: wirev2.CodeSessionLocked, Message: "another daemon holds this session"}
	case errors.Is(err, journal.ErrUnknown):
		return &wirev2.Error{Code: wirev2.CodeUnknownSession, Message: "there is no such session any more"}
	}
	return &wirev2.Error{Code: wirev2.CodeInternal, Message: "the session's journal could not be opened; the log says why"}
}
