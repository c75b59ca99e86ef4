package json0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

func accepted(t testing.TB, doc string) {
	t.Helper()
	require.NoError(t, json0.Check([]byte(doc)), "%.80q", doc)
}

func refused(t testing.TB, doc string, class error) {
	t.Helper()
	err := json0.Check([]byte(doc))
	require.ErrorIs(t, err, class, "%.80q", doc)
	var e *json0.Error
	require.ErrorAs(t, err, &e)
	require.GreaterOrEqual(t, e.Offset, 0)
	require.LessOrEqual(t, e.Offset, len(doc))
	require.Regexp(t, `^[ -~]+$`, err.Error())
}

func TestTheGrammarIsJSON(t *testing.T) {
	for _, doc := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1.5e-3`, `1E+2`, `""`, `"a"`, `[]`, `{}`, ` [ ] `, "\t{\r\n}\n",
		`[1,2,[3,{"a":[]}]]`, `{"":0}`, `{"a":{"a":{"a":null}}}`, `"\"\\\/\b\f\n\r\t\u0041"`, `"` + "\u007f\u2028" + `"`,
		`{"a":1,"A":2}`, `[[],[],{},{}]`,
	} {
		accepted(t, doc)
	}
	for _, doc := range []string{
		``, ` `, `nul`, `nulll`, `True`, `truefalse`, `NaN`, `Infinity`, `-Infinity`, `undefined`,
		`01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x1`, `1_0`, `--1`, `-01`, `00`,
		`"`, `"a`, `'a'`, `"\x41"`, `"\u12"`, `"\u12G4"`, `"\U0041"`, `"\`, `"a"b`,
		`[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `[1;2]`,
		`{`, `}`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `{"a":1]`, `{"a":1 "b":2}`,
		`{"a",1}`, `{"a":}`, `// c` + "\n1", `1 // c`, `/* */1`, `[]]`, `{}}`,
	} {
		refused(t, doc, json0.ErrSyntax)
	}
}

// rule: R-042
func TestControlsEscapesAndTrailingDataAreRefused(t *testing.T) {
	for c := range 0x20 {
		for _, format := range []string{`"%c"`, `"12345678%c"`, `{"%c":1}`} {
			refused(t, fmt.Sprintf(format, c), json0.ErrSyntax)
		}
		accepted(t, fmt.Sprintf(`"\u%04x"`, c))
	}
	accepted(t, `"`+"\x7f"+`"`)
	for c := range 0x100 {
		doc := `"\` + string([]byte{byte(c)}) + `"`
		switch {
		case strings.ContainsRune(`"\/bfnrt`, rune(c)):
			accepted(t, doc)
		case c >= 0x80:
			refused(t, doc, json0.ErrUTF8)
		default:
			refused(t, doc, json0.ErrSyntax)
		}
	}
	for _, tail := range []string{"1", "{}", "null", "x", "\x00", ",", "]", "\ufeff"} {
		refused(t, "{}"+tail, json0.ErrSyntax)
		refused(t, "{} "+tail, json0.ErrSyntax)
	}
	accepted(t, "{} \n\t\r")
	refused(t, "\ufeff{}", json0.ErrSyntax)
}

