package live_test

import (
	"errors"
	"flag"
	"fmt"
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

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// The tests run in three processes, one the child of the other: the first builds
// and tidies up, the second makes the namespaces and becomes the third.
const (
	stageVariable  = "JIG_LIVE_STAGE"
	baseVariable   = "JIG_LIVE_BASE"
	stageSetUp     = "set up"
	stageRun       = "run"
	nativeVariable = "JIG_TEST_NATIVE"
)

const ordinary = 65534

// base is the folder of everything the tests use.
var base = os.Getenv(baseVariable)

func TestMain(m *testing.M) {
	flag.Parse()
	switch os.Getenv(stageVariable) {
	case stageSetUp:
		fail(setUp())
	case stageRun:
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			fail(err)
		}
		os.Exit(m.Run())
	}
	code, err := whole()
	if err != nil {
		fail(err)
	}
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "live:", err)
	os.Exit(1)
}

// whole builds what is tested and runs the tests as whoever this is, and as an
// ordinary user where that is root.
func whole() (code int, err error) {
	installed, err := installed()
	if err != nil {
		return 1, err
	}
	// Below /tmp and the like a native scope shows nothing of the host.
	base, err = os.MkdirTemp("/var/tmp", "jig-live-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := os.Chmod(base, 0o755); err != nil {
		return 1, err
	}
	for _, folder := range []string{"native", "home"} {
		if err := os.Mkdir(filepath.Join(base, folder), 0o755); err != nil {
			return 1, err
		}
	}
	for name, pkg := range map[string]string{"jig": "github.com/magi-jig/magi-jig/jig", "model": "github.com/magi-jig/magi-jig/tools/cmd/scriptedprovider"} {
		build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(base, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%s%w", out, err)
		}
	}
	// The ordinary user may not see the repository.
	if err := copyFile("../../docs/flows.md", filepath.Join(base, guide)); err != nil {
		return 1, err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 1, err
	}
	if err := os.WriteFile(filepath.Join(base, "live.test"), self, 0o755); err != nil {
		return 1, err
	}
	users := []int{os.Geteuid()}
	if users[0] == 0 && flag.Lookup("test.bench").Value.String() == "" {
		users = append(users, ordinary)
	}
	for _, user := range users {
		if code, err = asUser(user, installed); code != 0 || err != nil {
			return 1, err
		}
	}
	return 0, nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// installed is the folder that `make native` fills.
func installed() (string, error) {
	at := os.Getenv(nativeVariable)
	if at == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		for ; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
				break
			}
			if dir == filepath.Dir(dir) {
				return "", errors.New("there is no go.work above this folder, and " + nativeVariable + " is not set")
			}
		}
		at = filepath.Join(dir, "tools", "native", "installed")
	}
	for _, needed := range []string{"codex/node_modules/.bin/codex", "claude/node_modules/.bin/claude", "pi/pi"} {
		if _, err := os.Stat(filepath.Join(at, needed)); err != nil {
			return "", fmt.Errorf("%s is not installed: run make native", strings.Split(needed, "/")[0])
		}
	}
	return filepath.EvalSymlinks(at)
}

// differ are the tests whose way into a scope, or out of it, is another one for
// another user; the second pass of a short suite takes only these.
const differ = "OneTurnWithEachClient|NativeScopeHolds|ToolOfCodex|CodexRemembers|ASignal|Outlives"

// asUser runs the tests of this program as a user, in namespaces of their own.
func asUser(user int, installed string) (int, error) {
	// What the outer process writes about itself is no affair of the inner one's.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool {
		return strings.HasPrefix(a, "-test.testlogfile") || strings.HasPrefix(a, "-test.coverprofile") || strings.HasPrefix(a, "-test.gocoverdir")
	})
	if user != os.Geteuid() && !*long && flag.Lookup("test.run").Value.String() == "" {
		args = append(args, "-test.run="+differ)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), stageVariable+"="+stageSetUp, baseVariable+"="+base, nativeVariable+"="+installed, fmt.Sprintf("JIG_LIVE_USER=%d", user))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}
	}
	runtime.LockOSThread() // the parent death signal is the thread's
	defer runtime.UnlockOSThread()
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}

// setUp prepares the namespaces it is in, gives up what that took, and becomes the
// process that runs the tests.
func setUp() error {
	runtime.LockOSThread()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount(os.Getenv(nativeVariable), filepath.Join(base, "native"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("the clients: %w", err)
	}
	resolver := filepath.Join(base, "resolv.conf")
	if err := os.WriteFile(resolver, []byte("nameserver 127.0.0.1\noptions timeout:10 attempts:2\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(resolver, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("the resolver: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
		return fmt.Errorf("ports: %w", err)
	}
	os.Setenv(stageVariable, stageRun)
	if os.Getenv("JIG_LIVE_USER") == fmt.Sprint(ordinary) && os.Geteuid() == 0 {
		home := filepath.Join(base, "home")
		if err := os.Chown(home, ordinary, ordinary); err != nil {
			return err
		}
		os.Setenv("HOME", home)
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(ordinary), syscall.Setuid(ordinary)); err != nil {
			return fmt.Errorf("the ordinary user: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	os.Setenv("TMPDIR", filepath.Join(base, "home"))
	return unix.Exec(filepath.Join(base, "live.test"), os.Args, os.Environ())
}

func loopbackUp() error {
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
