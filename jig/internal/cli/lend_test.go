package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-017, J-019
func TestATalkIsShownBetweenWordsAndEscaped(t *testing.T) {
	var shown []string
	c := &talk{w: &lineWriter{emit: func(line string) { shown = append(shown, line) }}}
	c.say("The quick brown fox ", 24)
	require.Empty(t, shown, "a line that may go on")
	c.say("jumps over\nthe \x1b[31mlazy \u202edog", 24)
	c.flush()
	require.Equal(t, []string{"The quick brown fox ", "jumps over", `the \u{1b}[31mlazy `, `\u{202e}dog`}, shown)
}
