// Package client speaks wire v2 to a magid daemon: it dials, initializes, calls methods, hands out events and says
// exactly what is known when the connection ends.
//
// One Client is one connection. Calls run side by side; each carries its own context. Events go to subscriptions, which
// are bounded. The profile application_resources_v1 is spoken with the same means: executor events arrive through a
// subscription, results go out through SubmitResult.
//
// What it refuses: it never reconnects, never sends a request twice and never runs a tool. A call that was not answered
// says so with *UnansweredError, which tells whether the request may have left and under which operation ID to ask for
// its fate: dial again, claim the session, look the operation up. A Client believes no daemon that breaks the protocol:
// a record that is not strict, an answer to no request, an answer that does not echo its request, a gap in a grant's
// live sequence or another instance's ID disconnects, and Err says which.
//
// # Reconnecting
//
// Keep, outside the Client: the session's ID, the operation ID of what was last asked (choose it before the call), the
// turn's ID, and for an executor its ID, its newest secret and, while a rotation is pending, the one before. After
// *DisconnectError dial again and compare InstanceID: if it changed, tokens, operations, registries and executors are
// gone and the history shows what is durable; if not, claim the session (with takeover where the old connection may still
// be there), read the snapshot in the reply, look the operation up, and resume the executor.
//
// # Events
//
// A subscription takes what its filter matches, in order, from the moment Subscribe returns; events that no subscription
// takes are counted and dropped, so subscribe before claiming, or use Claim, which does. A subscription whose reader
// falls behind by more than MaxQueueRecords events or MaxQueueBytes of payload is ended: what it holds can still be
// read, then Next returns ErrSlow, and the end of a turn is found in the session's snapshot. It is never ended silently,
// and it never slows calls or other subscriptions. After a disconnect what was received can still be read, too.
//
// # Limits
//
// Options has them: requests in flight (64), events and bytes of a subscription (1,024 and 4 MiB), the time one write may
// take (10 s). Records are bounded by the Limits of wirev2.
//
// # Errors
//
// The daemon's answer is a *wirev2.Error. A call that got none is an *UnansweredError, whose cause is the context's error,
// ErrClosed or a *DisconnectError. Requests that cannot be encoded and replies that do not fit the type asked for are
// plain errors.
//
// # Concurrency
//
// A Client and a Session are safe for concurrent use. A Subscription may be closed by any goroutine and is read by one.
// Close ends every goroutine of a Client before it returns.
//
// The connection is read by who waits for something, an answer or an event, and aside while nobody does. A context's end
// interrupts a read; it ends no connection. A call whose record the kernel takes at once, which is most, costs one write
// and no timer.
package client
