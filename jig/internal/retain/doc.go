// Package retain decides what of a native conversation is kept, keeps it, and
// gives it back once (seed: Retained native state; finite-acp 6; jig.md 8).
//
// What is kept is one file: the rollout of a Codex 0.154.0 session, with at least
// one completed turn and nothing unfinished. [Check] reads it as a closed profile.
// [Collect] finds it below the descriptor of the client's sessions, which nobody
// else writes any more by then. A [Keeper] belongs to one run and moves rollouts
// in and out of the project's state; [Settle] is what ends a run's claims and its
// run-scoped snapshots, in the transaction that records the run's end.
//
// # What is refused
//
// A rollout of another version, session, folder or sandbox; tool calls, forks,
// compaction, a turn that failed, was interrupted or has no end; anything beside
// the one file; a link of either kind; a known secret, however it is written
// down. None of that is a failure: the answer stands, and the receipt says why
// there is nothing to come back to. What cannot be read is a failure.
//
// # Choices
//
// A record has exactly its four members, an ordinal that equals its line, and no
// carriage return. In a
// turn_context only what finite-acp 6a names is closed, and it names the turn that
// is under way. A task_complete whose error is null has none. An empty folder
// beside the path of the file is refused as an extra entry; with no file at all it
// is nothing. A secret is looked for in the bytes as they are, as JSON writes it,
// and in every text and name as they read once decoded, so an escape hides
// nothing; a bearer's token is looked for without its scheme too. What was claimed
// is checked as strictly as what was collected, but for secrets, which the run
// that wrote it looked for.
//
// A claim is committed before anything is started with it. A content that is
// claimed and found unfit is gone, and refused like one that was never there.
//
// # Limits
//
// [MaxBytes] and [MaxLines] of a rollout, [MaxEntries] below the descriptor, and
// those of package sessionstore.
//
// # Errors
//
// [ErrUnsupported] is a rollout outside of the profile. [Keeper] answers as
// [acp.SessionKeeper] says; what it returns from the state or the store comes back
// wrapped and means that the call has to fail.
//
// # Concurrency
//
// The functions are safe for concurrent use, and so is a [Keeper].
package retain

import "errors"

// The bounds of what is kept.
const (
	MaxBytes   = 8 << 20 // of a rollout
	MaxLines   = 16_384  // of a rollout
	MaxEntries = 16      // below the descriptor, folders too
)

// ErrUnsupported is a history outside of the profile. Its text says where, in
// words of ours.
var ErrUnsupported = errors.New("the history is not one that can be kept")
