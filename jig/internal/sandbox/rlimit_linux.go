package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ApplyRlimits bounds the calling process and all it will start: no core file,
// [OpenFiles] descriptors, and dataBytes of private memory (0 leaves memory
// alone). The jig binary calls it first thing inside a scope, before it reads a
// byte that somebody else wrote. The bounds cannot be raised again.
func ApplyRlimits(dataBytes uint64) error {
	set := func(name string, resource int, value uint64) error {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("sandbox: %s: %w", name, err)
		}
		return nil
	}
	if err := set("RLIMIT_CORE", unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if err := set("RLIMIT_NOFILE", unix.RLIMIT_NOFILE, OpenFiles); err != nil {
		return err
	}
	if dataBytes > 0 {
		if err := set("RLIMIT_DATA", unix.RLIMIT_DATA, dataBytes); err != nil {
			return err
		}
	}
	return nil
}
