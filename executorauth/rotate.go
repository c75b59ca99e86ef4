package executorauth

import (
	"fmt"
	"time"
)

// Rotated is an executor with a candidate secret. The secret it had before still
// proves.
type Rotated struct {
	Identity
	Secret  Secret        // the candidate, disclosed here and never again
	Timeout time.Duration // how long the candidate may wait
}

// Rotate gives the executor a candidate secret (executor.rotate). A candidate
// that was already waiting is replaced, and the time begins anew.
//
// Errors: [ErrRejected] for an unknown ID; [ErrStale] if the connection does not
// hold the executor with that generation, or it is still provisional;
// [ErrRandom].
func (a *Authority) Rotate(conn ConnID, id ID, generation int64, now time.Duration) (Rotated, error) {
	now = a.advance(now)
	e, err := a.authorized(conn, id, generation)
	if err != nil {
		return Rotated{}, err
	}
	if !e.confirmed {
		return Rotated{}, errUnready
	}
	secret, err := newSecret(a.random)
	if err != nil {
		return Rotated{}, err
	}
	candidate := newVerifier(secret)
	if candidate == e.proof || e.rotating && candidate == e.candidate {
		return Rotated{}, fmt.Errorf("%w: a secret came twice", ErrRandom)
	}
	e.rotating = true
	e.candidate = candidate
	a.arm(&e.rotation, now, a.limits.RotationTimeout)
	return Rotated{e.identity(), secret, a.limits.RotationTimeout}, nil
}

// RotateConfirm makes the candidate the executor's only proof
// (executor.rotate_confirm). The generation stays as it is.
//
// Errors: [ErrRejected] for an unknown ID or a secret that is not the candidate;
// [ErrStale] if the connection does not hold the executor with that generation,
// or no candidate waits: it expired, was cancelled, or is confirmed already.
func (a *Authority) RotateConfirm(conn ConnID, id ID, generation int64, candidate Secret, now time.Duration) (Identity, error) {
	a.advance(now)
	e, proof := a.prove(id, candidate)
	if e == nil {
		return Identity{}, ErrRejected
	}
	if conn == "" || e.conn != conn {
		// Only somebody who proves the executor may learn that it exists.
		if proof == noProof {
			return Identity{}, ErrRejected
		}
		return Identity{}, errDetached
	}
	switch {
	case e.generation != generation:
		return Identity{}, errGeneration
	case !e.rotating:
		return Identity{}, errNothing
	case proof != candidateProof:
		return Identity{}, ErrRejected
	}
	e.promote()
	return e.identity(), nil
}
