package chat

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

const sample = "a北京😀é\U0010FFFFz"

// escaped16 writes a text in escapes of UTF-16 alone.
func escaped16(s string) []string {
	var units []string
	for _, r := range s {
		if r < 0x10000 {
			units = append(units, `\u`+hex16(r))
			continue
		}
		r -= 0x10000
		units = append(units, `\u`+hex16(0xD800+r>>10), `\u`+hex16(0xDC00+r&0x3FF))
	}
	return units
}

func hex16(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}

// pieces runs one text, as these JSON strings without quotes, in the content of
// deltas and in arguments, and gives back both.
func pieces(t *testing.T, parts []string) (content outcome, given []string, arguments outcome) {
	t.Helper()
	var text, call []string
	call = append(call, fragment(`"index":0,"id":"a","function":{"name":"f","arguments":""}`))
	for _, p := range parts {
		text = append(text, `{"choices":[{"index":0,"delta":{"content":"`+p+`"}}]}`)
		call = append(call, fragment(`"index":0,"function":{"arguments":"`+p+`"}`))
	}
	text = append(text, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`)
	call = append(call, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`)
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, events(text...), events(call...))
		reply, err := c.Stream(t.Context(), ask, func(s string) error {
			given = append(given, s)
			return nil
		})
		content = outcome{reply, strings.Join(given, ""), err}
		arguments = run(t.Context(), c, ask)
	})
	return content, given, arguments
}

// complaint: 34 ggml-org/llama.cpp#28926, librefang/librefang#3448, kekzl/imp#1554 - a character split between chunks became U+FFFD
// rule: M-111
func TestComplaint34LlamaCPP28926CharactersSplitAnywhere(t *testing.T) {
	check := func(t *testing.T, parts []string) {
		t.Helper()
		content, given, arguments := pieces(t, parts)
		require.NoError(t, content.err, "%q", parts)
		require.Equal(t, sample, content.text)
		for _, g := range given {
			require.True(t, utf8.ValidString(g) && g != "", "%q", given)
		}
		require.NoError(t, arguments.err, "%q", parts)
		require.Equal(t, sample, arguments.reply.Calls[0].Arguments)
	}
	units := escaped16(sample)
	t.Run("bytes between two deltas", func(t *testing.T) {
		for n := range len(sample) + 1 {
			check(t, []string{sample[:n], sample[n:]})
		}
	})
	t.Run("each byte a delta", func(t *testing.T) {
		check(t, strings.Split(sample, "")) // each character
		var parts []string
		for i := range len(sample) {
			parts = append(parts, sample[i:i+1], "")
		}
		check(t, parts)
	})
	t.Run("escapes between two deltas", func(t *testing.T) {
		for n := range len(units) + 1 {
			check(t, []string{strings.Join(units[:n], ""), strings.Join(units[n:], "")})
		}
	})
	t.Run("each escape a delta", func(t *testing.T) {
		var parts []string
		for _, u := range units {
			parts = append(parts, u, "")
		}
		check(t, parts)
	})
	t.Run("escapes and bytes mixed in one delta", func(t *testing.T) {
		check(t, []string{`\u0061` + "北\xe4", "\xba\xac" + `\ud83d`, `\ude00` + "\xc3", "\xa9" + `\udbff`, `\udfff` + "z"})
	})
	t.Run("bytes between two writes", func(t *testing.T) {
		body := string(steps(scripted.Text(sample), scripted.Finish("stop")).Body(scripted.Chat))
		for n := range body {
			o := once(t, scripted.Reply{Steps: []scripted.Step{scripted.Write(body[:n]), scripted.Write(body[n:])}})
			require.NoError(t, o.err)
			require.Equal(t, sample, o.text)
		}
	})
}

