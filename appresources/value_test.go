package appresources

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func schema(t *testing.T, text string) *Schema {
	t.Helper()
	return parse(t, source(text, "")).Input
}

func requireValue(t *testing.T, member string, rule Rule, err error) {
	t.Helper()
	var v *ValueError
	require.ErrorAs(t, err, &v)
	require.Equal(t, member, v.Member)
	require.Equal(t, rule, v.Rule)
	require.Equal(t, CodeInvalidPayload, CodeOf(err))
}

const mixed = `{"type":"object","additionalProperties":false,"properties":{
	"text":{"type":"string","maxLength":4},"flag":{"type":"boolean"},"count":{"type":"integer","minimum":-10,"maximum":10}},
	"required":["text","flag","count"]}`

func TestValueFitsItsSchemaAndIsNormalized(t *testing.T) {
	s := schema(t, mixed)
	for value, want := range map[string]string{
		`{"text":"ab","flag":true,"count":10}`:                        `{"text":"ab","flag":true,"count":10}`,
		" { \"count\" : -10 ,\n\"flag\":false,\t\"text\": \"\" }\r\n": `{"count":-10,"flag":false,"text":""}`,
		`{"text":"\u00e4\/\u0041","flag":false,"count":0}`:            `{"text":"ä/A","flag":false,"count":0}`,
		`{"t\u0065xt":"\u2028\u007f\n\u0001","flag":false,"count":0}`: `{"text":"\u2028\u007f\n\u0001","flag":false,"count":0}`,
	} {
		got, err := s.AppendNormalized([]byte("x"), []byte(value))
		require.NoError(t, err, value)
		require.Equal(t, "x"+want, string(got))
		require.NoError(t, s.Check([]byte(want)))
	}
	for text, want := range map[string]string{
		"\u2028": `\u2028`, "\u2029é": `\u2029é`, "\x7f": `\u007f`, "\u2027": "\u2027", "🎈": "🎈", `\/`: "/",
	} {
		got, err := s.AppendNormalized(nil, []byte(`{"text":"`+text+`","flag":true,"count":1}`))
		require.NoError(t, err)
		require.Equal(t, `{"text":"`+want+`","flag":true,"count":1}`, string(got))
	}
	require.NoError(t, schema(t, emptySchema).Check([]byte(`{}`)))
}

func TestValueErrorNamesMemberAndRule(t *testing.T) {
	s := schema(t, mixed)
	for _, c := range []struct {
		value, member string
		rule          Rule
	}{
		{`{"flag":true,"count":1}`, "text", RuleMissing},
		{`{"text":"a","count":1}`, "flag", RuleMissing},
		{`{}`, "text", RuleMissing},
		{`{"text":"a","flag":true,"count":1,"secret":1}`, "", RuleUnknown},
		{`{"Text":"a","flag":true,"count":1}`, "", RuleUnknown},
		{`{"text":null,"flag":true,"count":1}`, "text", RuleString},
		{`{"text":1,"flag":true,"count":1}`, "text", RuleString},
		{`{"text":["a"],"flag":true,"count":1}`, "text", RuleString},
		{`{"text":"a","flag":null,"count":1}`, "flag", RuleBoolean},
		{`{"text":"a","flag":0,"count":1}`, "flag", RuleBoolean},
		{`{"text":"a","flag":"true","count":1}`, "flag", RuleBoolean},
		{`{"text":"a","flag":true,"count":null}`, "count", RuleInteger},
		{`{"text":"a","flag":true,"count":"1"}`, "count", RuleInteger},
		{`{"text":"a","flag":true,"count":{}}`, "count", RuleInteger},
		{`{"text":"a","flag":true,"count":true}`, "count", RuleInteger},
		{`{"text":"a","flag":true,"count":11}`, "count", RuleRange},
		{`{"text":"a","flag":true,"count":-11}`, "count", RuleRange},
		{`{"text":"abcde","flag":true,"count":1}`, "text", RuleLength},
		{`[]`, "", RuleObject},
		{`null`, "", RuleObject},
		{`"x"`, "", RuleObject},
		{`1`, "", RuleObject},
		{``, "", RuleSyntax},
		{` `, "", RuleSyntax},
		{`{"text":"a","flag":true,"count":1`, "", RuleSyntax},
		{`{"text":"a","flag":true,"count":1}}`, "", RuleSyntax},
		{`{"text":"a","flag":true,"count":01}`, "", RuleSyntax},
		{`{"text":"a","flag":true,"count":+1}`, "", RuleSyntax},
		{`{"text":"a","flag":True,"count":1}`, "", RuleSyntax},
		{`{"text":"\ud800","flag":true,"count":1}`, "", RuleSyntax},
		{"{\"text\":\"\xff\",\"flag\":true,\"count\":1}", "", RuleSyntax},
		{"{\"text\":\"a\nb\",\"flag\":true,\"count\":1}", "", RuleSyntax},
		{"\ufeff{}", "", RuleSyntax},
		{`{"text":"a","flag":true,"count":1,"count":1}`, "", RuleDuplicate},
	} {
		out, err := s.AppendNormalized([]byte("kept"), []byte(c.value))
		requireValue(t, c.member, c.rule, err)
		require.Equal(t, "kept", string(out), c.value)
	}
}

