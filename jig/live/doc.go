// Package live holds tests only: the jig program, from review to the end of a run,
// with real Codex, Claude Code and Pi in real scopes, against a scripted model on
// loopback.
//
// The tests run in a network namespace that has loopback and nothing else, so that
// no word of a client can leave the machine, and in a mount namespace of their own,
// in which the clients lie outside of the folders that a native scope keeps for
// itself. Run by root they run twice: as root, and as an ordinary user.
//
// They need what `make native` installs, and the whole workspace around them: they
// build jig, and the scripted model server of the module tools. `-long` runs what
// takes minutes.
package live
