package socket

import "golang.org/x/sys/unix"

// undumpable keeps other processes of the user from attaching to this one.
func undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// peerUser is the user the kernel recorded when the peer of fd connected.
func peerUser(fd int) (uint32, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// family is the address family of a socket.
func family(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN) }
