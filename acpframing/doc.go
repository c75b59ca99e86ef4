// Package acpframing carries ACP frames over channels that take small JSON items.
//
// A frame is one JSON/0 document of up to 16 MiB. A channel item is one fragment
// of a frame: {"kind":"data","text":T,"end":B}, where T is a piece of the frame's
// text, cut between Unicode scalars. The texts up to and with "end":true are the
// frame (seed: Bounded text framing; finite-acp 1a). A [Joiner] makes frames of
// fragments, a [Splitter] fragments of frames; each does one direction of one
// stream. [Ready] is the record that precedes the fragments of a host.
//
// A fragment is counted before anything of it is kept. Nothing here decodes a
// frame: json0.Check(frame.Bytes()) is the caller's next step.
//
// # What is refused
//
// An item that is not exactly such an object, in any member order; an empty text,
// with "end":true as well; half a surrogate pair or invalid UTF-8; every excess of
// a bound; the end of the stream inside a frame; anything after the end. The first
// violation poisons the stream: what was kept is dropped, and every later call
// returns the same violation. There is no replay and no resynchronisation.
//
// The order is: the item's shape, its length with an early stop, the counters of
// fragments, frame and total, the bounds in that order, and only then the text is
// kept. The counter of frames rises when a frame ends (finite-acp 1a).
//
// # Limits
//
// See [Limits] and [Direction.Limits]. An item has at most 65,536 bytes; a
// fragment that a Splitter makes never has more than 49,196.
//
// A Joiner holds the bytes of its partial frame and at most 64 KiB besides. It
// allocates when storage grows, once for each 32 KiB, and not for each fragment.
// A Splitter holds nothing but the caller's frame.
//
// # Errors
//
// [ErrViolation] is every failure of a stream, and a [*Violation] says which rule
// was broken. [ErrReady] is a ready record that is not one. [ErrConfig] is a
// mistake in the arguments of a constructor. The texts are one line and carry
// nothing of a frame.
//
// # Concurrency
//
// A Joiner or Splitter is not safe for concurrent use. A [Frame] is its
// receiver's own. Limits, Ready and Violation are values.
package acpframing
