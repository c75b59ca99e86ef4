package acpprofile

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// value is one JSON value as it is written, without the white space around it. It
// is a view of a document that json0 has checked; a nil one stands for a member
// that is not there.
//
// Reading trusts that check and makes no second one: every string is closed, every
// name is new, every bracket has its other half.
type value []byte

// rootOf is the value of a checked document.
func rootOf(doc []byte) value { return bytes.TrimSpace(doc) }

func (v value) exists() bool { return v != nil }

// kind is the byte that a value begins with, or 0 for one that is not there.
func (v value) kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

func (v value) isObject() bool { return v.kind() == '{' }
func (v value) isArray() bool  { return v.kind() == '[' }
func (v value) isString() bool { return v.kind() == '"' }
func (v value) isNull() bool   { return v.kind() == 'n' }
func (v value) isNumber() bool { return v.kind() == '-' || '0' <= v.kind() && v.kind() <= '9' }

// isBool says whether v is this Boolean.
func (v value) isBool(want bool) bool { return string(v) == strconv.FormatBool(want) }

// is says whether v is this string.
func (v value) is(want string) bool { return v.isString() && string(v.text()) == want }

// one says whether v is the number 1.
func (v value) one() bool {
	if !v.isNumber() {
		return false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return err == nil && f == 1
}

// text is a string as decoded: a part of v where v holds no escape. Of all else it
// is empty.
func (v value) text() []byte {
	if !v.isString() {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, []byte(v)) // checked text
	return b
}

// textBytes is the length of a string as decoded, found without decoding it.
func (v value) textBytes() int {
	rest := v[1 : len(v)-1]
	n := len(rest)
	for {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			return n
		}
		written, decoded := 2, 1
		if rest[at+1] == 'u' {
			r, _ := strconv.ParseUint(string(rest[at+2:at+6]), 16, 16)
			written, decoded = 6, utf8.RuneLen(rune(r))
			if decoded < 0 { // half a surrogate pair; the other half follows
				written, decoded = 12, 4
			}
		}
		n -= written - decoded
		rest = rest[at+written:]
	}
}

// identifier is a string as decoded, if it is a nonempty one without NUL within
// the bound.
func (v value) identifier(most int) ([]byte, bool) {
	text := v.text()
	return text, len(text) > 0 && len(text) <= most && bytes.IndexByte(text, 0) < 0
}

// members yields the members of an object: each name as decoded, and its value.
// What is no object has none.
func (v value) members(yield func(name []byte, member value) bool) {
	in := cursor{doc: v}
	for name := range in.members {
		if !yield(name, in.value()) {
			return
		}
	}
}

// items yields the items of an array. What is no array has none.
func (v value) items(yield func(item value) bool) {
	if !v.isArray() {
		return
	}
	for in := (cursor{doc: v, at: 1}); in.next(']'); {
		if !yield(in.value()) {
			return
		}
	}
}

// member is one member of an object, or a value that is not there.
func (v value) member(name string) value {
	for k, member := range v.members {
		if string(k) == name {
			return member
		}
	}
	return nil
}

// only reads an object whose members are all among names; each appears in the
// result at its name's place.
func (v value) only(names ...string) ([]value, bool) {
	if !v.isObject() {
		return nil, false
	}
	out := make([]value, len(names))
	for k, member := range v.members {
		i := 0
		for i < len(names) && names[i] != string(k) {
			i++
		}
		if i == len(names) {
			return nil, false
		}
		out[i] = member
	}
	return out, true
}
