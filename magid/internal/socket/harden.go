package socket

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps what the process knows inside it: no core dump, no other process of the
// user reading its memory, and no file made for anybody else (magid: Process hygiene).
// It changes the whole process and is called first thing by a daemon.
func Harden() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 0, Max: 0}); err != nil {
		return fmt.Errorf("core dumps cannot be turned off: %w", err)
	}
	if err := undumpable(); err != nil {
		return fmt.Errorf("the process cannot be closed to debuggers: %w", err)
	}
	unix.Umask(0o077)
	return nil
}
