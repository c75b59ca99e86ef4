package executorauth

import "time"

// Resumed is an executor that came to a connection.
type Resumed struct {
	Identity // with the new generation
	// Fenced is the connection that held the executor until now, if it was
	// another one. It stays open and has no authority any more.
	Fenced ConnID
	// Confirmed: the executor was provisional.
	Confirmed bool
	// Promoted: the secret was the candidate; it is now the only proof.
	Promoted bool
	// Cancelled: a candidate was waiting and is discarded.
	Cancelled bool
}

// Resume attaches the executor to the connection, with its proof or with its
// candidate, and raises the generation by one (executor.resume). It confirms a
// provisional executor, promotes a candidate that was presented and cancels one
// that was not. The connection may be the one that already holds it.
//
// Errors: [ErrRejected] for an unknown ID or a wrong secret; [ErrConflict] if
// the connection has another executor; [ErrLimit] after 2^53-1 generations.
func (a *Authority) Resume(conn ConnID, id ID, secret Secret, now time.Duration) (Resumed, error) {
	a.advance(now)
	e, proof := a.prove(id, secret)
	if proof == noProof {
		return Resumed{}, ErrRejected
	}
	if conn == "" {
		return Resumed{}, errDetached
	}
	if other, taken := a.held[conn]; taken && other != e {
		return Resumed{}, ErrConflict
	}
	if e.generation >= maxGeneration {
		return Resumed{}, errGenerations
	}
	r := Resumed{
		Confirmed: !e.confirmed,
		Promoted:  proof == candidateProof,
		Cancelled: proof == currentProof && e.rotating,
	}
	if e.conn != conn {
		r.Fenced = e.conn
	}
	if r.Promoted {
		e.promote()
	} else {
		e.discard()
	}
	e.confirmed = true
	a.attach(e, conn)
	e.generation++
	r.Identity = e.identity()
	return r, nil
}
