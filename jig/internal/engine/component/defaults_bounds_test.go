package component

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefaultsAreThoseOfTheProtocol is for the bounds that are too large to reach
// in a test.
func TestDefaultsAreThoseOfTheProtocol(t *testing.T) {
	// rule: E-030
	require.Equal(t, Limits{
		FrameBytes: 16_777_216, Live: 64, Requests: 65_536, Endpoints: 512, QueueBytes: 33_554_432,
	}, Limits{}.withDefaults())
	own := Limits{FrameBytes: 1, Live: 2, Requests: 3, Endpoints: 4, QueueBytes: 5}
	require.Equal(t, own, own.withDefaults())
}
