package run0

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefaultsAreThoseOfTheProtocol is for the bounds that are too large to reach
// in a test; that each of them binds is shown elsewhere, with a smaller one.
func TestDefaultsAreThoseOfTheProtocol(t *testing.T) {
	// rule
	require.Equal(t, Limits{
		FrameBytes: 16_777_216, StdoutBytes: 268_435_456, Pending: 64, Requests: 65_536, QueuedBytes: 33_554_432, RetainedBytes: 33_554_432,
	}, Limits{}.withDefaults())
	own := Limits{FrameBytes: 1, StdoutBytes: 2, Pending: 3, Requests: 4, QueuedBytes: 5, RetainedBytes: 6}
	require.Equal(t, own, own.withDefaults())
	require.EqualValues(t, 268_435_456, newFrames(strings.NewReader(""), Limits{}.withDefaults()).left)
	require.Equal(t, 33_554_432, NewLedger(Limits{}).retain)
}
