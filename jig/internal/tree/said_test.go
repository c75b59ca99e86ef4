package tree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Of several slots, the one whose input was refused is named; nothing else is.
func TestARefusedInputNamesItsSlot(t *testing.T) {
	require.EqualError(t, ofSlot("page", fault.New(fault.InvalidInput, "/url does not fit")), "INVALID_INPUT: the input of slot page: /url does not fit")
	other := fault.New(fault.Unavailable, "the target has no package")
	require.Same(t, other, ofSlot("page", other))
}
