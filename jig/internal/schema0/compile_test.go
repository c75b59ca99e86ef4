package schema0_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

func code(t *testing.T, err error) schema0.Code {
	t.Helper()
	var c *schema0.CompileError
	require.True(t, errors.As(err, &c), "%v", err)
	return c.Code
}

func TestUnlistedKeywordsAreRefusedAnywhere(t *testing.T) {
	// rule
	for _, keyword := range []string{
		"pattern", "format", "default", "uniqueItems", "multipleOf", "propertyNames", "patternProperties",
		"unevaluatedItems", "unevaluatedProperties", "$id", "$anchor", "$dynamicRef", "contentEncoding", "deprecated", "nonsense",
	} {
		for _, schema := range []string{
			`{"%s":1}`,
			`{"properties":{"a":{"%s":1}}}`,
			`{"items":{"not":{"%s":1}}}`,
			`{"$defs":{"unused":{"%s":1}}}`,
		} {
			_, err := schema0.Embedded(fmt.Appendf(nil, schema, keyword))
			require.Equal(t, schema0.CodeKeywordUnsupported, code(t, err), schema+keyword)
		}
	}
}

func TestShapesOfKeywords(t *testing.T) {
	// rule
	for _, c := range []struct {
		schema string
		want   schema0.Code
	}{
		{`{"const":{}}`, schema0.CodeInvalid},
		{`{"const":[]}`, schema0.CodeInvalid},
		{`{"enum":[1,[]]}`, schema0.CodeInvalid},
		{`{"enum":[]}`, schema0.CodeInvalid},
		{`{"properties":{"a":{"$defs":{}}}}`, schema0.CodeKeywordUnsupported},
		{`{"$ref":"#/$defs/absent"}`, schema0.CodeReferenceInvalid},
		{`{"$ref":"#"}`, schema0.CodeReferenceInvalid},
		{`{"$ref":"#/properties/a"}`, schema0.CodeReferenceInvalid},
		{`{"$ref":"https://example.org/x"}`, schema0.CodeReferenceInvalid},
		{`{"$ref":"#/$defs/a/b","$defs":{"a":true}}`, schema0.CodeReferenceInvalid},
		{`{"$ref":7}`, schema0.CodeReferenceInvalid},
		{`{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, schema0.CodeReferenceInvalid},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}}}`, schema0.CodeReferenceInvalid},
		{`{"$defs":{"tree":{"properties":{"left":{"$ref":"#/$defs/tree"}}}}}`, schema0.CodeReferenceInvalid},
		{`{"$defs":{"unused":{"$ref":"#/$defs/absent"}}}`, schema0.CodeReferenceInvalid},
		{`{"$defs":[]}`, schema0.CodeInvalid},
		{`{"allOf":[]}`, schema0.CodeInvalid},
		{`{"anyOf":[]}`, schema0.CodeInvalid},
		{`{"oneOf":[]}`, schema0.CodeInvalid},
		{`{"prefixItems":[]}`, schema0.CodeInvalid},
		{`{"required":["a","a"]}`, schema0.CodeInvalid},
		{`{"required":[1]}`, schema0.CodeInvalid},
		{`{"type":"float"}`, schema0.CodeInvalid},
		{`{"type":[]}`, schema0.CodeInvalid},
		{`{"type":["string","string"]}`, schema0.CodeInvalid},
		{`{"minLength":-1}`, schema0.CodeInvalid},
		{`{"minLength":1.5}`, schema0.CodeInvalid},
		{`{"minimum":"1"}`, schema0.CodeInvalid},
		{`{"title":1}`, schema0.CodeInvalid},
		{`{"examples":{}}`, schema0.CodeInvalid},
		{`{"dependentRequired":{"a":["b","b"]}}`, schema0.CodeInvalid},
		{`{"dependentSchemas":[]}`, schema0.CodeInvalid},
		{`[]`, schema0.CodeInvalid},
		{`"x"`, schema0.CodeInvalid},
		{`{`, schema0.CodeInvalidJSON},
		{`{"a":1,"a":2}`, schema0.CodeInvalidJSON},
		{`{} {}`, schema0.CodeInvalidJSON},
	} {
		_, err := schema0.Embedded([]byte(c.schema))
		require.Equal(t, c.want, code(t, err), c.schema)
	}
	for _, schema := range []string{
		`true`, `false`, `{}`, `{"const":null}`, `{"required":[]}`, `{"minItems":1.0}`, `{"then":false}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":true},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}`,
		`{"$ref":"#/$defs/a","type":"string","$defs":{"a":{"minLength":1}},"$comment":"c","title":"t","description":"d","examples":[1]}`,
	} {
		_, err := schema0.Embedded([]byte(schema))
		require.NoError(t, err, schema)
	}
}

