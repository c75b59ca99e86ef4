// Package project reads what a project declares and works out what each of its
// targets is: which package, with which settings, and what fills each of its
// slots (jig.md 3, finite-acp 7a, flow-author-api 2).
//
// A project is jig.ts or jig.json with bindings/*.ts, grants/*.json and packages
// such as flows/hello. [Load] captures every file once, lets the declarations be
// evaluated in a scope without any power, captures the packages into the store,
// and links. Nothing that it returns reads the source again.
//
// # What is refused
//
// Links anywhere, names whose case differs, a file that is no plain file, a path
// below .jig, an import of anything but relative .ts files and @jigging/jig, a
// value that is not plain data, Bindings that lead to themselves, a slot filled
// with what its contract does not take. Each refusal is a [Diagnostic] with the
// place where it can be mended; all that can be found at once are.
//
// # Choices
//
// A slot without an explicit value is filled by defaultProviders, else by the one
// target whose contract is exactly the one asked for and that could be used: one
// with a runtime, with the features asked for, and with values for the slots that
// need one. More than one is nobody. A slot that stays empty makes its target not
// runnable, and every target that leads to it; that fails no review. A resource
// contract is never filled but by a grant.
//
// A circle of Bindings is refused; a circle that only defaults close leaves its
// slots empty. A target deeper than [MaxChildLevels] is not runnable.
//
// # Limits
//
// The constants below, those of package declare for sources and values, and those
// of package flowpkg for packages.
//
// # Errors
//
// [*Refusal] carries diagnostics for the author. Any other error is the host's.
//
// # Concurrency
//
// Functions are safe for concurrent use; a [Loader] loads once.
package project

import "time"

// Limits of a project.
const (
	MaxTargets       = 4096
	MaxGrantFiles    = 256
	MaxGrantBytes    = 32 << 10 // of one file
	MaxGrantsBytes   = 1 << 20  // of all files
	MaxChildLevels   = 5
	MaxResourceSlots = 8
	MaxMeaningBytes  = 4 << 20 // of all that a project means, as it is recorded
	MaxMeaningValues = 131_072 // in it

	// DeclarationTime is how long one declaration may be evaluated, and
	// ReviewTime how long all of a review.
	DeclarationTime = 3 * time.Second
	ReviewTime      = 10 * time.Second
)
