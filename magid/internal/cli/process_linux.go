package cli

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// dyingWithUs is for a child that has a session of its own and no life without us.
func dyingWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// held is a process that keeps its identity, also after it has ended.
type held struct{ fd int }

func hold(pid int) (held, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	return held{fd}, err
}

func (h held) close() { _ = unix.Close(h.fd) }

func (h held) terminate() error { return unix.PidfdSendSignal(h.fd, unix.SIGTERM, nil, 0) }

// ended waits for at most d.
func (h held) ended(d time.Duration) (bool, error) {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, err
	}
	return n > 0, nil
}
