package cli

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

func TestAJigThatCannotRunInASandboxSaysHowToBuildIt(t *testing.T) {
	r := refusalOf(fmt.Errorf("review: %w", state.ErrProgram))
	require.Equal(t, codeUnavailable, r.code)
	require.Contains(t, r.hint, "CGO_ENABLED=0")
	require.Equal(t, 2, exitOf(r.code))
}

// A folder of captured packages that cannot be used is for a person to mend, and the
// place it has on this machine is not told.
func TestAPackageStoreThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	r := refusalOf(fmt.Errorf("%w: %w", flowpkg.ErrStore, &fs.PathError{Op: "mkdir", Path: "/some/where", Err: syscall.ENOSPC}))
	require.Equal(t, codeUnsafe, r.code)
	require.Equal(t, "the folder of captured packages cannot be used", r.message)
	require.Equal(t, "make room on the disk that the project is on, and try again", r.hint)
}
