package json0

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Decode checks doc and reads it into dst, a pointer, as package json of
// github.com/go-json-experiment does, but strictly: a member that dst does not
// have is refused, names match exactly, and 1.0 is as good an integer as 1.
// Whether a member that dst has was there, dst must tell: use a pointer.
//
// Errors: an [*Error] if doc is not JSON/0; [ErrShape] if it does not fit dst.
func Decode(doc []byte, dst any) error { return Limits{}.Decode(doc, dst) }

// Decode is the function [Decode] within the limits.
func (l Limits) Decode(doc []byte, dst any) error {
	doc, err := l.plain(doc)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(doc, dst, json.RejectUnknownMembers(true)); err != nil {
		return shapeError{err}
	}
	return nil
}

// Parse checks doc and returns it as nil, bool, float64, string, []any and
// map[string]any.
func Parse(doc []byte) (any, error) { return Limits{}.Parse(doc) }

// Parse is the function [Parse] within the limits.
func (l Limits) Parse(doc []byte) (any, error) {
	doc, err := l.plain(doc)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrShape, err)
	}
	return v, nil
}

// plain checks doc, and rewrites it if a number is written unusually, so that
// nothing after it has to know that 1e0 is 1.
func (l Limits) plain(doc []byte) ([]byte, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	s := scanner{doc: doc, limits: l}
	if err := s.document(); err != nil {
		return nil, err
	}
	if !s.loose {
		return doc, nil
	}
	return canonical(nil, doc)
}

// shapeError keeps the decoder's text, which may quote the document, out of ours.
type shapeError struct{ cause error }

func (shapeError) Error() string { return ErrShape.Error() }

func (shapeError) Is(target error) bool { return target == ErrShape }

func (e shapeError) Unwrap() error { return e.cause }
