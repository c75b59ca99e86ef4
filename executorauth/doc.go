// Package executorauth decides who may answer an application's tool calls.
//
// An executor is an identity that an application asks its daemon for. Whoever
// holds the executor's secret may attach the executor to a connection, and only
// the attached connection, naming the current generation, may speak for it. The
// package keeps these identities and answers the six executor methods of wire
// v2: create, confirm, resume, rotate, rotate_confirm and release
// (seed: Executor authority and execution; wire-v2 4: Executors).
//
// It is a state machine and nothing more. There is no clock, goroutine, lock,
// I/O or log in it: the time is an argument of every method, randomness comes
// from the reader given to [New], and a timer belongs to the host, which arms it
// with [Authority.NextDeadline].
//
// # States
//
// An executor is provisional from its creation until it is confirmed, by the
// connection that created it or by a resume from any connection. It is rotating
// while a candidate secret waits for its confirmation, and confirmed otherwise.
// A released or expired executor is gone: its ID is as unknown as one that never
// existed. A provisional executor belongs to the connection that created it and
// takes that connection's one place, but it has no authority yet.
//
// A disconnect detaches an executor and changes nothing else. A resume attaches
// it, raises its generation by one and so fences the connection that held it
// before: that connection stays open, and whatever it says with the old
// generation is stale. Rotation and its confirmation leave the generation alone.
//
// An executor is pinned by each turn that was accepted with it and is still
// active. A pinned executor does not expire; releasing one is allowed, and then
// nobody can answer its calls any more (wire-v2 4: Executors).
//
// testdata/transitions.txt shows every state, every event and what comes of it.
// RECOVERY.md shows the way back from every lost request and every lost reply.
// Tests print both.
//
// # Secrets
//
// A secret is 32 random bytes, written as 43 characters of unpadded base64url.
// It leaves the package once, in the result of [Authority.Create] or
// [Authority.Rotate]. The package keeps the SHA-256 of those characters and
// compares in constant time. [Secret] prints as "[redacted]" however it is
// printed; [Secret.Reveal] is the only way to its text.
//
// An unknown ID and a wrong secret give the same error after the same work: one
// hash and two comparisons. A connection that does not hold the executor and
// proves nothing cannot learn from confirm, resume or rotate_confirm whether an
// ID exists. Rotate and release carry no secret; they answer an unknown ID with
// [ErrRejected] and a foreign one with [ErrStale], as wire v2 asks.
//
// # Time
//
// The time is a time.Duration since a start that the host chooses once, read
// from a monotonic clock. It never goes back here: an argument smaller than the
// largest seen so far, or negative, counts as that largest one. Whatever
// expires at an instant has expired before anything else of that instant is
// looked at (magid: Ties). Every method that takes the time first lets go of
// what has expired, so a late timer changes no answer.
//
// # Limits
//
// See [Limits]. 256 executors, provisional ones counted; 60 s to confirm a new
// executor; 60 s to confirm a candidate; 15 minutes for an unpinned executor
// without a connection; one executor a connection. A received secret has 1 to
// 128 bytes.
//
// # Errors
//
// Four sentinels stand for the four answers of the wire, so that a daemon maps
// them with errors.Is and needs no other rule:
//
//	ErrRejected  executor_rejected
//	ErrStale     stale_connection
//	ErrConflict  conflict
//	ErrLimit     limit_exceeded
//
// [ErrSecret] (a received secret of 0 or more than 128 bytes) is
// invalid_payload, [ErrRandom] (the source of randomness failed) is internal,
// and [ErrConfig] is a mistake in the arguments of [New]. Their texts are one
// line for a person and carry no ID and no secret. A method that returns an
// error has changed nothing, except that time may have gone on.
//
// # Concurrency
//
// An [Authority] is not safe for concurrent use: its owner calls it under one
// lock. The other types are values; a [Secret] may be shared.
//
// # Choices
//
// Where the specifications are silent:
//
//   - A provisional executor whose connection is lost stays resumable until its
//     60 seconds end.
//   - A provisional executor can be released by its connection, and cannot be
//     rotated (ErrStale): with the ID and generation from an operation lookup a
//     client frees the place that a lost create reply took.
//   - The 15 minutes begin when the executor is both without a connection and
//     without a pin, whichever came last.
//   - rotate_confirm on the attached connection looks for the generation first,
//     then for a candidate (ErrStale both), then at the secret (ErrRejected).
//     Elsewhere it tells ErrStale only to a holder of a live secret.
//   - confirm takes a live candidate as proof of the ID, and so answers ErrStale.
//   - create looks at the connection's place before it looks at the number of
//     executors.
package executorauth
