// Package coordinator is the heart of the daemon: it owns sessions, grants,
// operations and turns, and decides every request that a connection hands on.
package coordinator
