package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// direct writes to a socket without ever waiting. It is used by who has the pen.
type direct struct {
	raw     syscall.RawConn
	attempt func(fd uintptr) // made once, so that a write allocates nothing

	data    []byte
	written int
	failure error
}

// newDirect answers nil for a connection that is no socket.
func newDirect(network net.Conn) *direct {
	socket, ok := network.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.attempt = func(fd uintptr) {
		for {
			// Sockets of package net do not block.
			d.written, d.failure = unix.Write(int(fd), d.data)
			if !errors.Is(d.failure, unix.EINTR) {
				return
			}
		}
	}
	return d
}

// write writes what the kernel takes now, perhaps nothing.
func (d *direct) write(data []byte) (int, error) {
	d.data = data
	err := d.raw.Control(d.attempt)
	d.data = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(d.failure, unix.EAGAIN):
		return 0, nil
	case d.failure != nil:
		return 0, d.failure
	}
	return d.written, nil
}
