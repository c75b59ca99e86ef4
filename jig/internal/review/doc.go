// Package review compares what a project means now with what was admitted,
// shows the difference as one plan, and admits a plan that was approved (jig.md
// 4).
//
// A plan is computed from captured bytes and named by a digest that covers all
// of it: what would run, what of the machine goes into it, and the generation it
// would follow. What was shown is therefore what is admitted; the source is not
// read again.
//
// # Publication
//
// [Plan.Apply] checks the captured packages and the base generation, writes
// jig.lock beside its name, makes it durable, renames it, makes the folder
// durable, and then moves the admission in one transaction. Ended at any step it
// leaves the old generation or the new one; a jig.lock that is ahead is repaired
// by the next review.
//
// # Authority
//
// A new or changed grant is a change of authority: a grant is the same where the
// Binding, the package's path, the slot, the contract and the normal policy are.
// So is a change of how grants reach other machines. Taking a grant away is not.
//
// # Errors
//
// [ErrStale] where something else has been admitted since; otherwise those of
// package state.
//
// # Concurrency
//
// A [Plan] is immutable and safe for concurrent use.
package review
