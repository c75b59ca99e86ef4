package appresources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: 26 openai/codex#24808 - overrides sent after a reconnect were accepted and ignored
// rule: A-010
func TestComplaint26Codex24808(t *testing.T) {
	f := newFixture(t, Limits{})
	f.set.Claim("s", 0)
	first := f.skill("s", "style", "", "old")
	second := f.skill("s", "style", first.Entry.RevisionID, "new")
	f.set.Claim("s", 0) // another controller takes over with what it knew before
	before := f.list("s")
	_, err := f.set.Register("s", Registration{
		Kind: KindSkill, Name: "style", ExpectedRevision: first.Entry.RevisionID, By: by(2),
	}, "newer", 0)
	requireCode(t, CodeConflict, err)
	require.Equal(t, before, f.list("s"))
	require.Equal(t, second.RegistryRevision, before.RegistryRevision)
}

// complaint: 44 charmbracelet/fantasy#223 - arguments that were no JSON were dropped, or the tool ran with none
// rule: A-178
func TestComplaint44Fantasy223(t *testing.T) {
	for _, s := range []*Schema{schema(t, emptySchema), schema(t, one(`{"type":"boolean"}`))} {
		for _, value := range []string{
			``, `""`, `null`, `[]`, `"x"`, `{"a":1}{"b":2}`, `{"p":true,}`, `{"p":NaN}`, `{"p":true}{}`,
			strings.Repeat(" ", MaxValueBytes-1) + "{}", strings.Repeat(`{"p":`, 10_000), strings.Repeat("[", 10_000),
			`{"p":` + strings.Repeat("[", 8_000) + strings.Repeat("]", 8_000) + `}`,
		} {
			require.Error(t, s.Check([]byte(value)), "%.20s", value)
		}
	}
}

// complaint: 61 tidwall/gjson#393 - two parsers read a duplicate or case-variant key differently
// rule
func TestComplaint61Gjson393(t *testing.T) {
	s := schema(t, `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":0,"maximum":9},`+
		`"name":{"type":"string","maxLength":9}},"required":["a","name"]}`)
	require.NoError(t, s.Check([]byte(`{"a":1,"name":"x"}`)))
	requireValue(t, "", RuleDuplicate, s.Check([]byte(`{"a":1,"a":2,"name":"x"}`)))
	requireValue(t, "", RuleDuplicate, s.Check([]byte(`{"a":1,"\u0061":2,"name":"x"}`)))
	requireValue(t, "", RuleUnknown, s.Check([]byte(`{"a":1,"Name":"x","name":"y"}`)))
	requireValue(t, "", RuleUnknown, s.Check([]byte(`{"a":1,"Name":"x"}`)))
	requireRefused(t, source(emptySchema, `,"timeout_ms":1000,"timeout_ms":2000`))
	requireRefused(t, source(emptySchema, `,"timeout_ms":1000,"\u0074imeout_ms":2000`))
	requireRefused(t, source(emptySchema, `,"Timeout_ms":1000`))
	requireRefused(t, source(emptySchema, `,"timeout_ms":1000,"Timeout_MS":2000`))
}

// complaint: 63 found here - 839e89 passes a JSON grammar and a float parser as a number far beyond every safe integer
// rule: M-067, M-072
func TestComplaint63ExponentsAndOtherFormsAreNoIntegers(t *testing.T) {
	s := schema(t, one(`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`))
	for _, n := range []string{"1e2", "1E2", "1.0", "-0", "839e89", "0e0", "-0.0", "1e-1", "100e-2", "9007199254740993.0", "1e400", "-1e0"} {
		requireValue(t, "p", RuleInteger, s.Check([]byte(`{"p":`+n+`}`)))
		requireRefused(t, source(one(`{"type":"integer","minimum":-9007199254740991,"maximum":`+n+`}`), ""))
		requireRefused(t, source(one(`{"type":"integer","minimum":`+n+`,"maximum":9007199254740991}`), ""))
		requireRefused(t, source(one(`{"type":"string","maxLength":`+n+`}`), ""))
		requireRefused(t, source(emptySchema, `,"timeout_ms":`+n))
	}
	for _, n := range []string{"9007199254740992", "9007199254740993", "-9007199254740992"} {
		requireValue(t, "p", RuleRange, s.Check([]byte(`{"p":`+n+`}`)))
		requireRefused(t, source(one(`{"type":"integer","minimum":-9007199254740991,"maximum":`+n+`}`), ""))
	}
	for _, n := range []string{"0", "100", "9007199254740991", "-9007199254740991"} {
		require.NoError(t, s.Check([]byte(`{"p":`+n+`}`)))
	}
}
