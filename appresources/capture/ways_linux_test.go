package capture

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func ways() []way {
	if hasOpenat2() {
		return []way{plain, beneath}
	}
	return []way{plain}
}

func TestBestWayIsOpenat2WhereTheKernelAllowsIt(t *testing.T) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(root)
	fd, err := unix.Openat2(root, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH})
	if err != nil {
		require.Equal(t, plain.name, best().name)
		return
	}
	unix.Close(fd)
	require.Equal(t, beneath.name, best().name)
}
