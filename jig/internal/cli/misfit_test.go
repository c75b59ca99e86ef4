package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// An input that does not fit says in words what is wrong with it, and where.
func TestAnInputThatDoesNotFitSaysWhatIsWrong(t *testing.T) {
	s, err := schema0.Embedded([]byte(`{
		"type": "object", "required": ["instructions"], "additionalProperties": false,
		"properties": {"instructions": {"type": "string"}, "a": {"dependentRequired": {"x": ["y"]}}, "b": {"oneOf": [{"const": 1}, {"const": 1}]}, "c": {"anyOf": [false]}, "d": {"minLength": 2}}
	}`))
	require.NoError(t, err)
	for input, want := range map[string]string{
		`{}`:                              ": the member instructions is missing (required)",
		`{"instructions":"","extra":1}`:   " at /extra: nothing is allowed there (false)",
		`{"instructions":1}`:              " at /instructions: it is of another type (type)",
		`{"a":{"x":1},"instructions":""}`: " at /a: the member y is missing (dependentRequired)",
		`{"b":1,"instructions":""}`:       " at /b: it is none of what is possible, or more than one (oneOf)",
		`{"c":1,"instructions":""}`:       " at /c: it is none of what is possible (anyOf)",
		`{"d":"x","instructions":""}`:     " at /d (minLength)",
	} {
		r := refusalOf(inputError([]byte(input), s.Validate([]byte(input))))
		require.Equal(t, "the input does not fit the target's contract"+want, r.message, input)
		require.Empty(t, r.hint, input)
	}
}

// Whoever gives a bare word is told how a string is given.
func TestAnInputThatIsNoJSONSaysHowAStringIsGiven(t *testing.T) {
	_, err := json0.Canonical([]byte("Ada"))
	require.Error(t, err)
	r := refusalOf(inputError([]byte("Ada"), err))
	require.Equal(t, codeInputInvalid, r.code)
	require.Contains(t, r.hint, `--input '"text"'`)
}
