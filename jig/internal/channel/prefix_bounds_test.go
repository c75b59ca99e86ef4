package channel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// TestAnItemInFlightIsOfThePrefix looks at the check alone: a read marks its
// endpoint used, so that today no such endpoint comes as far as this.
func TestAnItemInFlightIsOfThePrefix(t *testing.T) {
	// rule: R-118
	number, err := contract.CompileItem([]byte(`{"type":"number"}`))
	require.NoError(t, err)
	for value, fits := range map[string]bool{`1`: true, `"text"`: false} {
		s := &source{delivery: contract.Direct}
		r := &receiver{source: s, out: &Item{Sequence: 1, Value: []byte(value)}}
		s.receivers = []*receiver{r}
		port := contract.Port{Item: number}
		require.Equal(t, fits, move{port: port, end: &endpoint{source: s, receiver: r}}.prefixFits(), "the reader, %s", value)
		require.Equal(t, fits, move{port: port, end: &endpoint{source: s}}.prefixFits(), "the writer, %s", value)
	}
}
