// Package jsonline reads and writes the lines of native clients: one JSON object
// each.
//
// A line is refused when it is no UTF-8, no JSON, no object, or names a member
// twice: there must be one way to read it. Half of a surrogate pair in an escape is
// no reason to refuse: clients cut texts of their own wherever they like. It reads as
// U+FFFD.
//
// # Limits
//
// The length of a line is the caller's to bound; its depth is at most 10,000.
//
// # Errors
//
// [ErrLine] is all there is: no text of a client is in it.
//
// # Concurrency
//
// The functions may be called at the same time.
package jsonline

import (
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// ErrLine is a line that is no JSON object.
var ErrLine = errors.New("jsonline: the client wrote a line that is no JSON object")

// Parse checks a line and gives access to its members.
func Parse(line []byte) (gjson.Result, error) {
	v := jsontext.Value(line)
	if !utf8.Valid(line) || !v.IsValid(jsontext.AllowInvalidUTF8(true)) || v.Kind() != '{' {
		return gjson.Result{}, ErrLine
	}
	return gjson.ParseBytes(line), nil
}

// Quote appends s as a JSON string; what is no UTF-8 in it is replaced.
func Quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// Text is v as a string, and "" where it is none.
func Text(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return v.Str
}
