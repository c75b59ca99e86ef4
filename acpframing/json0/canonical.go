package json0

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical checks doc and returns its canonical bytes (RFC 8785): members sorted
// by UTF-16 code units, numbers as ECMAScript prints them, no space, no escape
// that is not needed.
func Canonical(doc []byte) ([]byte, error) { return AppendCanonical(nil, doc) }

// AppendCanonical appends the canonical bytes of doc to dst. On an error dst comes
// back as it was.
func AppendCanonical(dst, doc []byte) ([]byte, error) {
	if err := Check(doc); err != nil {
		return dst, err
	}
	return canonical(dst, doc)
}

// canonical rewrites a checked document. Only checked ones: the encoder would
// quietly make a number finite.
func canonical(dst, doc []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(doc))
	if err := v.Canonicalize(); err != nil {
		return dst, &Error{Offset: -1, Detail: "no canonical form", cause: ErrSyntax}
	}
	if dst == nil {
		return v, nil
	}
	return append(dst, v...), nil
}

// Marshal returns the canonical bytes of a Go value, as package json of
// github.com/go-json-experiment encodes it. Errors: [ErrValue] for what has no
// JSON form; an [*Error] for what has one that is not JSON/0, such as an integer
// beyond 2^53-1. Its offset is of the encoded form.
func Marshal(v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %T", ErrValue, v)
	}
	return Canonical(doc)
}

// Equal says whether two documents are the same value: numbers by value, members
// in any order.
func Equal(a, b []byte) (bool, error) {
	x, err := Canonical(a)
	if err != nil {
		return false, err
	}
	y, err := Canonical(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(x, y), nil
}
