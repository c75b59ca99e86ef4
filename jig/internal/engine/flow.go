package engine

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// Places of a Flow inside its scope.
const (
	PackageDir = "/package"
	ScratchDir = "/scratch"
)

// Exit statuses that the engine chooses.
const (
	exitFailed = 1  // the author, a refused load, a broken connection
	exitEngine = 70 // the engine itself
)

// Compiled is the argument of `jig __flow` that says: the compiled form of the
// package, as [CompileMain] wrote it, is on descriptor 3. The host sees to it that
// it is that package's, and this very program's.
const Compiled = "compiled"

// FlowMain is `jig __flow`: it bounds its own process and then runs the package
// at [PackageDir] on descriptors 0 and 1. It returns the exit status.
func FlowMain(args []string) int {
	if len(args) > 1 || len(args) == 1 && args[0] != Compiled {
		fmt.Fprintln(os.Stderr, "jig: __flow takes no argument but "+Compiled)
		return exitEngine
	}
	if status := confine(); status != 0 {
		return status
	}
	f := Flow{Package: PackageDir, Scratch: ScratchDir, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if len(args) == 1 {
		var err error
		if f.compiled, err = readCompiled(os.NewFile(3, Compiled)); err != nil {
			os.Stderr.Write(Diagnostic{Code: CodeEngine, Message: err.Error()}.line())
			return exitEngine
		}
	}
	return f.Run()
}

// confine lowers what this process may use, before it reads anything foreign.
func confine() int {
	if err := sandbox.ApplyRlimits(sandbox.FlowDataBytes); err != nil {
		os.Stderr.Write(Diagnostic{Code: CodeEngine, Message: err.Error()}.line())
		return exitEngine
	}
	// The engine's own memory lies beside the heap of the realm and has to fit
	// the scope with it.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(96 << 20)
	debug.SetMaxStack(192 << 20)
	return 0
}

// Flow is one run of one package.
type Flow struct {
	Package string    // folder of the captured package; required
	Scratch string    // private folder, writable; required
	In      io.Reader // frames of the host; required
	Out     io.Writer // frames of the Flow; required
	Err     io.Writer // text and diagnostics; required

	compiled  *source.Compiled // nil: the package is compiled now
	heapBytes int              // of JavaScript values; 0: HeapBytes. Tests have less time.
}

// Run executes the package and returns the exit status. The package sees its
// folders as [PackageDir] and [ScratchDir], wherever they are.
func (f Flow) Run() (status int) {
	r, err := newRunner(f)
	if err != nil {
		f.Err.Write(Diagnostic{Code: CodeEngine, Message: err.Error()}.line())
		return exitEngine
	}
	defer r.close()
	return r.run()
}
