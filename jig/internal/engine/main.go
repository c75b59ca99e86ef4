package engine

import (
	"io"
)

// FlowMain is `jig __flow`. It returns the exit status.
func FlowMain(args []string) int { return 70 }

// DeclareMain is `jig __declare`. It returns the exit status.
func DeclareMain(args []string) int { return 70 }

// Flow is one run of one package.
type Flow struct {
	Package string    // folder of the captured package; required
	Scratch string    // private folder, writable; required
	In      io.Reader // frames of the host; required
	Out     io.Writer // frames of the Flow; required
	Err     io.Writer // text and diagnostics; required
}

// Run executes the package and returns the exit status.
func (f Flow) Run() int { return 70 }
