package schema0_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

func compile(t testing.TB, schema string) *schema0.Schema {
	t.Helper()
	s, err := schema0.Embedded([]byte(schema))
	require.NoError(t, err, schema)
	return s
}

func TestValidation(t *testing.T) {
	// rule
	for _, c := range []struct{ schema, good, bad string }{
		{`{"type":"integer"}`, `1.0`, `1.5`},
		{`{"type":"integer"}`, `-3e2`, `"1"`},
		{`{"type":["null","boolean"]}`, `null`, `0`},
		{`{"const":1}`, `1.0`, `true`},
		{`{"const":null}`, `null`, `false`},
		{`{"enum":["a",2]}`, `2e0`, `"b"`},
		{`{"minLength":2,"maxLength":2}`, `"🐣é"`, `"🐣"`},
		{`{"maxLength":1}`, `"🐣"`, `"ab"`},
		{`{"minimum":1,"exclusiveMaximum":2}`, `1`, `2`},
		{`{"exclusiveMinimum":1,"maximum":2}`, `2`, `1`},
		{`{"minItems":1,"maxItems":2}`, `[1]`, `[1,2,3]`},
		{`{"minProperties":1,"maxProperties":1}`, `{"a":1}`, `{}`},
		{`{"required":["a"]}`, `{"a":null}`, `{"b":1}`},
		{`{"properties":{"a":false}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"a":1,"b":1}`},
		{`{"additionalProperties":{"type":"number"}}`, `{"x":1}`, `{"x":"1"}`},
		{`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `{"a":1}`},
		{`{"dependentSchemas":{"a":{"minProperties":2}}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`{"prefixItems":[{"const":1}],"items":{"const":2}}`, `[1,2,2]`, `[1,2,1]`},
		{`{"prefixItems":[{"const":1}]}`, `[1,"anything"]`, `[2]`},
		{`{"items":{"type":"number"}}`, `[]`, `["x"]`},
		{`{"contains":{"const":1}}`, `[0,1]`, `[]`},
		{`{"contains":{"const":1},"minContains":0}`, `[]`, ``},
		{`{"contains":{"const":1},"minContains":2,"maxContains":2}`, `[1,1]`, `[1,1,1]`},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `2`, `3`},
		{`{"anyOf":[{"const":1},{"const":2}]}`, `2`, `3`},
		{`{"oneOf":[{"minimum":1},{"maximum":2}]}`, `5`, `2`},
		{`{"not":{"const":1}}`, `2`, `1`},
		{`{"if":{"type":"number"},"then":{"minimum":0},"else":{"type":"string"}}`, `"x"`, `-1`},
		{`{"if":{"type":"number"},"then":{"minimum":0},"else":{"type":"string"}}`, `1`, `null`},
		{`{"then":false,"else":false}`, `1`, ``},
		{`{"$defs":{"n":{"type":"number"}},"$ref":"#/$defs/n","minimum":1}`, `1`, `0`},
		{`{"minLength":5,"minimum":5,"minItems":5,"required":["z"]}`, `true`, ``},
		{`true`, `[]`, ``},
		{`false`, ``, `null`},
	} {
		s := compile(t, c.schema)
		if c.good != "" {
			require.NoError(t, s.Validate([]byte(c.good)), c.schema+" "+c.good)
		}
		if c.bad != "" {
			var invalid *schema0.InvalidError
			require.True(t, errors.As(s.Validate([]byte(c.bad)), &invalid), c.schema+" "+c.bad)
		}
	}
}

