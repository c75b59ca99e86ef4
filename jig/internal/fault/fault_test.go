package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

func TestThirteenCodesGoOnTheWireAndTwoDoNot(t *testing.T) {
	// rule: R-185
	wire := []fault.Code{
		"CANCELLED", "DEADLINE_EXCEEDED", "OWNER_CLOSED", "OPERATION_CONFLICT", "UNAVAILABLE", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"INVALID_INPUT", "INVALID_RESULT", "UNCERTAIN", "EXECUTION_FAILED", "LAGGED", "DISCONNECTED",
	}
	require.Len(t, wire, 13)
	for _, c := range wire {
		require.True(t, c.OnWire(), c)
	}
	for _, c := range []fault.Code{"PROTOCOL_ERROR", "CHANNEL_LOST", "NONSENSE", ""} {
		require.False(t, c.OnWire(), c)
	}
	require.Equal(t, "LAGGED: too slow", fault.New(fault.Lagged, "too slow").Error())
}
