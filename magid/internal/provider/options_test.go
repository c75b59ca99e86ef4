package provider

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rule: M-035
func TestDefaults(t *testing.T) {
	timeouts, err := Timeouts{}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, Timeouts{
		Connect: 10 * time.Second, Headers: 60 * time.Second, FirstEvent: 120 * time.Second,
		Idle: 120 * time.Second, Total: 600 * time.Second,
	}, timeouts)
	timeouts, err = Timeouts{Idle: time.Second}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, time.Second, timeouts.Idle)

	limits, err := Limits{}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, Limits{EventBytes: 1 << 20, CallBytes: 1 << 20}, limits)
	limits, err = Limits{CallBytes: 5}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, Limits{EventBytes: 1 << 20, CallBytes: 5}, limits)
	for _, bad := range []Limits{{EventBytes: -1}, {CallBytes: -1}} {
		_, err := bad.WithDefaults()
		require.ErrorContains(t, err, "negative")
	}
}
