// Package prefault asks the kernel for the memory that a program of jig is about to
// use, at once, when the program begins. A short run is mostly the beginning of
// two programs: each writes to some hundred pages of its data and to a thousand of
// its heap, and takes a page fault for each, which costs more than the work does
// where jig runs under virtualisation.
//
// It does its work by being imported, before nearly every other package is
// initialised, because it imports nothing but syscall.
//
// # Limits
//
// [HeapBytes] of the heap and [DataBytes] of the data become resident that might
// never have been.
//
// # Errors
//
// None. Where the kernel cannot do it, before Linux 5.14 and on other systems,
// pages come one by one as ever.
//
// # Concurrency
//
// There is nothing to call.
package prefault

// What is asked for at most.
const (
	HeapBytes = 4 << 20
	DataBytes = 1 << 20
)
