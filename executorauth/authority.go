package executorauth

import (
	"fmt"
	"io"
	"math"
	"time"
)

// ID names an executor: a canonical lowercase UUID, version 4. A received string
// of any form may be used where an ID is wanted; it is then simply unknown.
type ID string

// ConnID names a connection. The host never uses one twice. "" is no connection:
// no method that acts for a connection does anything for it.
type ConnID string

// Identity is an executor at one generation.
type Identity struct {
	ID         ID
	Generation int64
}

// Authority keeps the executors of one daemon.
//
// An Authority is not safe for concurrent use.
type Authority struct {
	limits    Limits
	random    io.Reader
	now       time.Duration
	next      time.Duration // no deadline lies before it
	serial    uint64        // of the last pin
	executors map[ID]*executor
	held      map[ConnID]*executor
	nobody    executor // stands in for every unknown one; never changed

	// Replaced by tests that count the work done.
	sum   func(Secret) verifier
	equal func(x, y verifier) bool
}

type executor struct {
	id         ID
	generation int64
	confirmed  bool
	conn       ConnID // "" while detached
	proof      verifier
	deadline   time.Duration // to be confirmed, or to be attached again
	rotating   bool
	candidate  verifier
	rotation   time.Duration // deadline of the candidate
	pins       map[uint64]struct{}
}

const (
	never         = time.Duration(math.MaxInt64)
	maxGeneration = 1<<53 - 1
)

// New makes an authority without executors. Secrets and IDs come from random; a
// host gives crypto/rand.Reader.
func New(random io.Reader, limits Limits) (*Authority, error) {
	limits, err := limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if random == nil {
		return nil, fmt.Errorf("%w: no source of randomness", ErrConfig)
	}
	return &Authority{
		limits:    limits,
		random:    random,
		next:      never,
		executors: make(map[ID]*executor),
		held:      make(map[ConnID]*executor),
		sum:       newVerifier,
		equal:     verifier.equal,
	}, nil
}

// evidence is what a presented secret turned out to be.
type evidence int

const (
	noProof evidence = iota
	currentProof
	candidateProof
)

// prove compares a secret with the executor's own. It does the same work whether
// or not there is such an executor, and whether or not it has a candidate.
func (a *Authority) prove(id ID, s Secret) (*executor, evidence) {
	e, known := a.executors[id]
	if !known {
		e = &a.nobody
	}
	sum := a.sum(s)
	current := a.equal(e.proof, sum)
	candidate := a.equal(e.candidate, sum)
	switch {
	case !known:
		return nil, noProof
	case current:
		return e, currentProof
	case candidate && e.rotating:
		return e, candidateProof
	}
	return e, noProof
}

// authorized returns the executor if the connection holds it with that generation.
func (a *Authority) authorized(conn ConnID, id ID, generation int64) (*executor, error) {
	e, known := a.executors[id]
	switch {
	case !known:
		return nil, ErrRejected
	case conn == "" || e.conn != conn:
		return nil, errDetached
	case e.generation != generation:
		return nil, errGeneration
	}
	return e, nil
}

// attach gives the executor to the connection.
func (a *Authority) attach(e *executor, conn ConnID) {
	a.detach(e)
	e.conn = conn
	e.deadline = never
	a.held[conn] = e
}

// detach takes the executor from its connection, if it has one.
func (a *Authority) detach(e *executor) {
	if e.conn != "" {
		delete(a.held, e.conn)
		e.conn = ""
	}
}

// remove ends the executor, proofs and pins included.
func (a *Authority) remove(e *executor) {
	a.detach(e)
	delete(a.executors, e.id)
}

// discard drops the candidate.
func (e *executor) discard() {
	e.rotating = false
	e.candidate = verifier{}
	e.rotation = never
}

// promote makes the candidate the proof.
func (e *executor) promote() {
	e.proof = e.candidate
	e.discard()
}
