package contract_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// A part of another form is named, with what is expected there.
func TestAPartOfAnotherFormIsNamed(t *testing.T) {
	const needed = ` is needed, such as {} or {"contract": "./contract.json"}, not `
	for raw, want := range map[string]string{
		`[]`:                              "an object is needed, not an array",
		`{"name":3}`:                      "at /name: a string is needed, not a number",
		`{"uses":["a"]}`:                  `at /uses: an object with a member for each slot is needed, such as {"helper": {}}, not an array`,
		`{"uses":{"a":"./c.json"}}`:       "at /uses/a: an object" + needed + "a string",
		`{"uses":{"a":true}}`:             "at /uses/a: an object" + needed + "a Boolean",
		`{"uses":{"a":{"contrat":"x"}}}`:  "at /uses/a/contrat: this member is not known here; it can be contract, requires",
		`{"uses":{"a":{"requires":[1]}}}`: "at /uses/a/requires/0: a string is needed, not a number",
		`{"uses":{"A_b":{}}}`:             "at /uses/A_b: a slot's name is lower-case words joined by single hyphens",
		`{"metadata":{"a/b":1}}`:          "at /metadata/a~1b: a string is needed, not a number",
	} {
		_, err := contract.ParseMetadata([]byte(raw))
		require.EqualError(t, err, want, raw)
	}
	for member, want := range map[string]string{
		`"inputs":{}`:                          "at /inputs: this member is not known here; it can be $defs, $schema, attachments, channels, features, id, input, operations, outcomes, result, version",
		`"outcomes":["a"]`:                     `at /outcomes: an object from an outcome's name to its meaning is needed, such as {"blocked": "It could not go on."}, not an array`,
		`"outcomes":{"a":1}`:                   "at /outcomes/a: a string is needed, not a number",
		`"outcomes":{"A":"x"}`:                 "at /outcomes/A: a name is lower-case words joined by single hyphens",
		`"channels":[]`:                        `at /channels: an object with a member for each channel is needed, such as {"events": {"direction": "send"}}, not an array`,
		`"channels":{"events":{"dir":"send"}}`: "at /channels/events/dir: this member is not known here; it can be contract, delivery, direction, required, schema, start",
		`"channels":{"events":{"direction":"send","required":"no"}}`: "at /channels/events/required: true or false is needed, not a string",
		`"input":{"pattern":"x"}`:                                    "at /input/pattern: this keyword is not part of Schema/0 (SCHEMA_KEYWORD_UNSUPPORTED)",
		`"input":{"properties":{"a":{"$ref":"#/$defs/no"}}}`:         "at /input/properties/a/$ref: there is no definition no in $defs (SCHEMA_REFERENCE_INVALID)",
		`"input":{"minLength":"1"}`:                                  "at /input/minLength: minLength is a whole number from 0 (SCHEMA_INVALID)",
	} {
		require.EqualError(t, refused(t, invocationHead+","+member+"}"), want, member)
	}
}

// A channel descriptor is named: where it cannot be read, and where it is wrong.
func TestAChannelDescriptorIsNamed(t *testing.T) {
	parse := func(load func(string) ([]byte, error)) error {
		_, err := contract.ParseInvocation([]byte(invocationHead+`,"channels":{"events":{"direction":"send","contract":"./channels/e.json"}}}`), load)
		return err
	}
	err := parse(func(string) ([]byte, error) { return nil, errors.New("no luck") })
	require.EqualError(t, err, "at /channels/events/contract: the channel descriptor ./channels/e.json cannot be read: no luck")
	err = parse(func(string) ([]byte, error) { return []byte(`{"item":1,"name":2}`), nil })
	require.ErrorContains(t, err, "channels/e.json: at /name: this member is not known here")
	var e *contract.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "channels/e.json", e.File)
}

// What has another outcome than the contract declares is told which there are.
func TestDeclaredOutcomesAreNamed(t *testing.T) {
	i := parse(t, invocationHead+`,"outcomes":{"blocked":"x","asked":"y"}}`)
	_, err := i.CheckResult([]byte(`{"outcome":"other","output":1}`))
	require.ErrorIs(t, err, contract.ErrOutcome)
	require.ErrorContains(t, err, ": done, asked, blocked")
}
