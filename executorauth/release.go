package executorauth

import "time"

// Released is an executor that is gone.
type Released struct {
	ID ID
	// Pins is how many active turns still counted on it. Nobody can answer their
	// calls any more; the calls' own deadlines end them.
	Pins int
}

// Release ends the executor with its proofs, candidate included
// (executor.release). A pinned or provisional executor may be released too.
//
// Errors: [ErrRejected] for an unknown ID; [ErrStale] if the connection does not
// hold the executor with that generation.
func (a *Authority) Release(conn ConnID, id ID, generation int64, now time.Duration) (Released, error) {
	a.advance(now)
	e, err := a.authorized(conn, id, generation)
	if err != nil {
		return Released{}, err
	}
	a.remove(e)
	return Released{id, len(e.pins)}, nil
}

// Disconnect detaches whatever executor the connection held, and says which.
// A candidate keeps its deadline, and so does a provisional executor.
func (a *Authority) Disconnect(conn ConnID, now time.Duration) (Identity, bool) {
	now = a.advance(now)
	e, holding := a.held[conn]
	if !holding {
		return Identity{}, false
	}
	a.detach(e)
	a.idle(e, now)
	return e.identity(), true
}
