// Package claude speaks the protocol of `claude -p` with streams of JSON lines, as a
// [adapter.Client] (jig.md 7; native-clients 4).
//
// The model is chosen by an argument alone: the protocol's own way to set it makes a
// request of its own. The answer is what the model streams, and nothing else; the
// messages that Claude Code repeats, or writes itself where a request failed, are no
// answer. Whether a turn failed is said by is_error, never by the subtype.
//
// # What it refuses
//
// Every permission Claude Code asks for is denied, without an interrupt; every other
// question is answered with an error. Where a full model name was reviewed, the
// program has to name the same before each turn: otherwise the conversation is broken
// and the turn is interrupted at once. (Left to itself, Claude Code runs another model
// where it holds the named one for out of date; [Env] switches that off too.)
//
// # Model requests
//
// A turn is one request. Retries, the fallback to another way of asking or another
// model, and compaction are off (see [Env]). Claude Code goes on by itself, within
// the turn, in three cases that nothing switches off: it asks up to three more times
// when the answer hit the model's output limit, once more when the answer was empty,
// and once more after 404. Five in one turn is the most that was seen, with version
// 2.1.332.
//
// # Choices
//
// A model name of letters alone is one of Claude Code's own words, such as default or
// sonnet: the program names the model it stands for, so that there is nothing to
// compare. Every other name is a full one. A turn that ended at the model's output
// limit or context ends as max_tokens, also where Claude Code calls that an error;
// one that ended because the model wanted a tool ends as max_turn_requests. A reason
// that is not known fails the turn.
//
// The session has an id of the adapter's own: Claude Code names its own only with the
// first turn, and nothing is restored by it.
//
// # Limits
//
// Those of package adapter. An answer's text is forwarded as it comes and not kept.
//
// # Errors
//
// An error of [Client.Line] is a breach of the protocol. No text of the program is in
// any error.
//
// # Concurrency
//
// A [Client] is for one goroutine.
package claude
