package schema0_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// What does not fit is said in words: what is wrong and what the schema wants.
func TestWhatDoesNotFitIsSaidInWords(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"string"}`, `1`, "it is of another type; wanted is string"},
		{`{"type":["string","null","object"]}`, `1`, "it is of another type; wanted is string, null or object"},
		{`{"enum":["a",1,true,null]}`, `2`, `it is another value; wanted is "a", 1, true or null`},
		{`{"const":"done"}`, `"x"`, `it is another value; wanted is "done"`},
		{`{"required":["a"]}`, `{}`, "the member a is missing"},
		{`{"properties":{"b":true,"a":true},"additionalProperties":false}`, `{"c":1}`, "there is no such member; it can be a or b"},
		{`{"additionalProperties":false}`, `{"c":1}`, "nothing is allowed there"},
		{`{"items":false}`, `[1]`, "nothing is allowed there"},
		{`{"minLength":2}`, `"x"`, "it has fewer characters than 2"},
		{`{"maxItems":1}`, `[1,2]`, "it has more items than 1"},
		{`{"maxProperties":0}`, `{"a":1}`, "it has more members than 0"},
		{`{"minimum":1.5}`, `1`, "it is less than 1.5"},
		{`{"exclusiveMaximum":3}`, `3`, "it is not less than 3"},
		{`{"contains":{"const":1}}`, `[2]`, "no item is what one has to be"},
		{`{"contains":{"const":1},"minContains":2}`, `[1]`, "it has fewer fitting items than 2"},
		{`{"anyOf":[false]}`, `1`, "it is none of what is possible"},
		{`{"oneOf":[{"const":1},{"const":2}]}`, `3`, "it is none of what is possible"},
		{`{"oneOf":[{"const":1},{"type":"number"}]}`, `1`, "it is more than one of what is possible, where one is wanted"},
		{`{"not":{}}`, `1`, "it is what it must not be"},
	} {
		var invalid *schema0.InvalidError
		require.True(t, errors.As(compile(t, c.schema).Validate([]byte(c.value)), &invalid), c.schema)
		require.Equal(t, c.want, invalid.Words(), c.schema)
		require.Contains(t, invalid.Error(), c.want)
	}
	var invalid *schema0.InvalidError
	long := compile(t, `{"enum":["`+strings.Repeat("ä", 5000)+`"]}`)
	require.True(t, errors.As(long.Validate([]byte(`1`)), &invalid))
	require.Less(t, len(invalid.Words()), 300, "a message is bounded")
}
