// Package realm is one JavaScript realm: a QuickJS engine with its limits, the
// engine's own scripts, and one function through which they reach the host
// (flow-author-api 6).
//
// A realm has no way out but that function, which is out of every author's
// reach. eval, the constructors that make functions out of text, SharedArrayBuffer
// and Atomics are taken away before any author's code runs. The scripts keep the
// built-ins as they were then, so an author who changes a prototype changes
// nothing of what the host reads.
//
// Messages cross as text and numbers. Never an object: turning one into text
// would run the author's code.
//
// # Modules
//
// The host resolves a specifier to a name and gives the text for a name. Modules
// of the engine's own are made of parts, the files in js. A refused specifier
// resolves to a module that throws, which is how an author's code hears of it.
//
// # Limits
//
// [Limits.HeapBytes] counts JavaScript values, [Limits.Slots] the depth of calls.
// Reaching one throws in the author's code. A native function over a huge length
// ignores both and every interrupt; only the end of the process stops it.
//
// # Errors
//
// [ErrMemory] and [ErrStack] where a limit was reached in the engine's own
// scripts, so that nobody could catch it.
//
// # Concurrency
//
// A [Realm] is for one goroutine, but for [Realm.Interrupt].
package realm
