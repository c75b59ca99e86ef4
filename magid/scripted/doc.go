// Package scripted is a model server that does exactly what a script says, for
// tests and demonstrations. It listens on loopback or serves connections inside
// the process, speaks HTTP/1.1, and needs no key.
//
// A [Script] is a list of replies, one a request. A [Reply] is a status, header
// fields, a framing and steps. Some steps say what the model does ([Text],
// [Refusal], [ToolCall], [Finish], [Usage], [Done]) and are written in the format
// that the request's path asks for: OpenAI Chat Completions at a path that ends
// in /chat/completions, OpenAI Responses at /responses, Anthropic Messages at
// /messages. Others are exact bytes ([Write], [Event], [Comment]), time ([Wait],
// [Hold]) or the end of the connection at that byte ([Close], [Reset]). A reply
// can be split at every byte ([Reply.Split]), cut after any byte ([Reply.Cut]), or
// be turned into its wire bytes ([Reply.Wire]) and served [Raw], status line and
// chunk sizes included.
//
// Instead of a script [ByText] answers whatever the user last asked for, which
// suits agents that cannot be told how many requests they make. With
// [Options].TLS the server speaks https, with a certificate by an authority that
// it makes for itself ([Server.Authority]).
//
// Beside models' replies it tells its models (GET /models: none by name, all are
// accepted) and counts tokens (POST /messages/count_tokens: one for four bytes).
//
// The server keeps every request it got, with its header and raw body, in the
// order of arrival ([Server.Requests], [Server.Next]); a [Log] writes them down.
//
// A script can also be read from a plain text file: see [Parse].
//
// What it refuses: paths and methods it does not know (404, 405, and no reply of
// the script is used up), requests over its limits, and requests after the last
// reply (500, which says so).
//
// # In a synctest bubble
//
// [New] opens no socket and [Server.Dial] gives connections made of net.Pipe, so
// a client with its own dialer can be tested against it in a testing/synctest
// bubble, where each write of the server is one read of the client. Make the
// server inside the bubble, and close it and the client's idle connections before
// the bubble ends.
//
// # Limits
//
// See [Limits], [MaxScriptBytes] and [MaxDeltas]. A request over its limits is
// answered 413 or 503; a connection over them is closed unanswered.
//
// # Errors
//
// [Parse] names the line. Starting fails only if loopback cannot be listened on,
// or no certificate can be made.
//
// # Concurrency
//
// A [Server] is safe for concurrent use. Scripts, replies and steps are values.
// After [Server.Close] no goroutine and no connection of the server is left.
package scripted
