// Package run0 is the host's side of Run/0, the protocol between a host and one
// Flow process (run-0 1 to 3, 6). A [Session] sends the one request of its life,
// serves what the component asks for through a [Handler], and classifies how it
// all ended. A [Ledger] makes an operation happen at most once for its caller.
//
// A session owns no process and no clock. Its owner starts the process, hands in
// its pipes, kills it when [Session.Doomed] says so or a grace time is over, and
// tells [Session.End] how it exited.
//
// Nothing that a component does blocks the session's reader: requests that wait
// are answered later, and what is sent waits in a bounded queue.
//
// # Choices
//
// Close and release of a channel are always admitted, however many requests
// wait, so nothing has to be held in reserve for them. A violation that is seen
// after the host has killed the process, such as a frame cut in the middle, is
// no violation. Trailing bytes after the root's answer are PROTOCOL_ERROR. What
// is still pending when a violation ends a session is answered CANCELLED, as after
// a cancel; whether the component reads that does not matter. What fails before
// dispatch is remembered under its operation id like any other end.
//
// A frame that cannot be written ends the run, CHANNEL_LOST (run-0 1.3). Since a
// process that is ending takes its input away as well, a violation, a cause that
// was recorded before and the process's own exit status go above that.
//
// Before flow/run a request with wrong params is -32602 and any other OWNER_CLOSED.
// The path of channel/create is well formed from "./" on, up to 4,096 characters;
// one that is no path of a package is the handler's to refuse, so that it does not
// end the component.
//
// # Limits
//
// See [Limits]. A frame has the limits of JSON/0, and they bind it whole: a run, a
// result or an item that is JSON/0 by itself but not inside its frame is
// RESOURCE_EXHAUSTED. Of a failure, the details and then the message give way where
// there is no room for them in the frame or in what a [Ledger] retains; the code
// never does.
//
// # Errors
//
// Wire failures are [*fault.Error]; PROTOCOL_ERROR and CHANNEL_LOST only ever
// stand in an [Ending].
//
// # Concurrency
//
// A [Session] and a [Ledger] are safe for concurrent use. A Handler's methods
// are called from one goroutine, in the order in which requests arrived.
package run0
