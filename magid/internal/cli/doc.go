// Package cli is magid's command line: it starts and stops daemons, talks to one over its socket as any other
// program does, and reads the journal without one (magid: Command line).
//
// What a person reads goes to standard error where --json asked for an object, and to standard output otherwise.
// With --json exactly one JSON object goes to standard output, {"error":{"code","message"}} where the command failed.
// Colour is for terminals only, and never where NO_COLOR is set. What a model or another program wrote is shown
// without its control characters.
//
// # Errors
//
// The exit code is 0 where the command did what it says, 1 where it failed, 2 where it was called wrongly and 3 where
// it needs a daemon and none answers.
//
// # Concurrency
//
// [Main] is the program; it is called once.
package cli
