package executorauth

import "time"

// State is where an executor stands.
type State string

const (
	// Provisional: created and not confirmed.
	Provisional State = "provisional"
	// Confirmed: one secret proves it.
	Confirmed State = "confirmed"
	// Rotating: confirmed, and a candidate waits.
	Rotating State = "rotating"
)

// Status is what may be shown of an executor: everything but its verifiers.
type Status struct {
	Identity
	State    State
	Conn     ConnID // "" while detached
	Pins     int
	Expires  time.Duration // when it expires as it stands; 0 means never
	Rotation time.Duration // when its candidate expires; 0 means there is none
}

// Counts is how many executors there are of each kind.
type Counts struct {
	Executors   int // all of them: the number in daemon.status
	Provisional int
	Attached    int // confirmed and on a connection
	Rotating    int
	Pinned      int
}

// Attached says whether the connection may speak for the executor with that
// generation: the question about a tool result. An executor that is gone answers
// no, like a stale one, so that the answer is stale_connection in both cases.
func (a *Authority) Attached(conn ConnID, id ID, generation int64, now time.Duration) bool {
	return a.Authorize(conn, id, generation, now) == nil
}

// Route returns the connection to which the executor's calls go now, and the
// executor's current generation. It is false while no connection holds it.
func (a *Authority) Route(id ID, now time.Duration) (ConnID, int64, bool) {
	a.advance(now)
	e, known := a.executors[id]
	if !known || !e.confirmed || e.conn == "" {
		return "", 0, false
	}
	return e.conn, e.generation, true
}

// Held returns the executor that takes the connection's one place, provisional
// or attached.
func (a *Authority) Held(conn ConnID, now time.Duration) (Identity, bool) {
	a.advance(now)
	e, holding := a.held[conn]
	if !holding {
		return Identity{}, false
	}
	return e.identity(), true
}

// Lookup returns what may be shown of an executor.
func (a *Authority) Lookup(id ID, now time.Duration) (Status, bool) {
	a.advance(now)
	e, known := a.executors[id]
	if !known {
		return Status{}, false
	}
	s := Status{Identity: e.identity(), State: e.state(), Conn: e.conn, Pins: len(e.pins)}
	if e.deadline != never {
		s.Expires = e.deadline
	}
	if e.rotating {
		s.Rotation = e.rotation
	}
	return s, true
}

// Counts counts the executors.
func (a *Authority) Counts(now time.Duration) Counts {
	a.advance(now)
	c := Counts{Executors: len(a.executors)}
	for _, e := range a.executors {
		switch {
		case !e.confirmed:
			c.Provisional++
		case e.conn != "":
			c.Attached++
		}
		if e.rotating {
			c.Rotating++
		}
		if len(e.pins) > 0 {
			c.Pinned++
		}
	}
	return c
}

func (e *executor) state() State {
	switch {
	case !e.confirmed:
		return Provisional
	case e.rotating:
		return Rotating
	}
	return Confirmed
}
