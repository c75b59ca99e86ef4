package json0

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Why a document was refused. An [*Error] wraps one of the first seven.
var (
	ErrSyntax    = errors.New("not JSON")
	ErrUTF8      = errors.New("invalid UTF-8")
	ErrDuplicate = errors.New("duplicate member name")
	ErrSurrogate = errors.New("surrogate escape without its other half")
	ErrNumber    = errors.New("number out of range")
	ErrLimit     = errors.New("limit exceeded")

	// ErrShape: the document is JSON/0 and does not fit what it was decoded into.
	ErrShape = errors.New("unexpected shape")
	// ErrValue: a Go value has no JSON/0 form.
	ErrValue = errors.New("value outside JSON/0")
	// ErrConfig: Limits are unusable.
	ErrConfig = errors.New("invalid limits")
)

// Error says where and why a document was refused.
type Error struct {
	Offset int    // of the byte in the document; -1 if it is not known
	Detail string // one line for a person
	cause  error
}

// Error returns one line that quotes nothing of the document.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%v: %s", e.cause, e.Detail)
	}
	return fmt.Sprintf("%v at byte %d: %s", e.cause, e.Offset, e.Detail)
}

// Unwrap returns the class of the refusal.
func (e *Error) Unwrap() error { return e.cause }

// Position returns the line and column of the error in the document it is about,
// both from 1. A column counts Unicode scalars.
func (e *Error) Position(doc []byte) (line, column int) {
	line, column = 1, 1
	for i := 0; i < len(doc) && i < e.Offset; {
		r, n := utf8.DecodeRune(doc[i:])
		if r == '\n' {
			line, column = line+1, 0
		}
		column++
		i += n
	}
	return line, column
}
