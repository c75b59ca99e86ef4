// Package state keeps what jig knows about one project below its folder .jig:
// what was reviewed and admitted, the runs, the captured packages, and the jig
// binary that runs them (jig.md 5).
//
//	.jig/              0700
//	  state.db         one bbolt file; no other package opens it
//	  packages/        captured packages by digest, files 0444
//	  compiled/        compiled forms of the packages by digest, files 0444
//	  bin/<sha256>     the jig binary, 0555
//	  runs/<id>/       of a run that is alive: coordinator.lock and scope.lock
//
// A command opens the database for one short transaction at a time and closes
// it again, so several runs and a review may be alive at once. Nothing that can
// take long happens inside a transaction.
//
// A review has the packages compiled that were admitted, so that a run starts
// sooner. A form belongs to one package and to one copy of jig; without one, or
// after an upgrade until the next review, a run compiles what it needs itself.
//
// # Trust
//
// What is read back is what was written, or the state is refused: every value
// carries a digest over its place and its bytes, all values together a seal, and
// both of the file's meta pages have to be whole, because the older one would be
// an earlier state. A .jig with another device or inode than the one it was made
// with is another project: it has no admission, no session and no compiled form,
// until a review takes it over under a new identity and makes its own.
//
// # Runs
//
// Who starts a run holds its coordinator.lock, which no child inherits. Its
// scope.lock is inherited by every bubblewrap of the run, so it is free only when
// jig and all its scopes are gone. A run without a terminal record whose
// coordinator.lock is free is dead; [Dir.Recover] waits for its scopes and
// records what became of it.
//
// # Limits
//
// A transaction waits at most [BusyTimeout] for the database. At most [MaxRuns]
// records of ended runs and [MaxRunBytes] of them are kept; the oldest go first.
// The file is compacted when it is larger than [CompactBytes] and half of it is
// free.
//
// # Errors
//
// [ErrNone], [ErrBusy], [ErrInvalid], [ErrUnsafe], [ErrMoved], [ErrStale],
// [ErrAuthority] and [ErrProgram], each under an error with a sentence for a person.
//
// # Concurrency
//
// A [Dir] and a [Run] are safe for concurrent use. A [Tx] is for the function it
// was given to.
package state

import (
	"errors"
	"fmt"
	"time"
)

// Limits of the state.
const (
	BusyTimeout  = 2 * time.Second // for the database
	ScopeTimeout = 5 * time.Second // for the scopes of a dead run
	CompactBytes = 64 << 20        // of the file; half of it free
	MaxRuns      = 256             // records of ended runs
	MaxRunBytes  = 64 << 20        // of those records
)

// Why the state cannot be used.
var (
	ErrNone      = errors.New("there is no .jig")
	ErrBusy      = errors.New("the state is in use")
	ErrInvalid   = errors.New("the state is not what jig wrote")
	ErrUnsafe    = errors.New("the state cannot be kept here")
	ErrMoved     = errors.New("this .jig belongs to another place")
	ErrStale     = errors.New("something else was admitted meanwhile")
	ErrAuthority = errors.New("the run is not ours any more")
	ErrProgram   = errors.New("jig itself cannot run in a sandbox")
)

// failure is a sentence for a person under one of the errors above.
type failure struct {
	kind   error
	reason string
	fix    string // what to do about it; empty: what the cause suggests
	cause  error
}

func (f *failure) Error() string { return f.reason }

func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

func fail(kind error, format string, args ...any) error {
	return &failure{kind: kind, reason: fmt.Sprintf(format, args...)}
}

func failBecause(kind, cause error, reason string) error {
	return &failure{kind: kind, reason: reason, cause: cause}
}
