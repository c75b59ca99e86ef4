// Package acpprofile decides what may pass between the two sides of one finite
// ACP conversation: an adapter that nobody trusts, and a native client that is
// trusted with its own credential and with nothing else. Bytes go in, decisions
// come out; the package does no I/O, reads no clock and starts no goroutine.
// (seed: Finite ACP authority profile)
//
// The adapter may speak one fixed sequence: initialize, one session, the reviewed
// configuration entry by entry, the reviewed mode, a few prompts one after the
// other, at most one cancel a prompt, close. What the native client says reaches
// the adapter only in a closed projection. Permission requests are answered by
// the host, always in the same way. Everything else ends the conversation.
//
// The first violation, from either side, is final: [Machine] answers everything
// after it with [ErrClosed], the question whether the conversation has settled
// included. An allowance is used up when a frame is accepted, whether or not the
// write succeeds that it asks for.
//
// # Choices
//
// A cancel is allowed once a prompt, from its dispatch until close. Where the
// prompt has settled by then, by a result or by an error, the cancel is consumed
// and nothing is written; a second one for the same prompt is a violation. What
// the adapter sends is written anew in canonical form, on one line. What the client
// says goes on in the closed form, its text with the escapes that it came with, and
// a text update that has nothing else goes on as it is, its members in any order.
// White space before a slash is what Unicode calls white space, with U+FEFF and
// without U+0085. A native id or reply is compared as written: 3.0 does not answer 3.
//
// # Limits
//
// See [Limits]. Nothing is ever given back, not between prompts either.
//
// A frame is checked once, whole, as JSON/0 (run-0 2), and read after that without
// a second check. It is neither changed nor kept; see [Decision] for the one line
// that is handed on as it is.
//
// # Errors
//
// A violation is a [*Failure] with one of two closed reasons; its text never
// holds a byte of either side. ErrClosed is everything after it.
//
// # Concurrency
//
// A [Machine] is for one goroutine.
package acpprofile
