package schema0

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// kind is the type of a JSON value, in the words of the type keyword.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
)

// value is a JSON value whose every node has a number of its own, so that a
// pair of schema and instance can be remembered.
type value struct {
	id     int
	kind   kind
	truth  bool
	number float64
	text   string
	items  []*value
	names  []string // of an object, in byte order
	member map[string]*value
}

// parse reads one document. The caller has checked it as JSON/0; what jsontext
// itself refuses is refused here too.
func parse(raw []byte) (*value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	next := 0
	v, err := read(d, &next)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("data after the value")
	}
	return v, nil
}

func read(d *jsontext.Decoder, next *int) (*value, error) {
	v := &value{id: *next}
	*next++
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		v.kind = kindNull
	case 't', 'f':
		v.kind, v.truth = kindBoolean, token.Bool()
	case '"':
		v.kind, v.text = kindString, token.String()
	case '0':
		v.kind = kindNumber
		if v.number, err = strconv.ParseFloat(token.String(), 64); err != nil {
			return nil, err
		}
	case '[':
		v.kind = kindArray
		for d.PeekKind() != ']' {
			item, err := read(d, next)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		_, err = d.ReadToken()
	case '{':
		v.kind, v.member = kindObject, map[string]*value{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if v.member[key], err = read(d, next); err != nil {
				return nil, err
			}
			v.names = append(v.names, key)
		}
		slices.Sort(v.names)
		_, err = d.ReadToken()
	default:
		return nil, errors.New("not a JSON value")
	}
	return v, err
}

// equalScalar compares two scalars; numbers by value.
func equalScalar(a, b *value) bool {
	return a.kind == b.kind && a.kind < kindArray && a.truth == b.truth && a.number == b.number && a.text == b.text
}
