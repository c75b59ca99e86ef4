package executorauth

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Created is a new, provisional executor.
type Created struct {
	Identity        // of generation 1
	Secret   Secret // disclosed here and never again
}

// Create makes a provisional executor for the connection (executor.create).
//
// Errors: [ErrConflict] if the connection has an executor, provisional or
// attached; [ErrLimit] if there are [Limits].MaxExecutors; [ErrRandom].
func (a *Authority) Create(conn ConnID, now time.Duration) (Created, error) {
	now = a.advance(now)
	if conn == "" {
		return Created{}, errDetached
	}
	if _, taken := a.held[conn]; taken {
		return Created{}, ErrConflict
	}
	if len(a.executors) >= a.limits.MaxExecutors {
		return Created{}, ErrLimit
	}
	u, err := uuid.NewRandomFromReader(a.random)
	if err != nil {
		return Created{}, randomError{err}
	}
	id := ID(u.String())
	if _, taken := a.executors[id]; taken {
		return Created{}, fmt.Errorf("%w: an executor ID came twice", ErrRandom)
	}
	secret, err := newSecret(a.random)
	if err != nil {
		return Created{}, err
	}
	e := &executor{id: id, generation: 1, proof: newVerifier(secret), rotation: never}
	a.executors[id] = e
	a.attach(e, conn)
	a.arm(&e.deadline, now, a.limits.ConfirmTimeout)
	return Created{Identity{id, 1}, secret}, nil
}
