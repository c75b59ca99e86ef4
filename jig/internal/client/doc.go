// Package client finds out on the host what a native coding agent is, with which
// authentication it would run, and what its scope has to hold (seed: Native client
// profiles; finite-acp 1c, 1d; jig.md 4, 7).
//
// An [Opener] examines a client for a review ([Opener.Open]) and, before a run and
// before every launch, opens what was admitted again ([Opener.Prepare]): it looks
// at the same paths, reads every byte again, compares, reads the credential, and
// returns a [Plan]. Nothing of a client is ever executed here, and no address is
// connected to.
//
// # Modes
//
// The operator's environment, as it was before any file of the project was read,
// decides between a subscription and an API key; a grant's model replaces the
// model's variable and nothing else. A variable that is set and empty still
// selects the API. [Profile] holds the outcome.
//
// # Identity
//
// [Plan.Provider] holds everything that makes the client behave as it does, and no
// secret: the digest of the jig binary that drives it, every file with its digest,
// arguments, environment, endpoint, proxy and trust. Two plans with one digest
// start the same thing. What the host's network says about itself (resolv.conf,
// hosts) is handed over and not part of it.
//
// # Credentials
//
// A [Credential] is read on the host, checked, cut down to what one conversation
// needs, and handed over in the launch frame. It prints as [redacted]. No file of
// the operator is bound; a refresh token is never in a projection.
//
// What of it may not turn up in a history is what the client is told
// ([Credential.Values]): the key or token, and Codex's account with it. The refresh
// token and the id token are not among them, because the client cannot know them,
// and to look for them they would have to be kept. The plan is not either: it is no
// secret, and a word that any history may hold. An account counts however short it
// is. Real ones are UUIDs; one that stands in every text costs its owner the
// history, which is the smaller harm, and the answer stays.
//
// # Choices where the rules are silent
//
// Codex's cli_auth_credentials_store has to be "file", which is also what Codex
// takes where its config.toml does not say; every other value is refused, because
// the login may then be elsewhere than in the file that would be read. A CODEX_HOME
// or PI_CODING_AGENT_DIR that is empty counts as not set, as for the clients. The
// folder of a login is its real path: a link anywhere on the way is refused. Where
// more than one thing is wrong with a client, the executable is reported before its
// configuration, and that before its credential. A credential with white space
// around it or a control character in it is refused, because it could not be sent.
// The system's bundle of certificates counts as the same whatever it holds; one
// that SSL_CERT_FILE names is reviewed by its digest.
//
// # Errors
//
// A [*project.Refusal] says in the operator's words what has to be changed, with
// one of the codes PROJECT_ACP_<CLIENT>_<STAGE>, or PROJECT_ACP_UNAVAILABLE where
// the cause is not known. A [*ChangedError] is what Prepare found to differ from
// what was admitted. Neither holds a secret or a path of this machine; what is wrong
// with a login is told cause by cause, and its file by the name that all clients give
// it.
//
// # Concurrency
//
// An Opener is safe for concurrent use. A Plan is immutable; a Credential is for
// the one who asked for it.
package client
