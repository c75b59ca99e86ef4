// Package live holds tests only: the real agents that `make native` installs, each
// in one turn with the scripted model over TLS, and the published ACP adapter of
// Codex in a conversation that acpprofile decides on. They show that the pins, the
// scripted model and the rules of a finite conversation fit together; what jig
// makes of the agents is tested in jig/live.
//
// The tests run in a network namespace that has loopback and nothing else, with a
// name server there that notes who asks.
package live
