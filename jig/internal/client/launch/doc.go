// Package launch is what passes between jig on the host and the jig that runs
// inside a native scope, apart from the conversation itself: one [Frame] that
// says what to start, and a socket of events that says what became of it
// (jig.md 7).
//
// The frame is the first thing on the adapter's standard input: four bytes of
// big-endian length and closed JSON. What was reviewed (argv, environment) and
// what must never be seen (the credential, a restored session) travel in it
// together, because nothing else of a scope is private: its command line and its
// environment can be read by whatever runs in it.
//
// The socket is descriptor 3, of the kind that keeps messages apart. The adapter
// reports on it that the native client was started and how it ended, as its
// parent saw it, and hands over the folder in which the client keeps its session.
// The host asks for the client's end. That status is the evidence of a native
// process (seed: Settlement and failure); bubblewrap's exit code is not, because it
// hides a signal behind 128+n.
//
// # Choices
//
// A failure's closed category (jig.md 7: auth, rate, network, model, service,
// expired) reaches the host as an event of its own: the conversation has no
// member for it. Unknown events, second ones, and descriptors that nobody
// announced end the evidence: what came before stays.
//
// # Limits
//
// A frame has at most [MaxFrameBytes], an event [MaxEventBytes], a conversation
// [MaxCategories] categories.
//
// # Errors
//
// [ErrFrame] is under every refusal of a frame; no text holds a byte of it. A
// Frame prints as "[redacted]" whatever the verb.
//
// # Concurrency
//
// A Frame is for one goroutine. [Evidence] and [Reporter] are safe for concurrent
// use.
package launch
