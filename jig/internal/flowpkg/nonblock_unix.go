//go:build unix

package flowpkg

import "syscall"

// nonblock keeps the open of a FIFO that took a file's place from waiting.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
