package cli

import (
	"bytes"
	"testing"

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
