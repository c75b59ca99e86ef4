// Package engine runs FLOW.ts, FLOW.js and FLOW.mjs, and evaluates declarations,
// inside a scope that somebody else has made (jig.md 3, flow-author-api 6).
// esbuild takes the types out of one file at a time, QuickJS runs the result;
// no Node, no Bun, no compiler.
//
// [FlowMain] is what `jig __flow` does: the package lies at /package, scratch at
// /scratch, Run/0 is spoken on descriptors 0 and 1. [CompileMain] is what `jig
// __compile` does: it makes the compiled form of a package, with which FlowMain
// needs no parser. [DeclareMain] is what `jig __declare` does. All three lower
// their own resource limits before they read a byte that somebody else wrote.
// [Flow] is the same without the process around it.
//
// # What a Flow can and cannot do
//
// It imports `@jigging/flow` and `@jigging/agent-method`, files of its own
// package, packages in its own node_modules, and a harmless subset of the
// `node:` modules. Everything else is refused by name before any code of the
// package runs. There is no network, no process, no thread, no WebAssembly and
// no way to make code out of text. Files are those of the package, which cannot
// be written, and of scratch, which holds at most 16,384 files and folders, for
// empty ones take memory of the host as well; one more is ENOSPC.
//
// # Standard error
//
// What a Flow prints and throws goes to standard error as text. What the engine
// itself has to say, such as a specifier it refused or a limit that was reached,
// goes there as well, as one line each that begins with the control character
// RS and continues as a JSON object. A Flow cannot write that character: in its
// text it becomes U+FFFD. [Stderr] takes the two apart on the host's side.
//
// # Exit status
//
// 0 after the root has been answered, whatever the answer, and where the package
// ran to its end without ever asking for a run. 1 for what the author did not
// catch, for what a load refused, and for a connection that broke. A status that
// the author chose is kept. 70 where the engine itself could not be set up.
//
// # Limits
//
// The heap of a realm is [HeapBytes], the depth of calls [CallDepth]. Reaching
// one is an exception in the author's code. Time is not limited here: an endless
// loop ends when the host kills the process.
//
// # Errors
//
// Nothing is returned but an exit status. What went wrong stands on standard
// error, as a [Diagnostic] where the host has to know it.
//
// # Concurrency
//
// [FlowMain] and [DeclareMain] own their process. Several [Flow] values may run
// in one process at once; each has a realm of its own.
package engine

// Limits of a realm (flow-author-api 6, jig.md 6).
const (
	HeapBytes = 128 << 20 // of JavaScript values
	CallDepth = 8192      // in slots of the engine's stack, about one for each plain call
)
