package appresources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Rule says what a value breaks. It prints as a person reads it.
type Rule string

// The rules a value can break.
const (
	RuleSize      Rule = "must have at most 16384 bytes"
	RuleSyntax    Rule = "must be strict JSON"
	RuleDuplicate Rule = "must not repeat a member"
	RuleObject    Rule = "must be an object"
	RuleUnknown   Rule = "must have no member outside the schema"
	RuleMissing   Rule = "is missing"
	RuleString    Rule = "must be a string"
	RuleBoolean   Rule = "must be a boolean"
	RuleInteger   Rule = "must be an integer without fraction, exponent or -0"
	RuleLength    Rule = "is longer than its maxLength"
	RuleRange     Rule = "is outside its minimum and maximum"
)

// ValueError says why a value does not fit a schema. It names a member of the
// schema, never one of the value's own, and nothing the value holds. Its
// [CodeOf] is invalid_payload.
type ValueError struct {
	Member string // a property of the schema; empty for the value as a whole
	Rule   Rule
}

// Error returns one line for a person.
func (e *ValueError) Error() string {
	if e.Member == "" {
		return "value " + string(e.Rule)
	}
	return fmt.Sprintf("member %s %s", e.Member, e.Rule)
}

// Check reports whether value, as received, is strict JSON that fits the
// schema. The error is a [*ValueError].
func (s *Schema) Check(value []byte) error {
	_, err := s.AppendNormalized(nil, value)
	return err
}

// AppendNormalized checks value as [Schema.Check] does and appends it to dst
// in the daemon's compact form, members in the order in which they came. Both
// the value as received and its compact form may have at most 16,384 bytes:
// an escape may make the one longer than the other, either way.
func (s *Schema) AppendNormalized(dst, value []byte) ([]byte, error) {
	if len(value) > MaxValueBytes {
		return dst, &ValueError{Rule: RuleSize}
	}
	start := len(dst)
	d := jsontext.NewDecoder(bytes.NewBuffer(value))
	if d.PeekKind() != '{' {
		if d.PeekKind() == jsontext.KindInvalid {
			return dst, &ValueError{Rule: RuleSyntax}
		}
		return dst, &ValueError{Rule: RuleObject}
	}
	if _, err := d.ReadToken(); err != nil {
		return dst, syntaxError(err)
	}
	out := append(dst, '{')
	var seen [MaxSchemaProperties]bool
	for n := 0; ; n++ {
		t, err := d.ReadToken()
		if err != nil {
			return dst, syntaxError(err)
		}
		if t.Kind() == '}' {
			break
		}
		i, ok := s.index[t.String()]
		if !ok {
			return dst, &ValueError{Rule: RuleUnknown}
		}
		seen[i] = true
		if n > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, s.properties[i].Name), ':')
		if out, err = s.properties[i].append(out, d); err != nil {
			return dst, err
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return dst, &ValueError{Rule: RuleSyntax}
	}
	for i := range s.properties {
		if !seen[i] {
			return dst, &ValueError{Member: s.properties[i].Name, Rule: RuleMissing}
		}
	}
	out = append(out, '}')
	if len(out)-start > MaxValueBytes {
		return dst, &ValueError{Rule: RuleSize}
	}
	return out, nil
}

func syntaxError(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &ValueError{Rule: RuleDuplicate}
	}
	return &ValueError{Rule: RuleSyntax}
}

// append checks the member's value at which d stands and appends it. A value
// of a wrong kind is refused before it is read, however deep it is.
func (p *Property) append(out []byte, d *jsontext.Decoder) ([]byte, error) {
	kind := d.PeekKind()
	if kind == jsontext.KindInvalid {
		_, err := d.ReadToken()
		return out, syntaxError(err)
	}
	switch {
	case p.Type == TypeString && kind != '"':
		return out, &ValueError{Member: p.Name, Rule: RuleString}
	case p.Type == TypeBoolean && kind != 't' && kind != 'f':
		return out, &ValueError{Member: p.Name, Rule: RuleBoolean}
	case p.Type == TypeInteger && kind != '0':
		return out, &ValueError{Member: p.Name, Rule: RuleInteger}
	}
	v, err := d.ReadValue()
	if err != nil {
		return out, syntaxError(err)
	}
	switch p.Type {
	case TypeInteger:
		return p.appendInteger(out, v)
	case TypeString:
		return p.appendText(out, v)
	}
	return append(out, v...), nil
}

// appendText copies a string that stands as the daemon would write it and
// rewrites any other.
func (p *Property) appendText(out, raw []byte) ([]byte, error) {
	text := raw[1 : len(raw)-1]
	escaped := bytes.IndexByte(text, '\\') >= 0
	if escaped {
		var err error
		if text, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return out, syntaxError(err)
		}
	}
	if len(text) > p.MaxLength && utf8.RuneCount(text) > p.MaxLength {
		return out, &ValueError{Member: p.Name, Rule: RuleLength}
	}
	if escaped || bytes.IndexByte(text, 0x7f) >= 0 || bytes.Contains(text, separators) {
		return appendString(out, string(text)), nil
	}
	return append(out, raw...), nil
}

// separators is how U+2028 and U+2029 begin in UTF-8.
var separators = []byte("\xe2\x80")

func (p *Property) appendInteger(out, raw []byte) ([]byte, error) {
	n, ok := parseInteger(raw)
	if !ok {
		if writtenAsInteger(raw) {
			return out, &ValueError{Member: p.Name, Rule: RuleRange}
		}
		return out, &ValueError{Member: p.Name, Rule: RuleInteger}
	}
	if n < p.Minimum || n > p.Maximum {
		return out, &ValueError{Member: p.Name, Rule: RuleRange}
	}
	return append(out, raw...), nil
}
