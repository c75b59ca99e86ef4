package prefault

import (
	"syscall"
	"unsafe"
)

// populateWrite is MADV_POPULATE_WRITE.
const populateWrite = 23

// Two places to know the mappings by.
var (
	data = 1
	heap = new(int)
)

// failed is what the kernel said to the two requests.
var failed [2]syscall.Errno

// table is read into memory that the program has already, and is long enough for
// the mappings that a program begins with.
var table [4096]byte

func init() {
	fd, err := syscall.Open("/proc/self/maps", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	n, _ := syscall.Read(fd, table[:])
	syscall.Close(fd)
	ask := func(place uintptr, most uintptr) syscall.Errno {
		start, end := around(table[:max(n, 0)], place)
		_, _, errno := syscall.RawSyscall(syscall.SYS_MADVISE, start, min(end-start, most), populateWrite)
		return errno
	}
	failed[0] = ask(uintptr(unsafe.Pointer(&data)), DataBytes)
	failed[1] = ask(uintptr(unsafe.Pointer(heap)), HeapBytes)
}

// around finds the mapping around a place in lines "start-end perms …", or gives 0
// twice.
func around(maps []byte, place uintptr) (start, end uintptr) {
	for len(maps) > 0 {
		start, maps = number(maps)
		end, maps = number(maps)
		if start <= place && place < end {
			return start, end
		}
		for len(maps) > 0 && maps[0] != '\n' {
			maps = maps[1:]
		}
		if len(maps) > 0 {
			maps = maps[1:]
		}
	}
	return 0, 0
}

// number reads a hexadecimal number and the one byte after it.
func number(b []byte) (n uintptr, rest []byte) {
	for i, c := range b {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uintptr(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | uintptr(c-'a'+10)
		default:
			return n, b[i+1:]
		}
	}
	return n, nil
}