func TestFailuresSayWhere(t *testing.T) {
	// rule: R-182
	for _, c := range []struct{ schema, value, instance, at, keyword, missing string }{
		{`{"properties":{"a/b":{"items":{"type":"string"}}}}`, `{"a/b":["x",1],"z":[]}`, "/a~1b/1", "/properties/a~1b/items/type", "type", ""},
		{`{"$defs":{"n":{"minimum":1}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, `{"x":0}`, "/x", "/$defs/n/minimum", "minimum", ""},
		{`{"anyOf":[{"const":1},{"const":2}]}`, `3`, "", "/anyOf", "anyOf", ""},
		{`{"allOf":[true,{"required":["q"]}]}`, `{}`, "", "/allOf/1/required", "required", "q"},
		{`{"required":["p","q","r"]}`, `{"p":1}`, "", "/required", "required", "q"},
		{`{"properties":{"a":{"dependentRequired":{"x":["x","y"]}}}}`, `{"a":{"x":1}}`, "/a", "/properties/a/dependentRequired", "dependentRequired", "y"},
		{`{"properties":{"a":{"properties":{"b":{"const":1}}}}}`, `{"0":{"b":1},"a":{"a":{},"b":2,"c":3}}`, "/a/b", "/properties/a/properties/b/const", "const", ""},
	} {
		var invalid *schema0.InvalidError
		err := compile(t, c.schema).Validate([]byte(c.value))
		require.True(t, errors.As(err, &invalid), c.schema)
		invalid.Wanted = "" // TestWhatDoesNotFitIsSaidInWords
		require.Equal(t, schema0.InvalidError{InstancePointer: c.instance, SchemaPointer: c.at, Keyword: c.keyword, Missing: c.missing}, *invalid)
		require.NotContains(t, err.Error(), "\n")
	}
}

// work finds the units that a validation needs by padding it with a known
// number of further ones until the limit is met.
func work(t *testing.T, schema, value string) int {
	t.Helper()
	// {"prefixItems":[S, P]} over [V, "xxx…"]: the string charges its length.
	fits := func(pad int) bool {
		s := compile(t, `{"prefixItems":[`+schema+`,{"maxLength":9007199254740991}]}`)
		err := s.Validate([]byte(`[` + value + `,"` + strings.Repeat("x", pad) + `"]`))
		return !errors.Is(err, schema0.ErrLimit)
	}
	low, high := 0, schema0.MaxWork
	for low < high {
		middle := (low + high + 1) / 2
		if fits(middle) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	// root pair 1 + prefixItems 2, the pad's pair 1 + maxLength 1.
	return schema0.MaxWork - low - 5
}

func TestWorkIsChargedAsTheSpecificationSays(t *testing.T) {
	// rule
	for _, c := range []struct {
		schema, value string
		units         int
	}{
		{`true`, `1`, 1},
		{`{}`, `1`, 1},
		{`{"type":["null","number"]}`, `1`, 1 + 2},
		{`{"const":1}`, `1`, 1 + 1},
		{`{"enum":[1,2,3]}`, `1`, 1 + 3},
		{`{"allOf":[true,true]}`, `1`, 1 + 2 + 2},
		{`{"anyOf":[true,false,true]}`, `1`, 1 + 3 + 3},
		{`{"oneOf":[true,false]}`, `1`, 1 + 2 + 2},
		{`{"not":false}`, `1`, 1 + 1 + 1},
		{`{"if":true,"then":true}`, `1`, 1 + 1 + 1 + 1 + 1},
		{`{"if":false,"then":true}`, `1`, 1 + 1 + 1},
		{`{"then":true,"else":true}`, `1`, 1},
		{`{"properties":{"a":true,"b":true}}`, `{"a":1}`, 1 + 2 + 1},
		{`{"required":["a","b"]}`, `{"a":1,"b":1}`, 1 + 2},
		{`{"additionalProperties":true,"properties":{"a":true}}`, `{"a":1,"b":1}`, 1 + 1 + 1 + 2 + 1},
		{`{"minProperties":0,"maxProperties":9}`, `{}`, 1 + 2},
		{`{"dependentRequired":{"a":["b","c"],"x":["y"]}}`, `{"a":1,"b":1,"c":1}`, 1 + 2 + 2},
		{`{"dependentSchemas":{"a":true,"x":true}}`, `{"a":1}`, 1 + 2 + 1},
		{`{"prefixItems":[true,true]}`, `[1]`, 1 + 2 + 1},
		{`{"items":true}`, `[1,2,3]`, 1 + 1 + 3},
		{`{"contains":true}`, `[1,2]`, 1 + 2 + 2},
		{`{"contains":true,"minContains":1,"maxContains":9,"minItems":1,"maxItems":9}`, `[1,2]`, 1 + 2 + 2 + 4},
		{`{"minLength":1,"maxLength":9}`, `"é🐣"`, 1 + 2 + 2},
		{`{"minimum":0,"maximum":9,"exclusiveMinimum":0,"exclusiveMaximum":9}`, `1`, 1 + 4},
	} {
		require.Equal(t, c.units, work(t, c.schema, c.value), c.schema)
	}
	// A pair of schema and instance is done once: the second reference charges
	// its own keyword and nothing for the pair.
	shared := compile(t, `{"$defs":{"d":{"maxLength":900000}},"allOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"}]}`)
	require.NoError(t, shared.Validate([]byte(`"`+strings.Repeat("x", 600_000)+`"`)))
	twice := compile(t, `{"allOf":[{"maxLength":900000},{"maxLength":900000}]}`)
	require.ErrorIs(t, twice.Validate([]byte(`"`+strings.Repeat("x", 600_000)+`"`)), schema0.ErrLimit)
}

func TestTooMuchWorkWinsOverInvalid(t *testing.T) {
	// rule: R-179
	s := compile(t, `{"type":"null","maxLength":2}`)
	// 1 pair, 1 type, the length, 1 maxLength.
	at := strings.Repeat("x", schema0.MaxWork-3)
	var invalid *schema0.InvalidError
	require.True(t, errors.As(s.Validate(fmt.Appendf(nil, "%q", at)), &invalid))
	require.ErrorIs(t, s.Validate(fmt.Appendf(nil, "%q", at+"x")), schema0.ErrLimit)
}

func TestValidateRefusesWhatIsNoJSON(t *testing.T) {
	for _, value := range []string{``, `{`, `1 2`, "\"\xff\"", `{"a":1,"a":1}`} {
		require.Error(t, compile(t, `true`).Validate([]byte(value)), value)
	}
}
