// Package sessionstore keeps a few snapshots of native sessions, each to be
// taken back at most once. It works inside bbolt transactions that its caller
// owns and opens no file, starts no goroutine that outlives a call, and reads no
// clock: now is an argument.
//
// A snapshot is saved under a reference that nobody can guess and bound to a
// scope, the digest of who may have it back. A claim hands it out and takes it
// away in one transaction: two claims have one winner, and a claim is final
// whatever happens afterwards. A reference that is unknown, foreign, expired or
// used is refused in one and the same way, and a foreign one is left as it was.
// (seed: Retained native state)
//
// A snapshot may be tied to one root run. It is then handed out to that root
// only, and [Store.Settle] deletes it in the transaction that publishes the
// root's end.
//
// # Choices
//
// Content is compressed by [Store.Prepare] before any transaction begins, in zstd
// frames of at most 3 MiB that two workers take in turn; between frames they hash
// the content, as it was before, with SHA-256. A frame has no checksum of its own.
// What is packed lies in chunks of at most 64 KiB, so that neither a save nor a
// claim writes another snapshot anew. A claim puts the chunks together, of which
// there may be no more than the content can need, unpacks them and checks size,
// hash and UTF-8. Content in one piece, as it was written before there were
// chunks, is read as well.
//
// A claim leaves a small row behind until its root settles, so that it stays
// accountable after the snapshot would have expired; such rows do not count among
// the snapshots. A run-tied snapshot and a claim are settled by the same call.
//
// What has expired goes with the next call that changes something, whoever's it
// is: a save, a claim, a deletion, or the end of a root. A refusal is such a call
// as well, so a caller commits [ErrCapacity] and [ErrUnavailable] and reports them
// afterwards. [Store.List] changes nothing, so that it can be asked without
// waiting for anybody, and leaves out what has expired.
//
// # Limits
//
// See [Limits]. A store that has prepared content keeps two encoders for the next,
// of some 6 MiB each.
//
// # Errors
//
// [ErrCapacity] is the one refusal to save that is no fault. [ErrUnavailable] is
// the one refusal to hand out. Both leave a transaction that can be committed.
// [ErrCorrupt] and [ErrAuthority] mean that the caller has to abandon the
// transaction and fail. Whatever bbolt returns comes back wrapped.
//
// # Concurrency
//
// A [Store] is immutable and safe for concurrent use; a transaction is for one
// goroutine, as bbolt says. Nothing is written before the caller commits.
package sessionstore
