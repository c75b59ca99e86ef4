// Package declare evaluates the declarations of a project: jig.ts and
// bindings/*.ts. [Serve] is the side inside the scope, [Client] the host's.
//
// Declarations run before anybody has approved anything. They have no file, no
// timer, no clock and no randomness; they import relative `.ts` files of their
// project and `@jigging/jig`, and nothing else. Each is evaluated in a realm of
// its own, so none sees what another left behind, and all of one review in one
// process.
//
// # The conversation
//
// The host asks for one declaration at a time, so it always knows which one runs
// and can end the process when its time is over. A question and an answer are
// one line of JSON/0 each. The question carries sources that the scope does not
// have yet. The answer is the value, or refusals, or the project files that are
// still missing; those the host captures and asks again.
//
// # Limits
//
// A source has at most [MaxSourceBytes], all sources of a review
// [MaxSourcesBytes] in at most [MaxSources] files. A value has at most
// [MaxValueBytes] and the limits of JSON/0, less the one level and the one value
// of the answer around it.
//
// # Errors
//
// [*RefusedError] carries what the author has to change, each with path, line
// and column where they are known. Any other error is the scope's.
//
// # Concurrency
//
// A [Client] is for one goroutine.
package declare

// Limits of one review.
const (
	MaxSourceBytes  = 256 << 10
	MaxSourcesBytes = 8 << 20
	MaxSources      = 1024
	MaxValueBytes   = 1 << 20
)

// Refusal is one thing the author has to change.
type Refusal struct {
	Path    string `json:"path"`            // inside the project
	Line    int    `json:"line,omitzero"`   // from 1; 0: unknown
	Column  int    `json:"column,omitzero"` // from 1; 0: unknown
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
}

// RefusedError is a declaration that cannot be taken.
type RefusedError struct{ Refusals []Refusal }

func (e *RefusedError) Error() string {
	if len(e.Refusals) == 0 {
		return "the declaration was refused"
	}
	return e.Refusals[0].Path + ": " + e.Refusals[0].Message
}
