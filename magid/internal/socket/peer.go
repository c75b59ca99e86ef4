package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// ErrForeignPeer says that a process of another user connected. Its connection has
// been closed without a byte.
var ErrForeignPeer = errors.New("connection of another user refused")

// Accept waits for the next connection of our own user. A connection of anybody else
// is closed and answers [ErrForeignPeer], after which Accept may be called again.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.unix.AcceptUnix()
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn, os.Geteuid()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkPeer compares the user the kernel recorded when the peer connected.
func checkPeer(conn *net.UnixConn, uid int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("peer of a connection: %w", err)
	}
	var user uint32
	var failure error
	if err := raw.Control(func(fd uintptr) {
		user, failure = peerUser(int(fd))
	}); err != nil {
		return fmt.Errorf("peer of a connection: %w", err)
	}
	if failure != nil {
		return fmt.Errorf("peer of a connection: %w", failure)
	}
	if int(user) != uid {
		return fmt.Errorf("%w (user %d)", ErrForeignPeer, user)
	}
	return nil
}
