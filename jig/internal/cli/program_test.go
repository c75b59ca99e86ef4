package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/state"
)

func TestAJigThatCannotRunInASandboxSaysHowToBuildIt(t *testing.T) {
	r := refusalOf(fmt.Errorf("review: %w", state.ErrProgram))
	require.Equal(t, codeUnavailable, r.code)
	require.Contains(t, r.hint, "CGO_ENABLED=0")
	require.Equal(t, 2, exitOf(r.code))
}
