package acpframing

import "errors"

var (
	// ErrViolation: the stream broke a rule and is dead. A [*Violation] says which.
	ErrViolation = errors.New("framing violation")
	// ErrReady: a ready record is not one.
	ErrReady = errors.New("invalid ready record")
	// ErrConfig: an argument of a constructor is unusable.
	ErrConfig = errors.New("invalid framing configuration")
)

// Rule names what a stream broke.
type Rule string

const (
	RuleShape         Rule = "an item is not a data fragment"
	RuleEmpty         Rule = "a fragment has no text"
	RuleUnicode       Rule = "a text is not made of Unicode scalars"
	RuleFragmentBytes Rule = "a fragment is too long"
	RuleFragments     Rule = "there are too many fragments"
	RuleFrameBytes    Rule = "a frame is too long"
	RuleTotalBytes    Rule = "all frames together are too long"
	RuleFrames        Rule = "there are too many frames"
	RuleUnfinished    Rule = "the stream ended inside a frame"
	RuleFinished      Rule = "something came after the end of the stream"
)

// Violation is the first rule that a stream broke. Every call after it returns the
// same one.
type Violation struct {
	Direction Direction
	Rule      Rule
}

// Error returns one line for a person.
func (v *Violation) Error() string {
	return ErrViolation.Error() + " of " + v.Direction.String() + ": " + string(v.Rule)
}

// Unwrap returns ErrViolation.
func (v *Violation) Unwrap() error { return ErrViolation }
