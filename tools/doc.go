// Package tools names what the developer commands of this repository share.
//
// The commands themselves live below cmd: check makes every check that CI
// makes, release rehearses a release, native installs the real agents that tests
// run, scriptedprovider serves a scripted model, fakeagent is an agent with faults,
// demo shows jig at work.
// Nothing in this module is imported by another module of the repository.
//
// # Limits
//
// The package holds constants only.
//
// # Errors
//
// None.
//
// # Concurrency
//
// Constants are safe for concurrent use.
package tools

// ModulePrefix is the path below which every module of the repository lives:
// the module in folder wirev2 is ModulePrefix + "/wirev2". Apart from this line
// the prefix stands only in go.mod files and in imports.
const ModulePrefix = "github.com/magi-jig/magi-jig"
