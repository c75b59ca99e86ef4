// Package component is a Flow's side of Run/0: the state behind `@jigging/flow`
// (flow-author-api 1, run-0 1 to 4). It is pure. Frames of the host and calls of
// the author go in; frames for the host and events for the author come out. It
// has no goroutine, no clock and no I/O, and it knows nothing of JavaScript.
//
// # Author's side
//
// Every operation returns the number of a waiter at once. What became of it
// comes later as a [Settled] event, also where it is known already. An operation
// that the author gives up through a signal is settled at once and stays behind
// as a tombstone until the host has answered it.
//
// The number of an endpoint is the author's only name for it. The host's names
// stay here.
//
// # Choices
//
// The specification leaves these open. A read that the author's own close of
// the receiver ends is the end of the stream. A clean close after a LAGGED one
// fails with LAGGED, the other way round with INVALID_INPUT. Sends and reads are
// admitted like calls: OWNER_CLOSED, then CANCELLED, then RESOURCE_EXHAUSTED. A
// release that fails makes the Run UNCERTAIN where nobody waits for it, since
// then its effect is unknown; a failed release of an untouched receiver is
// EXECUTION_FAILED. UNCERTAIN wins over every other failure but CANCELLED.
//
// # Limits
//
// See [Limits].
//
// # Errors
//
// [*TypeError] is a mistake of the author's that the host never hears of. Every
// other failure is a [*fault.Error]; PROTOCOL_ERROR and CHANNEL_LOST end the
// component.
//
// # Concurrency
//
// A [Component] is for one goroutine.
package component
