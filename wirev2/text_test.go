package wirev2

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// rule: W-028, W-029
func TestAppendStringEscapesWhatIsListedAndNothingElse(t *testing.T) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	for r := rune(0); r <= 0x3000; r++ {
		want := string(r)
		if s, ok := short[r]; ok {
			want = s
		} else if r < 0x20 || r == 0x7f || r == 0x2028 || r == 0x2029 {
			want = fmt.Sprintf(`\u%04x`, r)
		}
		require.Equal(t, `"`+want+`"`, string(AppendString(nil, string(r))), "U+%04X", r)
		// In every place of an eight-byte step, from the Go string and from raw JSON.
		for before := range 9 {
			if r >= 0x100 && (r < 0x2000 || r > 0x2100) && before != int(r)%9 {
				continue
			}
			text := strings.Repeat("a", before) + string(r) + "bcdefghij"
			encoded := `"` + strings.Repeat("a", before) + want + `bcdefghij"`
			require.Equal(t, encoded, string(AppendString(nil, text)))
			require.Equal(t, len(encoded)-2, EncodedStringLen(text))
			raw, err := jsontext.AppendQuote(nil, text)
			require.NoError(t, err)
			require.Equal(t, encoded, string(appendCompact(nil, raw)))
		}
	}
	require.Equal(t, `"😀/<>&"`, string(AppendString(nil, "😀/<>&")))
	require.Equal(t, "\"a\ufffdb\ufffd\"", string(AppendString(nil, "a\xffb\xe2")))
	require.Equal(t, 8, EncodedStringLen("a\xffb\xe2"))
}

// rule: W-026, W-028, W-029
func TestCompactFormOfRawValues(t *testing.T) {
	for raw, want := range map[string]string{
		" { \"a\" : [ 1 , -2.50e+3 , true ,\tnull ] ,\r\n\"b\" : { } } ": `{"a":[1,-2.50e+3,true,null],"b":{}}`,
		`"\u0041\/\u00e9\ud83d\ude00"`:                                   `"A/é😀"`,
		`"\u0022\u005c\u000a\u000A\u001F\u007f\u007F"`:                   `"\"\\\n\n\u001f\u007f\u007f"`,
		"\"\x7f\u2028\u2029\u202a\u2027\u00e2\"":                         "\"\\u007f\\u2028\\u2029\u202a\u2027\u00e2\"",
		`"\u2028\u2029\ufeff\u0085"`:                                     "\"\\u2028\\u2029\ufeff\u0085\"",
		`"a b"`:                                                          `"a b"`,
		`{"\u0061\n":" "}`:                                               `{"a\n":" "}`,
	} {
		got, err := appendValue([]byte("x"), []byte(raw), payloadDepth)
		require.NoError(t, err)
		require.Equal(t, "x"+want, string(got))
	}
}

func TestEncodedStringLenAddsUp(t *testing.T) {
	text := "a\"é\n\u2028😀\\x\x7f日本\u0000" + strings.Repeat("plain text ", 5)
	whole := EncodedStringLen(text)
	require.Equal(t, len(AppendString(nil, text))-2, whole)
	for i := range text {
		if utf8.RuneStart(text[i]) {
			require.Equal(t, whole, EncodedStringLen(text[:i])+EncodedStringLen(text[i:]))
		}
	}
}

// rule: W-271
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"plain":                            "plain",
		"a\nb":                             "a b",
		"a\r\n\t b\n":                      "a b",
		"\n a":                             "a",
		"a\u2028b\u2029c\u0085d\x00e\x7ff": "a b c d e f",
		"a\xffb":                           "a\ufffdb",
		"é 日本":                             "é 日本",
	} {
		require.Equal(t, want, OneLine(in, 100), "%q", in)
	}
	require.Equal(t, "abcd", OneLine("abcd", 4))
	require.Equal(t, "a…", OneLine("abcde", 4))
	require.Equal(t, "…", OneLine("ééé", 4))
	require.Equal(t, "é…", OneLine("ééé", 5))
	require.Equal(t, "…", OneLine("abcd", 3))
	require.Equal(t, "", OneLine("abc", 2))
	require.Equal(t, "limit_exceeded: a b", Errorf(CodeLimitExceeded, "a\n%s", "b").Error())
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\u2028", "a\"b\\c\n", "\xff", "é日本😀", "\x7f\x00 plain plain plain"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := AppendString(nil, s)
		require.Len(t, encoded, EncodedStringLen(s)+2)
		require.True(t, strict(encoded, 1))
		back, err := jsontext.AppendUnquote(nil, encoded)
		require.NoError(t, err)
		require.Equal(t, strings.ToValidUTF8(string([]rune(s)), "\ufffd"), string(back))
		require.Equal(t, encoded, appendCompact(nil, encoded), "the form is its own form")
		for _, c := range encoded {
			require.False(t, c < ' ' || c == 0x7f)
		}
		line := OneLine(s, 20)
		require.LessOrEqual(t, len(line), 20)
		require.True(t, utf8.ValidString(line))
		require.NotContains(t, line, "\n")
	})
}
