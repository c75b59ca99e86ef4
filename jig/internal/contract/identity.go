package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// Identity names an exact descriptor. Digest is "sha256:" and 64 hex digits.
type Identity struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Named says whether i names anything: the identity of an anonymous contract
// has a digest only.
func (i Identity) Named() bool { return i.ID != "" }

// ErrMismatch is a contract that is not the one asked for.
var ErrMismatch = errors.New("contract: another contract is needed")

// ErrEquivocation is a contract with the id and version asked for and another
// digest: two different texts claim the same name.
var ErrEquivocation = errors.New("contract: the same id and version has another digest")

// Satisfies says whether a contract of identity i is the one that need names.
// It returns nil, [ErrEquivocation] or [ErrMismatch].
func (i Identity) Satisfies(need Identity) error {
	switch {
	case !i.Named() || !need.Named() || i.ID != need.ID || i.Version != need.Version:
		return ErrMismatch
	case i.Digest != need.Digest:
		return fmt.Errorf("%w: %s %s", ErrEquivocation, i.ID, i.Version)
	}
	return nil
}

// digest is the identity digest of a preimage in its domain.
func digest(domain string, preimage []byte) string {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write([]byte{0})
	h.Write(preimage)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Error says where a descriptor is wrong. Pointer is a JSON pointer into it.
type Error struct {
	File    string // path of the channel descriptor it is in, as the contract refers to it; empty: none
	Pointer string
	Reason  string // one line for a person
	cause   error
}

func (e *Error) Error() string {
	reason := e.Reason
	if e.Pointer != "" {
		reason = "at " + strings.Map(visible, e.Pointer) + ": " + reason
	}
	if e.File != "" {
		reason = e.File + ": " + reason
	}
	return reason
}

// visible keeps a message on its line, whatever names an author has chosen.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return '?'
	}
	return r
}

// Unwrap returns what is under the error: [ErrUnsupported], a
// [*schema0.CompileError], an error of package json0, or nil.
func (e *Error) Unwrap() error { return e.cause }

// ErrUnsupported is a well-formed descriptor that asks for what this host does
// not offer.
var ErrUnsupported = errors.New("contract: not supported")

func wrong(pointer, reason string) error { return &Error{Pointer: pointer, Reason: reason} }

// because is a refusal of what stands at pointer, or of the place below it that
// the cause names.
func because(pointer string, cause error) error {
	e := &Error{Pointer: pointer, Reason: withoutPlace(cause), cause: cause}
	var schema *schema0.CompileError
	if errors.As(cause, &schema) {
		if e.Reason = schema.Words(); schema.Pointer != "" {
			e.Pointer = schema.Pointer
		}
	}
	return e
}
