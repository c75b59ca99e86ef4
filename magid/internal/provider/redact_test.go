package provider

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// rule: W-196
func TestWhatLooksLikeAKeyIsReplaced(t *testing.T) {
	for in, want := range map[string]string{
		"Incorrect API key provided: sk-abc123.":                     "Incorrect API key provided: [redacted]",
		"Incorrect API key provided: sk-proj-ab***********yz. See x": "Incorrect API key provided: [redacted] See x",
		"key sk-canaryOnlyLetters is bad":                            "key [redacted] is bad",
		"(gsk_0123456789abcdef)":                                     "([redacted])",
		"xai-abcdefgh, hf_abcdefgh; ghp_abcdefgh":                    "[redacted], [redacted]; [redacted]",
		"AKIAIOSFODNN7EXAMPLE":                                       "[redacted]",
		"AIzaSyA-1234567":                                            "[redacted]",
		"Bearer abcdefgh":                                            "Bearer [redacted]",
		"Authorization: Bearer abc-def_ghi":                          "Authorization: Bearer [redacted]",
		"authorization: abcdefghi":                                   "authorization: [redacted]",
		`{"api_key":"abcdef"}`:                                       `{"api_key":"[redacted]"}`,
		"x-api-key=abcdef&y=1":                                       "x-api-key=[redacted]&y=1",
		"password: hunter22":                                         "password: [redacted]",
		"access token = abcdefg":                                     "access token = [redacted]",
		"eyJhbGciOi.eyJzdWIi.c2lnbmF0":                               "[redacted]",
		"id 0123456789abcdef0123 of":                                 "id [redacted] of",
		"a/b+c0123456789abcdefghij== end":                            "[redacted] end",
	} {
		require.Equal(t, want, Quote(in, Secret{}), in)
	}
}

// A message stays useful: what names models, numbers and addresses is kept.
func TestWhatIsNoKeyStays(t *testing.T) {
	for _, in := range []string{
		"The model `claude-3-5-sonnet-20241022` does not exist",
		"model gpt-4o-mini-2024-07-18 not found",
		"meta-llama/Llama-3.1-8B-Instruct is being loaded",
		"This model's maximum context length is 128000 tokens, you asked for 131072",
		"max_tokens: 5000 is over 4096",
		"total token: 1234567 exceeds",
		"see https://platform.example.com/docs/guides/error-codes",
		"Unrecognized request argument supplied: stream_options",
		"ask-for-more tasks-and-risks skeleton",
		"pneumonoultramicroscopicsilicovolcanoconiosis",
		"1234567890123456789012345678901234567890",
	} {
		require.Equal(t, in, Quote(in, Secret{}))
	}
}

// rule: W-196
func TestOurKeyIsReplacedWhateverItLooksLike(t *testing.T) {
	for _, value := range []string{"ollama", "x", "plain-words-only", "a.b.c", "[redacted", strings.Repeat("k", MaxKeyBytes)} {
		key, err := NewSecret(value)
		require.NoError(t, err)
		require.Equal(t, "== [redacted] ==", Quote("== "+value+" ==", key))
	}
}

// rule: W-195
func TestQuoteIsOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		" \n ":                         "",
		"a\nb":                         "a b",
		"  a \r\n\t b  ":               "a b",
		"a\u2028b\u2029c\u0085d\u00a0": "a b c d",
		"a\x00b\x1b[31mc\x7f":          "a b [31mc",
		"a\u202eb\u200bc\ufeff":        "a b c",
		"a\xffb\xe5":                   "a\uFFFDb\uFFFD",
		"日本":                           "日本",
	} {
		require.Equal(t, want, Quote(in, Secret{}), "%q", in)
	}
	for _, n := range []int{255, 256, 257} {
		require.Len(t, Quote(strings.Repeat("é", n), Secret{}), min(2*n, 256))
		require.Len(t, Quote("x"+strings.Repeat("é", n), Secret{}), 255)
	}
}

func TestErrorsAreCut(t *testing.T) {
	for n, want := range map[int]int{511: 511, 512: 512, 513: 512} {
		require.Len(t, NewError(CodeFailed, strings.Repeat("x", n), nil).Message, want)
	}
	require.Equal(t, "provider_error: no", NewError(CodeFailed, "no", nil).Error())
}

func FuzzQuote(f *testing.F) {
	f.Add("a\nb sk-abcdef", "k")
	f.Add("\xff\u2028", "ey")
	f.Add(strings.Repeat("京", 200), "")
	f.Fuzz(func(t *testing.T, s, value string) {
		key, err := NewSecret(value)
		if err != nil {
			key = Secret{}
		}
		q := Quote(s, key)
		require.LessOrEqual(t, len(q), MaxQuoteBytes)
		require.True(t, utf8.ValidString(q))
		for _, r := range q {
			require.False(t, unicode.IsControl(r))
		}
		if len(key.Reveal()) > len(redacted) {
			require.NotContains(t, q, key.Reveal())
		}
	})
}
