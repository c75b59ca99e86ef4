package appresources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Contract is what a tool's source says: the schemas of its arguments and of
// its result, and how long one execution may take. It never changes and is
// safe for concurrent use.
type Contract struct {
	Input   *Schema
	Output  *Schema
	Timeout time.Duration // whole milliseconds
}

// ParseContract reads a tool's source: one strict JSON object with exactly
// input_schema, output_schema and optionally timeout_ms (seed: Captured
// sources; Callback bounds). The error is an [*Error] that says where and
// which rule, by position; it quotes nothing of the source. The caller bounds
// the size.
func ParseContract(source []byte) (*Contract, error) {
	p := contractParser{d: jsontext.NewDecoder(bytes.NewBuffer(source))}
	c, err := p.contract()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

type contractParser struct {
	d *jsontext.Decoder
}

// spot is a place in a source, worded only when something is wrong there.
type spot struct {
	schema   string // a member of the source
	property int    // counted from 1; 0 for the schema itself
	member   string // optional
}

func (s spot) String() string {
	text := s.schema
	if s.property > 0 {
		text = fmt.Sprintf("%s property %d", text, s.property)
	}
	if s.member != "" {
		text += " " + s.member
	}
	return text
}

func (s spot) in(member string) spot {
	s.member = member
	return s
}

// syntax words a decoder's error without its text, which quotes the source.
func (p *contractParser) syntax(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid("tool source: duplicate member at byte %d", p.d.InputOffset())
	}
	return invalid("tool source: not strict JSON at byte %d", p.d.InputOffset())
}

func (p *contractParser) end() error {
	if _, err := p.d.ReadToken(); err != io.EOF {
		return invalid("tool source: data after the object at byte %d", p.d.InputOffset())
	}
	return nil
}

// object reads an object and calls member with each name, the decoder standing
// before the value. names are the members allowed; required those that must
// come.
func (p *contractParser) object(at spot, member func(name string) error) error {
	if p.d.PeekKind() != '{' {
		return p.wrongKind(at, "an object")
	}
	if _, err := p.d.ReadToken(); err != nil {
		return p.syntax(err)
	}
	for {
		t, err := p.d.ReadToken()
		if err != nil {
			return p.syntax(err)
		}
		if t.Kind() == '}' {
			return nil
		}
		if err := member(t.String()); err != nil {
			return err
		}
	}
}

// wrongKind tells a value of another kind from one that is no JSON.
func (p *contractParser) wrongKind(at spot, want string) error {
	if k := p.d.PeekKind(); k == jsontext.KindInvalid {
		_, err := p.d.ReadToken()
		return p.syntax(err)
	}
	return invalid("tool source: %s must be %s", at, want)
}

