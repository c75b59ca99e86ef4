// Package channel is the broker of one root Run: every source, receiver and
// endpoint of it, and nothing of any other (run-0 4).
//
// A channel is one source with one writer at a time, finite, its items numbered
// from 1. Direct delivery has exactly one receiver and holds the writer back;
// broadcast delivery has independent readers and holds nobody back. All items
// pass through the host. An endpoint is a name that is good for one holder; a
// move gives the new holder a new one, and the source stays the same.
//
// The broker has no clock and starts no goroutine. An operation that cannot be
// answered at once is answered later, through its callback, by the call that
// makes it possible. A callback runs after the broker's lock has been released,
// on the goroutine of that call.
//
// # Choices
//
// An item's size is that of its canonical bytes. An operation on an endpoint of
// the wrong direction answers like one on an endpoint of somebody else,
// PERMISSION_DENIED. An unnamed source may feed a named send port, whose schema
// then binds the source. Checks over a map of channels go name by name, in byte
// order, after the names themselves have been checked.
//
// # Limits
//
// See [Limits]. Sources and receivers count over the whole life of the root and
// are never given back. An item is nested at most 125 deep: the frame that hands
// it out has three levels more, and ends at 128. A deeper one is treated like one
// that is too large.
//
// # Errors
//
// Every failure is a [*fault.Error].
//
// # Concurrency
//
// A [Broker] is safe for concurrent use. Operations take effect in the order in
// which the calls are made.
package channel
