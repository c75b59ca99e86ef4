// Package flows holds the Flows that jig writes into a new project.
//
// The Agent Flow is an ordinary package of TypeScript that its owner edits. This
// program never runs it from here: a project's own copy is captured, reviewed and
// run like any other Flow.
//
// # Limits
//
// None of its own.
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
