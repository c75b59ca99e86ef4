package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	Pointer string
	Reason  string // one line for a person
	cause   error
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return "at " + e.Pointer + ": " + e.Reason
}

// Unwrap returns what is under the error: [ErrUnsupported], a
// [*schema0.CompileError], an error of package json0, or nil.
func (e *Error) Unwrap() error { return e.cause }

// ErrUnsupported is a well-formed descriptor that asks for what this host does
// not offer.
var ErrUnsupported = errors.New("contract: not supported")

func wrong(pointer, reason string) error { return &Error{Pointer: pointer, Reason: reason} }

func because(pointer string, cause error) error {
	return &Error{Pointer: pointer, Reason: cause.Error(), cause: cause}
}
