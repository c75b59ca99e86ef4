package appresources

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Whatever ParseContract accepts is JSON to an independent reader, reads back
// from its own encoding as itself, and lies inside the closed subset.
func FuzzParseContract(f *testing.F) {
	for _, s := range []string{
		plainTool, source(one(`{"type":"boolean"}`), `,"timeout_ms":1000`), source(one(`{"type":"string","maxLength":4096}`), ""),
		source(one(`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`), ""), source(manyProperties(32), ""),
		source(manyProperties(33), ""), source(one(`{"type":"integer","minimum":0,"maximum":839e89}`), ""),
		source(one(`{"type":"integer","minimum":-0,"maximum":1.0}`), ""), source(emptySchema, `,"timeout_ms":1e3`),
		source(emptySchema, `,"timeout_ms":1000,"timeout_m\u0073":1000`), `{"input_schema":{"type":"object"`, "\ufeff{}", "[]", "",
		source(one(emptySchema), ""), plainTool + "{}", source(one(`{"type":"boolean","\ud800":1}`), ""),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseContract(text)
		if err != nil {
			if c != nil || CodeOf(err) != CodeInvalidPayload || len(err.Error()) > 300 {
				t.Fatalf("%v", err)
			}
			return
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("accepted what is no JSON: %q", text)
		}
		if c.Timeout < MinTimeout || c.Timeout > MaxTimeout || c.Timeout%1e6 != 0 {
			t.Fatalf("timeout %v", c.Timeout)
		}
		for _, s := range []*Schema{c.Input, c.Output} {
			encoded := s.Encoded()
			if !jsontext.Value(encoded).IsValid() || len(encoded) > len(text) {
				t.Fatalf("encoded %s", encoded)
			}
			again, err := ParseContract([]byte(source(string(encoded), "")))
			if err != nil || !bytes.Equal(again.Input.Encoded(), encoded) {
				t.Fatalf("%s does not read back: %v", encoded, err)
			}
			if len(s.properties) > MaxSchemaProperties || len(s.properties) != len(s.index) {
				t.Fatalf("%d properties", len(s.properties))
			}
			for _, p := range s.properties {
				ok := p.Type == TypeBoolean && p == Property{Name: p.Name, Type: TypeBoolean} ||
					p.Type == TypeString && 1 <= p.MaxLength && p.MaxLength <= MaxStringLength && p.Minimum == 0 && p.Maximum == 0 ||
					p.Type == TypeInteger && -MaxSafeInteger <= p.Minimum && p.Minimum <= p.Maximum && p.Maximum <= MaxSafeInteger && p.MaxLength == 0
				if !ok || !propertyName(p.Name) {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}

// Whatever a schema accepts, an independent reader finds to fit as well, and
// its normalized form says the same and is its own normalized form.
func FuzzCheckValue(f *testing.F) {
	c, err := ParseContract([]byte(source(mixed, "")))
	if err != nil {
		f.Fatal(err)
	}
	s := c.Input
	for _, v := range []string{
		`{"text":"ab","flag":true,"count":10}`, ` { "count" : -10 , "flag":false, "text": "\u2028\u007f" } `, `{"text":"🎈🎈🎈🎈","flag":true,"count":0}`,
		`{"text":"a","flag":true,"count":1e0}`, `{"text":"a","flag":true,"count":-0}`, `{"text":"a","flag":true,"count":839e89}`,
		`{"text":"a","flag":true,"count":1,"count":1}`, `{"text":"\ud83c\udf88","flag":true,"count":1}`, `{"text":"\ud83c","flag":true,"count":1}`,
		`{}`, `[]`, `null`, `""`, ``, `{"text":"a","flag":true,"count":1}{}`, "\ufeff{}", `{"text":"abcde","flag":true,"count":11}`,
	} {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		kept := bytes.Clone(value)
		out, err := s.AppendNormalized(nil, value)
		if !bytes.Equal(kept, value) {
			t.Fatal("the value was changed")
		}
		if err != nil {
			if CodeOf(err) != CodeInvalidPayload {
				t.Fatal(err)
			}
			return
		}
		want, got := decode(t, value), decode(t, out)
		if len(want) != 3 || len(got) != 3 {
			t.Fatalf("%q has %d members", value, len(want))
		}
		text, isText := want["text"].(string)
		_, isFlag := want["flag"].(bool)
		number, isNumber := want["count"].(json.Number)
		if !isText || !isFlag || !isNumber || utf8.RuneCountInString(text) > 4 {
			t.Fatalf("accepted %q", value)
		}
		n, ok := new(big.Int).SetString(number.String(), 10)
		if !ok || !n.IsInt64() || n.Int64() < -10 || n.Int64() > 10 || n.String() != number.String() {
			t.Fatalf("accepted the number %s", number)
		}
		for k := range want {
			if want[k] != got[k] {
				t.Fatalf("%q became %q", value, out)
			}
		}
		again, err := s.AppendNormalized(nil, out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q is not its own normal form: %q %v", out, again, err)
		}
	})
}

func decode(t *testing.T, raw []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatalf("accepted what is no JSON: %q", raw)
	}
	return out
}
