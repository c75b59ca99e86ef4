package json0

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode checks doc and reads it into dst, a pointer, as package json of
// github.com/go-json-experiment does, but strictly: a member that dst does not
// have is refused, names match exactly, and 1.0 is as good an integer as 1.
// Whether a member that dst has was there, dst must tell: use a pointer.
//
// The error is an [*Error]; it wraps [ErrShape] if doc is JSON/0 and does not fit
// dst.
func Decode(doc []byte, dst any) error { return Limits{}.Decode(doc, dst) }

// Decode is the function [Decode] within the limits.
func (l Limits) Decode(doc []byte, dst any) error {
	loose, err := l.scan(doc)
	if err != nil {
		return err
	}
	if loose { // so that nothing after this has to know that 1e0 is 1
		if doc, err = canonical(nil, doc); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(doc, dst, json.RejectUnknownMembers(true)); err != nil {
		return shape(err, !loose)
	}
	return nil
}

// Parse checks doc and returns it as nil, bool, float64, string, []any and
// map[string]any.
func Parse(doc []byte) (any, error) { return Limits{}.Parse(doc) }

// Parse is the function [Parse] within the limits.
func (l Limits) Parse(doc []byte) (any, error) {
	var v any
	if err := l.Decode(doc, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// shape turns a decoder's error into ours: it may quote the document, ours do not.
func shape(err error, placed bool) error {
	e := &Error{Offset: -1, Detail: "a value of another kind is expected", cause: ErrShape}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return e
	}
	if placed {
		e.Offset = int(semantic.ByteOffset)
	}
	if errors.Is(err, json.ErrUnknownName) {
		e.Detail = "a member that is not expected"
	} else if kind := kinds[semantic.JSONKind]; kind != "" {
		e.Detail = kind + " is not expected, or not this one"
	}
	return e
}

var kinds = map[jsontext.Kind]string{
	'n': "null", 'f': "a Boolean", 't': "a Boolean", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}
