package prefault

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestTheFirstPagesOfDataAndHeapAreThere(t *testing.T) {
	if failed[0] == syscall.EINVAL { // a kernel before 5.14
		require.Equal(t, syscall.EINVAL, failed[1])
		return
	}
	require.Zero(t, failed)
	for place, most := range map[uintptr]uintptr{uintptr(unsafe.Pointer(&data)): DataBytes, uintptr(unsafe.Pointer(heap)): HeapBytes} {
		start, end := around(table[:], place)
		require.Positive(t, end-start)
		resident := make([]byte, min(end-start, most)/uintptr(os.Getpagesize()))
		_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, start, min(end-start, most), uintptr(unsafe.Pointer(&resident[0])))
		require.Zero(t, errno)
		for i, r := range resident {
			require.Equal(t, byte(1), r&1, "page %d", i)
		}
	}
}

func TestMappings(t *testing.T) {
	maps := "00400000-004ad000 r-xp 00000000 fe:00 10003559   /a b\n0059c000-005d2000 rw-p 00000000 00:00 0 \n32893f400000-32893fc00000 rw-p 00000000 00:00 0 "
	for place, want := range map[uintptr][2]uintptr{
		0x3fffff: {}, 0x400000: {0x400000, 0x4ad000}, 0x4acfff: {0x400000, 0x4ad000}, 0x4ad000: {}, 0x59c000: {0x59c000, 0x5d2000},
		0x32893f400001: {0x32893f400000, 0x32893fc00000}, 0x32893fc00000: {},
	} {
		start, end := around([]byte(maps), place)
		require.Equal(t, want, [2]uintptr{start, end}, "%x", place)
	}
	for n := range len(maps) {
		around([]byte(maps[:n]), 1<<40) // wherever it breaks off
	}
}
