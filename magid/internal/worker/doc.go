// Package worker runs one turn: it sends the history and the prompt to the
// model's provider, takes in the streamed text, runs the tools that the model
// calls, and goes on until the model has nothing more to call.
//
// A worker decides nothing about sessions, connections or how a turn's end is
// told; the coordinator does. It gets what it needs through [Job] and reports
// each accepted piece of text and each step of a tool call to its [Listener],
// in order.
//
// # What it promises
//
//   - Text is accepted whole or not at all, piece by piece, within the turn's
//     budget of encoded bytes; what was accepted stays (wire-v2 4: Terminal errors).
//   - All calls of one reply are durable before one of them runs, every call that
//     is durable gets a durable result, and a result is durable before it is sent
//     to the provider or reported (wire-v2 4: Tool calls). So the journal never
//     holds a call without its result, whatever cuts a turn short.
//   - Arguments that are not one strict JSON object, or do not fit the tool's
//     schema, are never executed. The model is told and may try again, eight times
//     a turn. It sees its own invalid arguments as {} and, quoted, at most 1 KiB of
//     them (magid: Provider rules).
//   - Nothing is executed from a reply that did not end well.
//   - An application's tool is executed by its [Host] alone; its contract is durable
//     before the first call that needs it. A result that says that the executor was
//     not there or did not answer fails the turn, and what else is open is cut short.
//
// # What it refuses
//
// A reply with more than [MaxCalls] calls, with a call id that the turn has seen
// before or that is longer than [MaxCallIDBytes], or with a tool name longer than
// [MaxToolNameBytes] fails the turn as provider_error.
//
// # Limits
//
// [Limits] holds what is configured. Fixed are: eight invalid calls a turn, four
// built-in tools running at once, 16,384 encoded bytes of arguments and as many of
// a result, one minute for a built-in tool, 8 MiB of messages that a turn itself
// adds to its request.
//
// # Errors
//
// [Run] returns an [Outcome] and never an error: a failure is a terminal's code
// and one line for a person. A panic, here or in a tool, is the failure internal.
//
// # Concurrency
//
// One goroutine runs a [Job]; it starts its own for built-in tools. The Listener
// is called by one goroutine at a time.
//
// # Choices
//
// Where the specifications are silent:
//
//   - A call of a tool that does not exist counts as invalid_arguments, so that a
//     model that keeps inventing tools comes to an end.
//   - The size of the history is the sum of the bytes of its prompts, texts, tool
//     names, arguments and results; the new prompt does not count.
//   - A reply that failed after some of its text was accepted leaves an assistant
//     record with that text and no calls, so that the next turn's history shows
//     what the person saw.
//   - A built-in tool's result has effects reported, or not_dispatched where the
//     tool was cut short: built-in tools change nothing outside the daemon.
//   - A built-in tool that a stop finds running gets one second to give up; then
//     its result is written without it.
package worker
