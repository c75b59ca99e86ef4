package executorauth

import (
	"cmp"
	"slices"
	"time"
)

// Expiry says what a deadline ended.
type Expiry string

const (
	// ExpiredUnconfirmed: a provisional executor is gone.
	ExpiredUnconfirmed Expiry = "unconfirmed"
	// ExpiredIdle: a confirmed executor without connection and pin is gone.
	ExpiredIdle Expiry = "idle"
	// ExpiredCandidate: a candidate secret is gone; its executor lives on.
	ExpiredCandidate Expiry = "candidate"
)

// Expired is one deadline that passed.
type Expired struct {
	ID   ID
	What Expiry
	At   time.Duration
}

// Expire lets go of everything whose deadline is not after now, and says what,
// by time. Nothing depends on this call or on its result: every method does the
// same first, in silence. It is for a host's timer, and for a host's log if it
// calls Expire before each method.
func (a *Authority) Expire(now time.Duration) []Expired {
	a.now = min(max(a.now, now), never-1)
	if a.now < a.next {
		return nil
	}
	var gone []Expired
	a.next = never
	for _, e := range a.executors {
		if e.deadline <= a.now {
			what := ExpiredIdle
			if !e.confirmed {
				what = ExpiredUnconfirmed
			}
			a.remove(e)
			gone = append(gone, Expired{e.id, what, e.deadline})
			continue
		}
		if e.rotation <= a.now {
			gone = append(gone, Expired{e.id, ExpiredCandidate, e.rotation})
			e.discard()
		}
		a.next = min(a.next, e.deadline, e.rotation)
	}
	slices.SortFunc(gone, func(x, y Expired) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.ID, y.ID))
	})
	return gone
}

// NextDeadline returns the first instant at which something expires, or false if
// nothing is waiting. A host asks again after every call that may have changed
// it: all but Authorize, Attached, Route, Held, Lookup and Counts.
func (a *Authority) NextDeadline() (time.Duration, bool) {
	next := never
	for _, e := range a.executors {
		next = min(next, e.deadline, e.rotation)
	}
	a.next = next
	return next, next != never
}

// advance moves time on and lets go of what has expired: at the same instant
// expiry comes before the caller.
func (a *Authority) advance(now time.Duration) time.Duration {
	a.Expire(now)
	return a.now
}

// idle starts the idle time of an executor that has just become detached and
// unpinned. A provisional one keeps the deadline it has.
func (a *Authority) idle(e *executor, now time.Duration) {
	if e.confirmed && e.conn == "" && len(e.pins) == 0 {
		a.arm(&e.deadline, now, a.limits.IdleTimeout)
	}
}

// arm sets a deadline. One beyond the end of time.Duration never comes.
func (a *Authority) arm(deadline *time.Duration, now, timeout time.Duration) {
	if timeout > never-now {
		timeout = never - now
	}
	*deadline = now + timeout
	a.next = min(a.next, *deadline)
}
