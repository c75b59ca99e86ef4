//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import "golang.org/x/sys/unix"

// passFlags open a folder to pass through it. O_PATH is Linux's own; here a
// folder on the way must be readable.
const passFlags = unix.O_RDONLY

func best() way { return plain }
