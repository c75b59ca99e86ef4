//go:build unix

package client

import (
	"net"
	"syscall"
)

// direct writes to a socket without waiting and without a deadline: arming one would wake another thread. It is used by
// who writes.
type direct struct {
	raw     syscall.RawConn
	attempt func(fd uintptr) bool // made once, so that a write allocates nothing

	data    []byte
	written int
	failure error
}

// newDirect answers nil for a connection that is no socket.
func newDirect(conn net.Conn) *direct {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.attempt = func(fd uintptr) bool {
		for {
			// Sockets of package net do not block.
			d.written, d.failure = syscall.Write(int(fd), d.data)
			if d.failure != syscall.EINTR {
				return true // no waiting, whatever came of it
			}
		}
	}
	return d
}

// write writes what the kernel takes now, perhaps nothing.
func (d *direct) write(data []byte) (int, error) {
	d.data = data
	err := d.raw.Write(d.attempt)
	d.data = nil
	switch {
	case err != nil:
		return 0, err
	case d.failure == syscall.EAGAIN:
		return 0, nil
	case d.failure != nil:
		return 0, d.failure
	}
	return d.written, nil
}
