package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const stageVariable = "TOOLS_LIVE_STAGE"

// TestMain runs the tests in namespaces of their own: a network with loopback
// alone, and mounts in which names are asked for there and /tmp is empty, because
// the agents leave things in it.
func TestMain(m *testing.M) {
	// The namespaces' process dies with the thread that made it.
	runtime.LockOSThread()
	if stage := os.Getenv(stageVariable); stage != "" {
		err := setUp(stage)
		if err == nil { // what an agent leaves behind comes here, see endOrphans
			err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tools/live:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	code, err := inside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tools/live:", err)
	}
	os.Exit(code)
}

// inside runs this program in the namespaces and returns its exit code.
func inside() (code int, err error) {
	agents, err := installed()
	if err != nil {
		return 1, err
	}
	stage, err := os.MkdirTemp("", "tools-live-")
	if err != nil {
		return 1, err
	}
	defer os.Remove(stage)
	// What go test would have written down below /tmp is not found inside. Without
	// it the result is not cached, which is right: agents are no files it knows of.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile=") })
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, "JIG_TEST_NATIVE="+agents, "TMPDIR=/tmp")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil
	case err != nil:
		return 1, fmt.Errorf("namespaces are needed: %w", err)
	}
	return 0, nil
}

// lookups receives every question for a name.
var lookups *net.UDPConn

// agents is where the real agents are, inside.
const agents = "/tmp/agents"

func setUp(stage string) error {
	const resolver = "/tmp/resolv.conf"
	steps := []struct {
		what string
		do   func() error
	}{
		{"private mounts", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"a new /tmp", func() error {
			return unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=512m")
		}},
		{"the agents' folder", func() error { return os.Mkdir(filepath.Join(stage, "agents"), 0o755) }},
		{"the agents", func() error {
			return unix.Mount(os.Getenv("JIG_TEST_NATIVE"), filepath.Join(stage, "agents"), "", unix.MS_BIND|unix.MS_REC, "")
		}},
		{"/tmp", func() error { return unix.Mount(stage, "/tmp", "", unix.MS_MOVE, "") }},
		{"resolv.conf", func() error {
			return os.WriteFile(resolver, []byte("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), 0o644)
		}},
		{"the resolver", func() error { return unix.Mount(resolver, "/etc/resolv.conf", "", unix.MS_BIND, "") }},
		{"loopback", loopback},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	var err error
	lookups, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53})
	return err
}

func loopback() error {
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
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
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
