// Package flows holds the Flows that jig writes into a new project.
//
// The Agent Flow is an ordinary package of TypeScript that its owner edits. This
// program never runs it from here: a project's own copy is captured, reviewed and
// run like any other Flow.
//
// # Choices
//
// The contract says nothing of the length of instructions, skills and answers: to
// measure a text of a megabyte takes more work than one validation may do. The
// Flow itself bounds them. A warning of the native client is one line a run,
// however many come. Of the commands of a conversation, prompt is looked at in
// the order BUSY, STALE_TURN, TURN_LIMIT, INVALID_INPUT, and interrupt in the order
// NOT_RUNNING, STALE_TURN, BUSY (one interruption a turn); close is BUSY while a
// turn runs. The 65th command and a reply beyond 64 KiB end the run with
// RESOURCE_EXHAUSTED, a reply that nobody takes in 5 s with DISCONNECTED, commands
// that go on for 5 s after their close with EXECUTION_FAILED.
//
// # Limits
//
// Those of the Flow stand in its files: 8 MiB of text, 16 items or 256 KiB of
// waiting events, an item of 64 KiB, 500 ms to take one.
//
// # Errors
//
// None.
//
// # Concurrency
//
// Its functions are safe for concurrent use.
package flows

import (
	"embed"
	"io/fs"
)

//go:embed agent
var agent embed.FS

// Agent returns the files of the Agent Flow by their path in its package. They are
// fresh copies.
func Agent() map[string][]byte {
	files := map[string][]byte{}
	// What is embedded can be read.
	_ = fs.WalkDir(agent, "agent", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := agent.ReadFile(name)
		files[name[len("agent/"):]] = b
		return err
	})
	return files
}
