//go:build !linux

package socket

import "golang.org/x/sys/unix"

// undumpable has nothing to call here: there are no core dumps, and the system's own
// protection of processes stands.
func undumpable() error { return nil }

// peerUser is the user the kernel recorded when the peer of fd connected.
func peerUser(fd int) (uint32, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// family is the address family of a socket.
func family(fd int) (int, error) {
	address, err := unix.Getsockname(fd)
	if _, ok := address.(*unix.SockaddrUnix); err == nil && ok {
		return unix.AF_UNIX, nil
	}
	return 0, err
}
