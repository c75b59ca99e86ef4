package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
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
		`{"instructions":"","extra":1}`:   " at /extra: there is no such member; it can be a, b, c, d or instructions (false)",
		`{"instructions":1}`:              " at /instructions: it is of another type; wanted is string (type)",
		`{"a":{"x":1},"instructions":""}`: " at /a: the member y is missing (dependentRequired)",
		`{"b":1,"instructions":""}`:       " at /b: it is more than one of what is possible, where one is wanted (oneOf)",
		`{"c":1,"instructions":""}`:       " at /c: it is none of what is possible (anyOf)",
		`{"d":"x","instructions":""}`:     " at /d: it has fewer characters than 2 (minLength)",
	} {
		r := refusalOf(inputError([]byte(input), s.Validate([]byte(input))))
		require.Equal(t, "the input does not fit the target's contract"+want, r.message, input)
		require.Empty(t, r.hint, input)
	}
}

// Whoever gives what is no JSON is told where, and how what they meant is written.
func TestAnInputThatIsNoJSONSaysHowItIsGiven(t *testing.T) {
	for input, want := range map[string][2]string{
		"Ada":           {"no value begins like this, at line 1, column 1", `a string is JSON only in its quotes: --input '"text"'`},
		"{title:1}":     {"a member name is missing, at line 1, column 2", `--input '{"name": "text"}'`},
		"[1,]":          {"no value begins like this, at line 1, column 4", `--input '["text", 1]'`},
		"\"a":           {"a string is not closed, at line 1, column 3", "the shell needs the outer quotes"},
		"":              {"a value is missing, at line 1, column 1", "without --input the input is {}"},
		`{"a":1,"a":2}`: {"duplicate member name: this member was there before, at line 1, column 8", ""},
	} {
		_, err := json0.Canonical([]byte(input))
		require.Error(t, err, input)
		r := refusalOf(inputError([]byte(input), err))
		require.Equal(t, codeInputInvalid, r.code, input)
		require.Equal(t, "the input is not JSON that a Flow can take: "+want[0], r.message, input)
		require.Contains(t, r.hint, want[1], input)
		require.Equal(t, want[1] == "", r.hint == "", input)
	}
}

// A file that cannot be read is named, with the reason.
func TestAnInputFileThatCannotBeReadIsNamed(t *testing.T) {
	var a app
	dir := t.TempDir()
	for name, want := range map[string]string{
		"":                   "the input file has no name: write one behind the @",
		dir:                  "the input file " + dir + " cannot be read: it is a folder",
		dir + "/nope.json":   "the input file " + dir + "/nope.json cannot be read: there is no such file",
		dir + "/nope/x.json": "the input file " + dir + "/nope/x.json cannot be read: there is no such file",
	} {
		_, err := a.readFile(name)
		require.Equal(t, want, refusalOf(err).message)
	}
}

// Whoever listens to a channel that is not there is told which there are.
func TestAChannelThatNothingIsSentOnIsAnsweredWithThoseThereAre(t *testing.T) {
	ports := map[string]contract.Port{"b": {Direction: contract.Send}, "a": {Direction: contract.Send}, "in": {Direction: contract.Receive}}
	require.Equal(t, "it sends on a, b", sending(ports))
	delete(ports, "a")
	delete(ports, "b")
	require.Equal(t, "its FLOW.contract.json declares no channel that it sends on", sending(ports))
}
