// Package adapter is `jig __adapter`: the jig binary inside a native scope, between
// the host's finite ACP conversation on its standard input and output and a native
// client that speaks a protocol of its own (jig.md 7).
//
// It makes itself undumpable, closes the kernel's keyrings, reads one launch frame,
// starts the native program with exactly the frame's arguments and environment,
// reports start and end on descriptor 3, and then carries the conversation. A [Client]
// knows one native protocol; the package knows ACP, processes and bounds.
//
// # What it refuses
//
// A bad launch frame ends it with exit code 70 before anything is started. The native
// client gets no terminal, no file system and no tool of the host. Every question of
// it is answered with a refusal. What it says of itself (errors, notices, plans of
// its own, tool calls, usage) never leaves the adapter: a failure is a number, a
// warning is a fact.
//
// # Failures
//
// A turn that failed at the provider is that request's JSON-RPC error: -32603,
// `Internal error`, no data. A failure outside a request, a breach of a bound, a line
// that cannot be read, and an end before the conversation has settled are
// `_meta.jetbrains.air.sessionFailure` errors on an update: the host fails the
// resource. Notices of the client are sessionFailure warnings, without their text.
//
// # Coalescing
//
// Text is held until there are 4 KiB of it, until 50 ms have passed since its first
// byte, or until another message has to go out. After 2,048 updates it is held 500 ms,
// after 3,072 without a time and in pieces of 8 KiB: the 8 MiB a conversation may have
// fit the 4,096 updates it may have.
//
// # Choices
//
// An approval that the client asks for becomes session/request_permission, so that the
// host counts it; whatever the host answers, the client hears no. Other questions of
// the client are refused at once. A client's notices are passed on 256 times and
// counted after that. A program that is gone before the host has said a word is
// reported when it has.
//
// # Limits
//
// Standard output of the client: 32 MiB in all and 16 MiB a line; its standard error:
// 65,536 bytes, thrown away; 1,024 lines wait for a client that does not read.
//
// # Errors
//
// The exit code of [Main] is 0 when the conversation and the client have ended, 1 when
// the host's side failed, 70 when the launch frame was refused, and 71 when the client
// could not be prepared or started. What it writes to standard error is fixed. The
// client's own end is an event on descriptor 3, and no exit code. An error of [Serve]
// is one of the host's side.
//
// # Concurrency
//
// All methods of a [Client] and of a [Host] are called from one goroutine.
package adapter
