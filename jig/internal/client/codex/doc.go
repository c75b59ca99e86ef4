// Package codex speaks the protocol of `codex app-server` behind the adapter: lines
// of JSON without a jsonrpc member, requests in both directions, a thread for a
// session (jig.md 7).
//
// The credential goes over in memory, with account/login/start, into a store that is
// never written; it is in no variable and in no file, because a tool that the client
// runs can read both. [Arguments] and the configuration file that Prepare writes turn
// off what Codex does besides answering: plugins and apps, shell snapshots, analytics,
// the update check, history, retries, agents and goals of its own. A session that
// nobody keeps is in memory only. The model provider is one of the configuration's
// own, so that the answer is asked for with one POST and over no WebSocket; where it
// is asked is an argument, which is reviewed, or Codex's own default for the kind of
// login.
//
// # What it refuses
//
// Every question of Codex. An approval is declined, which leaves the turn going on;
// the refresh of a token, an attestation, an elicitation, a tool of the client's own
// and whatever else it may ask are refused at once. A turn without a login is not
// sent: Codex would send it without an Authorization. A model other than the one that
// was selected ends the conversation.
//
// # Text
//
// The answer is what comes as item/agentMessage/delta of the turn in progress, and the
// text of an agentMessage that came whole. Nothing else is shown: no reasoning, no
// tool, no text of a notice or an error.
//
// # Modes
//
// The one mode is read-only: workspace-write without network, approvals on request.
// The name is codex-acp's (native-clients 3); with jig's requirements file Codex
// itself refuses more.
//
// # Limits
//
// Those of the adapter. A login has ten seconds.
//
// # Errors
//
// A failure of a turn is a category and nothing else. Where thread/start fails because
// the configuration cannot be loaded, the error carries Codex's sentence with the
// suffix that its published adapter adds, for the host to recognise and to drop.
//
// # Concurrency
//
// A client is for one goroutine.
package codex
