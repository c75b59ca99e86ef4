package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dyingWithUs has a child ended when the process that started it is.
func dyingWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

func peerPID(fd int) int {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}
