// Package tree runs one root Run: a Flow process, the child Flows and resources
// its slots lead to, and the channels between them (run-0 3, 6; jig.md 3).
//
// Every invocation has its own process, operation ledger and party in the
// root's channel broker. A call is admitted in a fixed order: ledger, slot,
// input, the callee's channels, a prepared process, the move of the channels,
// and only then a byte of the callee runs. Whatever ends an invocation, its
// children end before it does and their ends are proved first; an unproved end
// keeps its parent from succeeding.
//
// # Choices
//
// A child that is cancelled has less time to end than its parent, so that the
// parent can still answer. A second order to stop kills everything at once,
// children before parents. A process that lingers after its answer is waited
// for until the deadline, and then until its grace is over. What a Flow writes
// to standard error is passed on as it comes; the first part is kept for the
// record.
//
// # Limits
//
// See [Limits].
//
// # Errors
//
// A failure is a [*fault.Error] in the [Result].
//
// # Concurrency
//
// [Run] may be called several times at once; every call is a root of its own.
// The hooks of [Options] are called from several goroutines, one at a time.
package tree
