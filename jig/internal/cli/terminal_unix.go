//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalWidth is the number of columns, 0 where the terminal does not say, -1
// where f is none.
func terminalWidth(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1
	}
	width := -1
	raw.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width = int(size.Col)
		}
	})
	return width
}

// openTerminal opens the controlling terminal, to ask a person.
func openTerminal() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }
