// Package cli is the jig command: what it accepts, what it prints, and how it
// ends (jig.md 2).
//
// Standard output belongs to one writer. On a terminal it carries text for a
// person; redirected, or with --json, exactly one line: the command's record,
// canonical JSON with sorted members, whatever happened, a signal and a wrong
// option included. With --receive it carries one line for each item and the
// record last. Everything else is on standard error.
//
// What a project or a Flow wrote is shown escaped, bounded and on its own line:
// no control, bidirectional or invisible character of theirs reaches a terminal. In
// a record that a terminal shows they stand as \uXXXX, which is the same JSON value.
//
// # Choices
//
// An approval is asked for and read on the controlling terminal, never on
// standard input, which is read for `--input @-` alone. Where standard input is no
// terminal there is nobody to ask. A refusal of `jig review` stands in its
// record's diagnostics; other commands' refusals have code and message.
//
// The first signal cancels, and the second one kills. A command that has still not
// ended half a second later is left where it is, at a third signal at once: what
// keeps it may be whoever should read of its end. A run that is under way gets 30 s
// to be fenced and recorded; the next command records one that did not.
//
// A standard output that is closed cannot be told from one that leads to /dev/null,
// because Go opens that in its place: nothing is printed then, and no failure is
// reported. jig runs show still has the record of a run.
//
// # Errors
//
// [Main] returns the exit status: 0, 1 for what the author or the caller has to
// change, 2 for what the operator has to, or for a run that was lost or
// interrupted; 3 and 4 of `jig review --detailed-exitcode`.
//
// # Concurrency
//
// [Main] owns its process: standard error, signals and the environment.
package cli
