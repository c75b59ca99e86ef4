// Package provider says what a model provider is to the daemon: one request in,
// one streamed reply out. The formats live below it ([chat] today); what they
// share lives in [attempt] (one POST with its timeouts, retries and refusals)
// and [sse] (the one reader of event streams).
//
// A reply counts only if its stream reached the terminal state of its format.
// An end of input alone is never success, and a reply that did not end well
// hands back no call, so nothing of a cut stream can be executed (magid:
// Provider rules).
//
// What it refuses: redirects, plain http to anything but loopback unless that is
// allowed, a base URL with credentials, query or fragment, and repeating a
// request once a byte of its reply's body has come.
//
// What it leaves to the worker, because it concerns a whole turn: minting missing
// call ids, duplicate ids across replies, checking arguments against a schema,
// the number of replies, the size of a turn's text.
//
// # Limits
//
// [Limits] bounds what one reply may hold; the zero value is the documented
// default and a negative value is an error. Time is bounded by [Timeouts], per
// attempt.
//
// # Errors
//
// A provider that failed is an [*Error]; its Code is one of the three that a
// provider can give a turn's terminal (wire-v2 4: Turns). Its text is one line
// for a person, at most [MaxMessageBytes] long, with keys replaced. Two failures
// are not the provider's and are not an [*Error]: a cancelled context comes back
// wrapped around its cause, and so does an error of the text callback.
//
// # Concurrency
//
// A [Provider] is safe for concurrent use. The text callback of one Stream is
// called from one goroutine at a time and never after Stream has returned.
//
// [chat]: github.com/magi-jig/magi-jig/magid/internal/provider/chat
// [attempt]: github.com/magi-jig/magi-jig/magid/internal/provider/attempt
// [sse]: github.com/magi-jig/magi-jig/magid/internal/provider/sse
package provider