func (p *contractParser) contract() (*Contract, error) {
	c := &Contract{Timeout: DefaultTimeout}
	err := p.object(spot{schema: "the source"}, func(name string) (err error) {
		switch name {
		case "input_schema":
			c.Input, err = p.schema(spot{schema: name})
		case "output_schema":
			c.Output, err = p.schema(spot{schema: name})
		case "timeout_ms":
			var ms int64
			ms, err = p.integer(spot{schema: name}, MinTimeout.Milliseconds(), MaxTimeout.Milliseconds())
			c.Timeout = time.Duration(ms) * time.Millisecond
		default:
			err = invalid("tool source: has a member other than input_schema, output_schema, timeout_ms")
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case c.Input == nil:
		return nil, invalid("tool source: input_schema is missing")
	case c.Output == nil:
		return nil, invalid("tool source: output_schema is missing")
	}
	return c, nil
}

func (p *contractParser) schema(at spot) (*Schema, error) {
	var (
		properties         []Property
		required           []string
		hasType, hasClosed bool
		hasProperties      bool
		hasRequired        bool
	)
	err := p.object(at, func(name string) (err error) {
		switch name {
		case "type":
			hasType = true
			err = p.literal(at.in("type"), "object")
		case "additionalProperties":
			hasClosed = true
			if p.d.PeekKind() != 'f' {
				return p.wrongKind(at.in("additionalProperties"), "false")
			}
			if _, err = p.d.ReadToken(); err != nil {
				err = p.syntax(err)
			}
		case "properties":
			hasProperties = true
			properties, err = p.properties(at)
		case "required":
			hasRequired = true
			required, err = p.required(at)
		default:
			err = invalid("tool source: %s has a member other than type, additionalProperties, properties, required", at)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		has  bool
		name string
	}{{hasType, "type"}, {hasClosed, "additionalProperties"}, {hasProperties, "properties"}, {hasRequired, "required"}} {
		if !m.has {
			return nil, invalid("tool source: %s has no %s", at, m.name)
		}
	}
	s := newSchema(properties, required)
	seen := make(map[string]bool, len(required))
	for i, name := range required {
		if _, ok := s.index[name]; !ok || seen[name] {
			return nil, invalid("tool source: %s required entry %d is repeated or names no property", at, i+1)
		}
		seen[name] = true
	}
	if len(required) != len(properties) {
		return nil, invalid("tool source: %s required must name every property", at)
	}
	return s, nil
}

func (p *contractParser) properties(at spot) ([]Property, error) {
	properties := []Property{}
	err := p.object(at.in("properties"), func(name string) error {
		if len(properties) == MaxSchemaProperties {
			return invalid("tool source: %s has more than %d properties", at, MaxSchemaProperties)
		}
		at := spot{schema: at.schema, property: len(properties) + 1}
		if !propertyName(name) {
			return invalid("tool source: %s: a name has 1 to %d of [A-Za-z0-9_] and does not start with a digit", at, MaxNameBytes)
		}
		q, err := p.property(at)
		q.Name = name
		properties = append(properties, q)
		return err
	})
	return properties, err
}

func propertyName(name string) bool {
	if len(name) == 0 || len(name) > MaxNameBytes {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// property reads one property's schema. Members may come in any order, so the
// keywords are judged when all are known.
func (p *contractParser) property(at spot) (Property, error) {
	var q Property
	var length, minimum, maximum bool
	err := p.object(at, func(name string) (err error) {
		switch name {
		case "type":
			q.Type, err = p.propertyType(at)
		case "maxLength":
			length = true
			var n int64
			n, err = p.integer(at.in("maxLength"), 1, MaxStringLength)
			q.MaxLength = int(n)
		case "minimum":
			minimum = true
			q.Minimum, err = p.integer(at.in("minimum"), -MaxSafeInteger, MaxSafeInteger)
		case "maximum":
			maximum = true
			q.Maximum, err = p.integer(at.in("maximum"), -MaxSafeInteger, MaxSafeInteger)
		default:
			err = invalid("tool source: %s has a keyword outside the subset", at)
		}
		return err
	})
	if err != nil {
		return q, err
	}
	switch q.Type {
	case TypeString:
		if !length || minimum || maximum {
			return q, invalid("tool source: %s: a string has exactly type and maxLength", at)
		}
	case TypeBoolean:
		if length || minimum || maximum {
			return q, invalid("tool source: %s: a boolean has exactly type", at)
		}
	case TypeInteger:
		if length || !minimum || !maximum {
			return q, invalid("tool source: %s: an integer has exactly type, minimum and maximum", at)
		}
		if q.Minimum > q.Maximum {
			return q, invalid("tool source: %s: minimum is above maximum", at)
		}
	default:
		return q, invalid("tool source: %s has no type", at)
	}
	return q, nil
}

func (p *contractParser) propertyType(at spot) (PropertyType, error) {
	s, err := p.str(at.in("type"))
	if err != nil {
		return "", err
	}
	switch t := PropertyType(s); t {
	case TypeString, TypeBoolean, TypeInteger:
		return t, nil
	}
	return "", invalid("tool source: %s type must be string, boolean or integer", at)
}

func (p *contractParser) required(at spot) ([]string, error) {
	if p.d.PeekKind() != '[' {
		return nil, p.wrongKind(at.in("required"), "an array of strings")
	}
	if _, err := p.d.ReadToken(); err != nil {
		return nil, p.syntax(err)
	}
	names := []string{}
	for p.d.PeekKind() != ']' {
		if len(names) == MaxSchemaProperties {
			return nil, invalid("tool source: %s requires more than %d properties", at, MaxSchemaProperties)
		}
		s, err := p.str(at.in("required"))
		if err != nil {
			return nil, err
		}
		names = append(names, s)
	}
	if _, err := p.d.ReadToken(); err != nil {
		return nil, p.syntax(err)
	}
	return names, nil
}

func (p *contractParser) literal(at spot, want string) error {
	s, err := p.str(at)
	if err == nil && s != want {
		err = invalid("tool source: %s must be %s", at, want)
	}
	return err
}

func (p *contractParser) str(at spot) (string, error) {
	if p.d.PeekKind() != '"' {
		return "", p.wrongKind(at, "a string")
	}
	t, err := p.d.ReadToken()
	if err != nil {
		return "", p.syntax(err)
	}
	return t.String(), nil
}

func (p *contractParser) integer(at spot, low, high int64) (int64, error) {
	if p.d.PeekKind() != '0' {
		return 0, p.wrongKind(at, "an integer")
	}
	v, err := p.d.ReadValue()
	if err != nil {
		return 0, p.syntax(err)
	}
	n, ok := parseInteger(v)
	if !ok || n < low || n > high {
		return 0, invalid("tool source: %s must be an integer of %d to %d, without fraction, exponent or -0", at, low, high)
	}
	return n, nil
}
