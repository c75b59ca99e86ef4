package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const insideVariable = "TOOLS_LIVE_INSIDE"

// TestMain runs the tests in namespaces of their own: a network with loopback
// alone, and mounts in which names are asked for there.
func TestMain(m *testing.M) {
	// The namespaces' process dies with the thread that made it.
	runtime.LockOSThread()
	if os.Getenv(insideVariable) != "" {
		if err := setUp(); err != nil {
			fmt.Fprintln(os.Stderr, "tools/live:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=yes")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1))
	case err != nil:
		fmt.Fprintln(os.Stderr, "tools/live: namespaces are needed:", err)
		os.Exit(1)
	}
}

// lookups receives every question for a name.
var lookups *net.UDPConn

func setUp() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	resolver, err := os.CreateTemp("", "resolv.conf-")
	if err != nil {
		return err
	}
	_, err = resolver.WriteString("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
	if err := errors.Join(err, resolver.Chmod(0o644), resolver.Close()); err != nil {
		return err
	}
	if err := unix.Mount(resolver.Name(), "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("the resolver: %w", err)
	}
	if err := os.Remove(resolver.Name()); err != nil { // the mount keeps it
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	lookups, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53})
	return err
}

// installed is the folder of the real agents.
func installed() (string, error) {
	if dir := os.Getenv("JIG_TEST_NATIVE"); dir != "" {
		return dir, nil
	}
	dir, err := filepath.Abs("../native/installed")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "codex")); err != nil {
		return "", fmt.Errorf("run make native: %w", err)
	}
	return dir, nil
}
