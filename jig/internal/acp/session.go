package acp

import (
	"context"
	"os"
)

// SessionKeeper keeps what a native client remembers of a conversation, between
// one call and a later one. It is asked in the order Claim, Collect, Save, and
// not at all where a call asked for no session.
type SessionKeeper interface {
	// Claim hands out what was kept under reference, to this scope and for this
	// once. It is final when it returns: nothing that happens afterwards gives the
	// reference back. [ErrNoSession] is every reference that cannot be had, without
	// a reason; another error means that the store cannot be trusted.
	Claim(ctx context.Context, scope, reference string) (*Snapshot, error)
	// Collect reads what the client left in sessions, the descriptor of its
	// memory file system, after nothing of the scope is alive any more. reason is
	// why there is nothing to keep, [ReasonMissing] or [ReasonUnsupported]; an
	// error means that it could not be read.
	Collect(ctx context.Context, sessions *os.File, nativeID string, secrets []string) (c *Collected, reason string, err error)
	// Save keeps c for scope and returns its reference once that is committed.
	// tied is true where it must not outlive the root. reason is [ReasonCapacity]
	// where there is no room.
	Save(ctx context.Context, scope string, c *Collected, tied bool) (reference, reason string, err error)
}

// Snapshot is what a claim hands out.
type Snapshot struct {
	NativeID string // the client's own name of the session
	Path     string // of its history, below the client's folder
	Content  []byte
	Tied     bool // it must not outlive its root, and neither may what follows it
}

// Collected is what a client left, checked.
type Collected struct {
	NativeID string
	Path     string
	Content  []byte
}

// Why a session was not retained. There are no other reasons (finite-acp 1b).
const (
	ReasonNotClean    = "not-cleanly-closed"
	ReasonMissing     = "missing-history"
	ReasonUnsupported = "unsupported-history"
	ReasonCapacity    = "capacity"
)
