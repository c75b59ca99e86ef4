package socket

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrServed says that another daemon holds the lock of this socket.
var ErrServed = errors.New("another daemon serves this socket")

// lock takes `<path>.lock` for this process, without waiting. The kernel gives
// it up when the process ends, however it ends.
func lock(path string) (*os.File, error) {
	name := path + ".lock"
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file %s cannot be opened: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	if err := holdLock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func holdLock(file *os.File) error {
	fd := int(file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("lock file %s: %w", file.Name(), err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("lock file %s is not a regular file of ours", file.Name())
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return ErrServed
		}
		return fmt.Errorf("lock file %s: %w", file.Name(), err)
	}
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return fmt.Errorf("lock file %s: %w", file.Name(), err)
	}
	// Who holds the lock stands in the file, for a person and for `magid stop`.
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("lock file %s: %w", file.Name(), err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("lock file %s: %w", file.Name(), err)
	}
	return nil
}

// Holder reads the process ID from the lock file of this socket. The file
// outlives its daemon: the number means something only while a daemon
// answers on the socket.
func Holder(path string) (int, error) {
	name := path + ".lock"
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("lock file %s cannot be read: %w", name, err)
	}
	defer file.Close()
	text := make([]byte, 16)
	n, err := file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("lock file %s cannot be read: %w", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(string(text[:n]), "\n"))
	if err != nil || pid < 1 {
		return 0, fmt.Errorf("lock file %s holds no process ID", name)
	}
	return pid, nil
}