// rule: M-111
func TestTextThatIsNotUTF8Fails(t *testing.T) {
	for name, parts := range map[string][]string{
		"a byte that begins nothing":        {"a\xff", "b"},
		"a continuation alone":              {"a", "\x80"},
		"a character broken off":            {"a\xe5", "b"},
		"a character broken off by escapes": {"a\xe5", `\u0062`},
		"at the end":                        {"a\xe5\x8c"},
		"an overlong form":                  {"\xc0", "\x80"},
		"a surrogate in bytes":              {"\xed\xa0", "\xbd"},
		"a pair in bytes":                   {"\xed\xa0\xbd", "\xed\xb8\x80"},
		"a second half alone":               {`a\ude00`},
		"a first half alone":                {`a\ud83d`},
		"a first half, then text":           {`a\ud83d`, "b"},
		"a first half, then an escape":      {`a\ud83d`, `\n`},
		"a first half twice":                {`a\ud83d`, `\ud83d\ude00`},
		"a first half, then bytes":          {`a\ud83d`, "\xe5"},
		"a first half in the middle":        {`a\ud83db`},
		"beyond Unicode":                    {"\xf4\x90", "\x80\x80"},
	} {
		t.Run(name, func(t *testing.T) {
			content, _, arguments := pieces(t, parts)
			require.Equal(t, provider.CodeFailed, content.code(t))
			require.True(t, utf8.ValidString(content.text))
			require.NotContains(t, content.text, "\uFFFD")
			require.Equal(t, provider.CodeFailed, arguments.code(t))
			require.Empty(t, arguments.reply.Calls)
		})
	}
}

// U+FFFD itself is a character like any other.
func TestReplacementCharactersPass(t *testing.T) {
	content, _, arguments := pieces(t, []string{"a\uFFFD", `\ufffd`, "\xef\xbf", "\xbd"})
	require.NoError(t, content.err)
	require.Equal(t, "a\uFFFD\uFFFD\uFFFD", content.text)
	require.NoError(t, arguments.err)
}

func TestEscapes(t *testing.T) {
	content, _, arguments := pieces(t, []string{`\"\\\/\b\f\n\r\t\u0000\u2028`, `\ud83d`, `\ude00\"\\\/\b\f\n\r\t\u0000` + "\xe5", "\x8c\x97"})
	const want = "\"\\/\b\f\n\r\t\x00\u2028😀\"\\/\b\f\n\r\t\x00北"
	require.NoError(t, content.err)
	require.Equal(t, want, content.text)
	require.NoError(t, arguments.err)
	require.Equal(t, want, arguments.reply.Calls[0].Arguments)
}

func TestPiecesAreHandedOnAtOnce(t *testing.T) {
	_, given, _ := pieces(t, []string{"a", "b\xe5", "\x8c", "\x97c", ""})
	require.Equal(t, []string{"a", "b", "北c"}, given)
}

// What is joined from whole strings is what the JSON library makes of them.
func FuzzJoined(f *testing.F) {
	f.Add([]byte(`"a\n`+"北"+`\ud83d\ude00"`), 3)
	f.Add([]byte(`"\\\"\/\b\f\r\t\u0000"`), 1)
	f.Add([]byte("\"\xe5\""), 1)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		v := jsontext.Value(raw)
		if v.Kind() != '"' || !v.IsValid(jsontext.AllowInvalidUTF8(true)) {
			return
		}
		raw = raw[indexQuote(raw):]
		raw = raw[:lastQuote(raw)+1]
		want, err := jsontext.AppendUnquote(nil, raw)
		for _, j := range []*joined{{}, {}} {
			_ = j.addParts(raw[1 : len(raw)-1])
			got, ownErr := j.all()
			if err == nil {
				require.NoError(t, ownErr)
				require.Equal(t, string(want), got)
			}
			if ownErr == nil {
				require.True(t, utf8.ValidString(got))
			}
		}
		// The same through take, in two strings split where no escape is.
		inside := raw[1 : len(raw)-1]
		if n = n % (len(inside) + 1); n < 0 {
			n = -n
		}
		for i := max(0, n-6); i < n; i++ {
			if inside[i] == '\\' {
				return
			}
		}
		if err != nil {
			return
		}
		var j joined
		require.NoError(t, j.add(quoted(inside[:n])))
		first, err := j.take()
		require.NoError(t, err)
		require.NoError(t, j.add(quoted(inside[n:])))
		second, err := j.take()
		require.NoError(t, err)
		require.Equal(t, string(want), first+second)
		require.True(t, j.empty())
	})
}

func quoted(b []byte) jsontext.Value { return jsontext.Value(`"` + string(b) + `"`) }

func indexQuote(b []byte) int { return strings.IndexByte(string(b), '"') }

func lastQuote(b []byte) int { return strings.LastIndexByte(string(b), '"') }
