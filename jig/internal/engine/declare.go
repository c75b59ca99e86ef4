package engine

import (
	"os"

	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/engine/realm"
)

// DeclareMain is `jig __declare`: it answers questions on standard input about
// what declarations say, until its input ends. It returns the exit status.
func DeclareMain(args []string) int {
	if len(args) > 0 {
		os.Stderr.WriteString("jig: __declare takes no argument\n")
		return exitEngine
	}
	if status := confine(); status != 0 {
		return status
	}
	if err := declare.Serve(os.Stdin, os.Stdout, realm.Limits{HeapBytes: HeapBytes, Slots: CallDepth}); err != nil {
		os.Stderr.Write(Diagnostic{Code: CodeEngine, Message: err.Error()}.line())
		return exitEngine
	}
	return 0
}
