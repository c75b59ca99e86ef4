package executorauth

import "time"

// Confirm makes a provisional executor confirmed and attached
// (executor.confirm). The generation stays 1.
//
// Errors: [ErrRejected] for an unknown ID or a wrong secret; [ErrStale] if the
// executor is already confirmed, or was created on another connection.
func (a *Authority) Confirm(conn ConnID, id ID, secret Secret, now time.Duration) (Identity, error) {
	a.advance(now)
	e, proof := a.prove(id, secret)
	switch {
	case proof == noProof:
		return Identity{}, ErrRejected
	case e.confirmed:
		return Identity{}, errConfirmed
	case conn == "" || e.conn != conn:
		return Identity{}, errElsewhere
	}
	e.confirmed = true
	e.deadline = never
	return e.identity(), nil
}

func (e *executor) identity() Identity { return Identity{e.id, e.generation} }