// rule: R-041
func TestOnlyUnicodeScalarsAreText(t *testing.T) {
	accepted(t, `"\ud83d\udc23"`)
	accepted(t, `{"\uD83D\uDC23":"🐣"}`)
	accepted(t, `"\uFFFD\uFFFF\u0000"`)
	for _, half := range []string{
		`\ud83d`, `\udc23`, `\udc23\ud83d`, `\ud83d\ud83d`, `\ud83dx`, `\ud83d\n`, `\ud83d\u0041`, `\uDBFF`, `\uD800`, `\uDFFF`,
		`\ud83d\udc`, `\ud83d\`, `\ud83d\u`,
	} {
		refused(t, `"`+half+` "`, json0.ErrSurrogate)
		refused(t, `{"a":["`+half+` "]}`, json0.ErrSurrogate)
		refused(t, `{"`+half+` ":1}`, json0.ErrSurrogate)
	}
	for _, raw := range []string{
		"\xed\xa0\xbd", "\xed\xb0\xa3", "\xed\xa0\xbd\xed\xb0\xa3", // surrogates written as UTF-8
		"\xff", "\xc0\xaf", "\xe4", "\xe4\xb8", "\xf4\x90\x80\x80", "\x80", "\xf8\x88\x80\x80\x80",
	} {
		refused(t, `"`+raw+`"`, json0.ErrUTF8)
		refused(t, `{"`+raw+`":1}`, json0.ErrUTF8)
		refused(t, raw, json0.ErrUTF8)
		refused(t, `{`+raw, json0.ErrUTF8) // the encoding is looked at before the grammar
	}
}

// rule: R-040
func TestDuplicateMembersAreRefusedByDecodedName(t *testing.T) {
	for _, doc := range []string{
		`{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"\u0061":1,"\u0061":2}`, `{"a":1,"b":2,"a":3}`,
		`{"":1,"":2}`, `{"🐣":1,"\ud83d\udc23":2}`, `{"\/":1,"/":2}`, `{"\n":1,"\u000a":2}`, `[{"x":{"a":1,"a":2}}]`,
	} {
		refused(t, doc, json0.ErrDuplicate)
	}
	for _, doc := range []string{
		`{"a":1,"A":2}`, `{"a":{"a":1},"b":{"a":1}}`, `[{"a":1},{"a":1}]`, `{"\u00e9":1,"e\u0301":2}`, `{"a":1,"a ":2}`, `{"\u0000":1,"":2}`,
	} {
		accepted(t, doc)
	}
	// Beyond 16 members another method finds them; the answer is the same.
	for members := 2; members < 40; members++ {
		for _, twin := range []int{0, (members - 1) / 2, members - 2} {
			var b strings.Builder
			b.WriteString(`{"before":{"n0":1},`)
			for i := range members - 1 {
				fmt.Fprintf(&b, `"n%d":{"n%d":0},`, i, i)
			}
			accepted(t, b.String()+fmt.Sprintf(`"n%d":0}`, members))
			refused(t, b.String()+fmt.Sprintf(`"n%d":0}`, twin), json0.ErrDuplicate)
			refused(t, b.String()+fmt.Sprintf(`"\u006e%d":0}`, twin), json0.ErrDuplicate)
		}
	}
}

// rule
func TestNumbersAreFiniteAndTheirIntegersSafe(t *testing.T) {
	for _, doc := range []string{
		`0`, `-0`, `0.0`, `-0.0e5`, `1e-400`, `-1e-400`, `5e-324`, `1e15`, `9007199254740991`, `-9007199254740991`,
		`9007199254740990.5`, `9007199254740991.0`, `9007199254740991.4999`, `9.007199254740991e15`, `0.1`, `1.7976931348623157e-308`,
		`900719925474099100e-2`, `0e400`, `0.000e999999999`, `123456789012345.678`, `999999999999999.9999999999999`,
	} {
		accepted(t, doc)
	}
	for _, doc := range []string{
		`1e400`, `-1e400`, `1e309`, `1.7976931348623157e308`, `9007199254740992`, `-9007199254740992`, `9007199254740993`,
		`9007199254740991.5`, `9.007199254740992e15`, `1e16`, `839e89`, `1e308`, `90071992547409920e-1`, `1e999999999999`,
		`4503599627370496e1`, `123456789012345678`,
	} {
		refused(t, doc, json0.ErrNumber)
	}
	for _, doc := range []string{`NaN`, `Infinity`, `-Infinity`, `nan`, `+Inf`} {
		refused(t, doc, json0.ErrSyntax)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		doc          string
		offset       int
		line, column int
	}{
		{`{"a":1,"a":2}`, 7, 1, 8},
		{"{\n  \"é\": 01\n}", 10, 2, 8},
		{"[1,\n2,\n1e400]", 7, 3, 1},
		{`{"a":"` + "\xff" + `"}`, 6, 1, 7},
		{`[1,2`, 4, 1, 5},
		{``, 0, 1, 1},
	} {
		var e *json0.Error
		require.ErrorAs(t, json0.Check([]byte(c.doc)), &e, c.doc)
		require.Equal(t, c.offset, e.Offset, c.doc)
		line, column := e.Position([]byte(c.doc))
		require.Equal(t, []int{c.line, c.column}, []int{line, column}, c.doc)
	}
}

func TestErrorTextsQuoteNothing(t *testing.T) {
	for _, doc := range []string{
		`{"sesame":1,"sesame":2}`, `["sesame" sesame]`, `{"sesame`, `{"a":sesame}`, `"sesame\q"`, `{"sesame":1e400}`,
	} {
		err := json0.Check([]byte(doc))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "sesame")
		var dst struct{ Known int }
		require.NotContains(t, json0.Decode([]byte(doc), &dst).Error(), "sesame")
	}
	var dst struct{ Known int }
	for _, doc := range []string{`{"sesame":1}`, `{"Known":"sesame"}`, `"sesame"`, `{"Known":1.5,"sesame":1}`} {
		err := json0.Decode([]byte(doc), &dst)
		require.ErrorIs(t, err, json0.ErrShape)
		require.NotContains(t, err.Error(), "sesame")
	}
}

func TestCheckAllocatesNothingForOrdinaryDocuments(t *testing.T) {
	for _, doc := range [][]byte{update, prose, tree} {
		// The best of many: storage that waits for reuse may be collected, and the
		// race detector throws some of it away on purpose.
		best := 1.0
		for range 100 {
			best = min(best, testing.AllocsPerRun(1, func() { _ = json0.Check(doc) }))
		}
		require.Zero(t, best)
	}
}
