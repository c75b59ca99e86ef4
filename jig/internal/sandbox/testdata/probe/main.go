// Command probe is what the tests run inside a scope: it tries one thing and
// prints what came of it.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	args := os.Args[1:]
	switch args[0] {
	case "say-if": // the answer, if what follows is there
		for _, path := range os.Args[3:] {
			if _, err := os.Stat(path); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println(os.Args[2])
	case "say":
		fmt.Println(os.Args[2])
	case "first": // who is the first process, and what its child can do to that one
		fmt.Println("pid", os.Getpid())
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		child := exec.Command("/proc/self/exe", "seize")
		child.Stdout = os.Stdout
		child.Run()
	case "seize":
		_, err := os.ReadDir("/proc/1/fd")
		fmt.Println("look:", err != nil)
		fd, err := unix.PidfdOpen(1, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		fmt.Println("take:", err)
	case "fds":
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") {
				fmt.Println(e.Name())
			}
		}
	case "status":
		f, _ := os.Open("/proc/self/status")
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fmt.Println(lines.Text())
		}
	case "namespaces":
		for _, n := range []string{"user", "mnt", "pid", "ipc", "uts", "cgroup", "net"} {
			to, _ := os.Readlink("/proc/self/ns/" + n)
			fmt.Println(n, to)
		}
		sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
		fmt.Println("session", sid)
	case "env":
		env := os.Environ()
		sort.Strings(env)
		for _, e := range env {
			fmt.Println(e)
		}
	case "ls":
		entries, err := os.ReadDir(args[1])
		for _, e := range entries {
			fmt.Println(e.Name())
		}
		report(err)
	case "read":
		b, err := os.ReadFile(args[1])
		fmt.Print(string(b))
		report(err)
	case "write":
		report(os.WriteFile(args[1], []byte("x"), 0o600))
	case "open-write":
		f, err := os.OpenFile(args[1], os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		report(err)
	case "fill":
		n, _ := strconv.ParseInt(args[2], 10, 64)
		f, err := os.Create(args[1])
		if err == nil {
			_, err = io.CopyN(f, zeros{}, n)
		}
		report(err)
	case "dial":
		c, err := net.DialTimeout("tcp", args[1], 2*time.Second)
		if err == nil {
			c.Close()
		}
		report(err)
	case "remount":
		report(syscall.Mount("", args[1], "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
	case "userns":
		report(exec0(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}))
	case "tty":
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			c := byte('x')
			if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCSTI, uintptr(unsafe.Pointer(&c))); e != 0 {
				err = e
			}
		}
		report(err)
	case "eat":
		n, _ := strconv.Atoi(args[1])
		var keep [][]byte
		for range n {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			keep = append(keep, b)
		}
		fmt.Println("ate", len(keep))
		select {}
	case "orphan":
		// A grandchild in a session of its own that ignores TERM and keeps
		// standard output open.
		cmd := exec.Command("/proc/self/exe", "stay", args[1])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		report(cmd.Start())
	case "component":
		// A Flow that answers well and leaves a grandchild with its standard
		// output, which only holds it or writes there before the Flow ends.
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println(`{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":1}}`)
		ready, w, _ := os.Pipe()
		cmd := exec.Command("/proc/self/exe", "heir", args[1], "stay-heir")
		cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{w}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() != nil {
			os.Exit(9)
		}
		w.Close()
		io.Copy(io.Discard, ready)
	case "family":
		// A command that stays, and a child that holds the given stream alone.
		cmd := exec.Command("/proc/self/exe", "heir", "holds", "stay-family")
		ready, w, _ := os.Pipe()
		cmd.ExtraFiles = []*os.File{w}
		if args[1] == "stdout" {
			cmd.Stdout = os.Stdout
		} else {
			cmd.Stderr = os.Stderr
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		report(cmd.Start())
		w.Close()
		io.Copy(io.Discard, ready)
		if args[2] == "ends" {
			return
		}
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	case "heir":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
		if args[1] == "writes" {
			fmt.Println("still here")
		}
		os.NewFile(3, "ready").Close()
		for {
			time.Sleep(time.Hour)
		}
	case "stay":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
		fmt.Println("staying")
		for {
			time.Sleep(time.Hour)
		}
	case "zombies":
		for range 200 {
			exec.Command("/proc/self/exe", "spawn").Start()
		}
		deadline := time.Now().Add(10 * time.Second)
		for {
			n := count("Z")
			if n == 0 || time.Now().After(deadline) {
				// Our own children are ours to reap; only those of others count.
				fmt.Println("zombies", n)
				return
			}
			var ws syscall.WaitStatus
			syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		}
	case "spawn":
		exec.Command("/proc/self/exe", "exit", "0").Start()
	case "exit":
		n, _ := strconv.Atoi(args[1])
		os.Exit(n)
	case "signal":
		n, _ := strconv.Atoi(args[1])
		signal.Reset(syscall.Signal(n))
		syscall.Kill(os.Getpid(), syscall.Signal(n))
		select {}
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "noise":
		n, _ := strconv.Atoi(args[1])
		io.CopyN(os.Stderr, zeros{}, int64(n))
		fmt.Println("done")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func report(err error) {
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("ok")
}

func exec0(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/proc/self/exe", "exit", "0")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

func count(state string) (n int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err == nil {
			rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
			if f := strings.Fields(rest); len(f) > 0 && f[0] == state {
				n++
			}
		}
	}
	return n
}
