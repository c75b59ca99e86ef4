package socket

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
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
	var cred *unix.Ucred
	var failure error
	if err := raw.Control(func(fd uintptr) {
		cred, failure = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("peer of a connection: %w", err)
	}
	if failure != nil {
		return fmt.Errorf("peer of a connection: %w", failure)
	}
	if int(cred.Uid) != uid {
		return fmt.Errorf("%w (user %d)", ErrForeignPeer, cred.Uid)
	}
	return nil
}
