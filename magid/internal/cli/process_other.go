//go:build !linux

package cli

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TIOCGETA

// dyingWithUs is for a child that has a session of its own. Only Linux can tie its life to ours.
func dyingWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// held is a process by its number: without Linux's descriptors there is nothing better to hold.
type held struct{ pid int }

func hold(pid int) (held, error) { return held{pid}, unix.Kill(pid, 0) }

func (held) close() {}

func (h held) terminate() error { return unix.Kill(h.pid, unix.SIGTERM) }

// ended looks again after d.
func (h held) ended(d time.Duration) (bool, error) {
	time.Sleep(d)
	err := unix.Kill(h.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	return false, err
}
