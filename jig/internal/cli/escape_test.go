package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// rule: J-019
func TestJSONOnATerminalHasTheSameValueAndActsOnNothing(t *testing.T) {
	const word = "a\u202eb\u200bc\u200dd\u2028e\x7ff\u009bg\ufeffh\U000e0041i\ufffdj\x1bk\\l é日🙂"
	canonical, err := json0.Marshal(map[string]string{word: word, "plain": "é日🙂"})
	require.NoError(t, err)
	kept := bytes.Clone(canonical)
	shown := escapeJSON(canonical)
	require.Equal(t, kept, canonical, "what is printed elsewhere stays as it was")
	for _, r := range string(shown) {
		require.True(t, harmless(r), "%q in %s", r, shown)
	}
	require.Contains(t, string(shown), `a\u202eb\u200bc\u200dd\u2028e\u007ff\u009bg\ufeffh\udb40\udc41i\ufffdj\u001bk\\l é日🙂`)
	again, err := json0.Canonical(shown)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(again))
	plain := []byte(`{"plain":"é日🙂"}`)
	require.Equal(t, plain, escapeJSON(plain))
}

func TestNoRunOfSpacesReachesTheNextLine(t *testing.T) {
	for given, want := range map[string]string{
		"a   b":            "a   b",
		"a    b":           `a   \u{20}b`,
		"a     b    c   ":  `a   \u{20}\u{20}b   \u{20}c   `,
		"a   \n   b  \t c": `a   \n   b  \t c`,
	} {
		require.Equal(t, want, escape(given))
	}
	require.Equal(t, `      at f\t`, escapeText("      at f\t"), "the text of a Flow keeps its indent")
}

func TestJSONThatIsPipedStaysCanonical(t *testing.T) {
	for _, seen := range []bool{false, true} {
		var b bytes.Buffer
		o := &output{w: &b, seen: seen}
		o.line([]byte("\"\u202e\""))
		o.last([]byte("\"\u200b\""))
		want := "\"\u202e\"\n\"\u200b\"\n"
		if seen {
			want = `"\u202e"` + "\n" + `"\u200b"` + "\n"
		}
		require.Equal(t, want, b.String())
	}
}

func TestAnAnswerIsShownWhole(t *testing.T) {
	for _, n := range []int{maxShown - 1, maxShown, maxShown + 1, 100 << 10} {
		long := strings.Repeat("x", n)
		require.Equal(t, long, wholeText([]byte(`"`+long+`"`)))
		require.Equal(t, `{"text":"`+long+`"}`, wholeText([]byte(`{"text":"`+long+`"}`)))
		require.Equal(t, "  output: "+long+"\n", recordText([]byte(`{"diagnostics":[],"output":"`+long+`","runId":"r"}`)))
	}
	require.Equal(t, "def f():\n        return 1\\t", wholeText([]byte(`"def f():\n        return 1\t"`)))
	require.Equal(t, `{"a":"\u202e     b\n"}`, wholeText([]byte("{\"a\":\"\u202e     b\\n\"}")), "it stays JSON")
	require.Equal(t, "  message: a\n    b\n  diagnostics: [1]\n", recordText([]byte(`{"message":"a\nb","diagnostics":[1]}`)))
}

func TestAnAgeAlwaysHasAUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0m", 0: "0m", 59 * time.Second: "0m", time.Minute: "1m", 23*time.Hour + 59*time.Minute + time.Second: "23h59m", 24 * time.Hour: "24h0m",
	} {
		require.Equal(t, want, minutes(d))
	}
}
