// Package acphost holds one finite conversation with an agent of the Agent Client
// Protocol, for tests: acpprofile decides on what the agent writes, and the
// agent's streams are bounded as a host must bound them. What the other side of
// the conversation sends is the test's.
//
// It is no host for anything else: it has no clock, and waits as long as the agent
// takes.
//
// # Limits
//
// A line of the agent has at most 16 MiB, and its standard error 65,536 bytes
// where that is asked for; the rest is acpprofile's.
//
// # Errors
//
// What the agent did is an [Outcome]. A fault of the test's own side is an error.
//
// # Concurrency
//
// A [Host] is for one goroutine.
package acphost