func TestOnlyAStandaloneSchemaNamesItsDialect(t *testing.T) {
	// rule: R-176
	_, err := schema0.Standalone([]byte(`{"$schema":"` + schema0.SettingsSchema + `","type":"object"}`))
	require.NoError(t, err)
	for _, schema := range []string{`{}`, `true`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{"$schema":1}`} {
		_, err := schema0.Standalone([]byte(schema))
		require.Error(t, err, schema)
	}
	set, err := schema0.NewSet(nil, "")
	require.NoError(t, err)
	_, err = set.Compile([]byte(`{"$schema":"`+schema0.SettingsSchema+`"}`), "/input")
	require.Equal(t, schema0.CodeKeywordUnsupported, code(t, err))
	for _, value := range []string{`"` + schema0.SettingsSchema + `"`, `42`, `null`} {
		for _, schema := range []string{`{"$schema":%s}`, `{"$defs":{},"$schema":%s}`, `{"$defs":{"a":{"$schema":%s}}}`, `{"items":{"$schema":%s}}`} {
			_, err := schema0.Embedded(fmt.Appendf(nil, schema, value))
			require.Equal(t, schema0.CodeKeywordUnsupported, code(t, err), schema+value)
			require.ErrorContains(t, err, "/$schema", schema+value)
		}
		_, err := schema0.Standalone(fmt.Appendf(nil, `{"$schema":"`+schema0.SettingsSchema+`","items":{"$schema":%s}}`, value))
		require.Equal(t, schema0.CodeKeywordUnsupported, code(t, err), value)
	}
	// Both kinds may hold definitions of their own.
	_, err = schema0.Embedded([]byte(`{"$defs":{"a":true},"$ref":"#/$defs/a"}`))
	require.NoError(t, err)
	_, err = schema0.Standalone([]byte(`{"$schema":"` + schema0.SettingsSchema + `","$defs":{"a":true},"$ref":"#/$defs/a"}`))
	require.NoError(t, err)
}

func TestLimitsOfASet(t *testing.T) {
	// rule: R-178
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"not":`, depth-1) + `true` + strings.Repeat(`}`, depth-1))
	}
	_, err := schema0.Embedded(nested(schema0.MaxDepth))
	require.NoError(t, err)
	_, err = schema0.Embedded(nested(schema0.MaxDepth + 1))
	require.Equal(t, schema0.CodeLimitExceeded, code(t, err))

	// A reference is not followed for the depth.
	_, err = schema0.Embedded([]byte(`{"$defs":{"d":` + string(nested(schema0.MaxDepth)) + `},"$ref":"#/$defs/d"}`))
	require.NoError(t, err)

	nodes := func(n int) []byte { return []byte(`{"allOf":[true` + strings.Repeat(`,true`, n-2) + `]}`) }
	_, err = schema0.Embedded(nodes(schema0.MaxNodes))
	require.NoError(t, err)
	_, err = schema0.Embedded(nodes(schema0.MaxNodes + 1))
	require.Equal(t, schema0.CodeLimitExceeded, code(t, err))

	padded := func(n int) []byte { return []byte(`{"title":"` + strings.Repeat("x", n-12) + `"}`) }
	_, err = schema0.Embedded(padded(schema0.MaxBytes))
	require.NoError(t, err)
	_, err = schema0.Embedded(padded(schema0.MaxBytes + 1))
	require.Equal(t, schema0.CodeLimitExceeded, code(t, err))

	// The limits are shared over the schemas of a set.
	for _, half := range [][]byte{nodes(schema0.MaxNodes/2 + 1), padded(schema0.MaxBytes/2 + 1)} {
		set, err := schema0.NewSet([]byte(`{}`), "/$defs")
		require.NoError(t, err)
		_, err = set.Compile(half, "/input")
		require.NoError(t, err)
		if _, err = set.Compile(half, "/result"); err == nil {
			err = set.Seal()
		}
		require.Equal(t, schema0.CodeLimitExceeded, code(t, err))
	}
}

func TestDefinitionsCountAmongTheBytesOfASet(t *testing.T) {
	// rule: R-178
	defs := `{"a":{"title":"` + strings.Repeat("x", schema0.MaxBytes/2) + `"}}`
	padded := func(n int) string { return `{"title":"` + strings.Repeat("x", n-12) + `"}` }
	for over := -1; over <= 1; over++ {
		set, err := schema0.NewSet([]byte(defs), "/$defs")
		require.NoError(t, err)
		_, err = set.Compile([]byte(padded(1000)), "/input")
		require.NoError(t, err)
		_, err = set.Compile([]byte(padded(schema0.MaxBytes-len(defs)-1000+over)), "/result")
		require.NoError(t, err)
		if err := set.Seal(); over > 0 {
			require.Equal(t, schema0.CodeLimitExceeded, code(t, err))
		} else {
			require.NoError(t, err, over)
		}
	}
}

func FuzzCompileAndValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"minLength":1}},"required":["a"]}`), []byte(`{"a":""}`))
	f.Add([]byte(`{"$defs":{"a":{"oneOf":[{"const":1},{"enum":[2]}]}},"items":{"$ref":"#/$defs/a"},"contains":true}`), []byte(`[1,2,3]`))
	f.Add([]byte(`{"if":{"type":"number"},"then":{"minimum":0},"else":false}`), []byte(`-1`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := schema0.Embedded(schema)
		if err != nil {
			code(t, err)
			return
		}
		err = s.Validate(value)
		again := s.Validate(value)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(again))
	})
}