// rule: A-182
func TestMaxLengthCountsUnicodeScalars(t *testing.T) {
	s := schema(t, one(`{"type":"string","maxLength":3}`))
	for _, text := range []string{"", "abc", "äöü", "日本語", "🎈🎈🎈", `\ud83c\udf88🎈x`, "e\u0301x"} {
		require.NoError(t, s.Check([]byte(`{"p":"`+text+`"}`)), text)
	}
	for _, text := range []string{"abcd", "äöüß", "🎈🎈🎈🎈", `\ud83c\udf88🎈xx`, "e\u0301e\u0301", `\u0061\u0062\u0063\u0064`} {
		requireValue(t, "p", RuleLength, s.Check([]byte(`{"p":"`+text+`"}`)))
	}
	s = schema(t, one(`{"type":"string","maxLength":4096}`))
	require.NoError(t, s.Check([]byte(`{"p":"`+strings.Repeat("ü", 4095)+`"}`)))
	require.NoError(t, s.Check([]byte(`{"p":"`+strings.Repeat("ü", 4096)+`"}`)))
	requireValue(t, "p", RuleLength, s.Check([]byte(`{"p":"`+strings.Repeat("ü", 4097)+`"}`)))
}

// filled returns an object of exactly n bytes of five strings.
func filled(n int) string {
	const empty = `{"a":"","b":"","c":"","d":"","e":""}`
	var b strings.Builder
	left := n - len(empty)
	b.WriteByte('{')
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		take := min(left, 4096)
		left -= take
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":"%s"`, name, strings.Repeat("x", take))
	}
	b.WriteByte('}')
	return b.String()
}

var fiveStrings = func() string {
	var properties []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		properties = append(properties, `"`+name+`":{"type":"string","maxLength":4096}`)
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":["a","b","c","d","e"]}`
}()

// rule
func TestValueHasAtMost16384BytesAsReceivedAndAsEncoded(t *testing.T) {
	s := schema(t, fiveStrings)
	for _, n := range []int{MaxValueBytes - 1, MaxValueBytes} {
		value := filled(n)
		require.Len(t, value, n)
		require.NoError(t, s.Check([]byte(value)))
	}
	value := filled(MaxValueBytes + 1)
	require.Len(t, value, 16385)
	requireValue(t, "", RuleSize, s.Check([]byte(value)))

	// White space counts as received.
	require.NoError(t, s.Check([]byte(filled(MaxValueBytes-3)+"   ")))
	requireValue(t, "", RuleSize, s.Check([]byte(filled(MaxValueBytes-3)+"    ")))

	// U+007F is one byte as received and six as encoded.
	grown := strings.Replace(filled(MaxValueBytes-5), "x", "\x7f", 1)
	out, err := s.AppendNormalized(nil, []byte(grown))
	require.NoError(t, err)
	require.Len(t, out, MaxValueBytes)
	grown = strings.Replace(filled(MaxValueBytes-4), "x", "\x7f", 1)
	requireValue(t, "", RuleSize, s.Check([]byte(grown)))
}

func TestValueErrorsQuoteNothingOfTheValue(t *testing.T) {
	const canary = "hunter2"
	s := schema(t, mixed)
	for _, value := range []string{
		`{"text":"` + canary + `","flag":true,"count":1}`, `{"` + canary + `":1}`, `{"` + canary + `":1,"` + canary + `":2}`,
		`"` + canary + `"`, canary, `{"text":"a","flag":"` + canary + `"}`, `{"text":"a\` + canary + `"}`,
	} {
		err := s.Check([]byte(value))
		require.Equal(t, CodeInvalidPayload, CodeOf(err))
		for ; err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, err.Error(), canary)
		}
	}
}

// rule: M-067
func TestIntegersReachTheSafeBoundsAndNotBeyond(t *testing.T) {
	s := schema(t, one(`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`))
	for _, n := range []string{"9007199254740990", "9007199254740991", "-9007199254740991", "0", "7", "-7"} {
		out, err := s.AppendNormalized(nil, []byte(`{"p":`+n+`}`))
		require.NoError(t, err)
		require.Equal(t, `{"p":`+n+`}`, string(out))
	}
	for _, n := range []string{
		"9007199254740992", "9007199254740993", "-9007199254740992", "18446744073709551616", strings.Repeat("9", 400),
	} {
		requireValue(t, "p", RuleRange, s.Check([]byte(`{"p":`+n+`}`)))
	}
}

func TestParseIntegerReadsOnlySafeIntegersWrittenAsSuch(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "9": 9, "-1": -1, "10": 10, "9007199254740991": 9007199254740991, "-9007199254740991": -9007199254740991,
	} {
		got, ok := parseInteger([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", "-", "-0", "00", "01", "-01", "+1", "1.0", "1e1", "9007199254740992", "-9007199254740992", "99999999999999999", "1 ", "٣",
	} {
		_, ok := parseInteger([]byte(text))
		require.False(t, ok, text)
	}
}
