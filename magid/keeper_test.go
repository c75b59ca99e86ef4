package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	keeperVariable    = "MAGID_TEST_KEEPER"
	abandonedVariable = "MAGID_TEST_ABANDONED"
)

// keeping is the process that cleans up after a test run that is ended before its own cleanups could run: by a timeout, by
// SIGKILL. It hears of folders on its standard input, whose end is the run's.
var keeping struct {
	once sync.Once
	mu   sync.Mutex
	tell io.Writer
	err  error
}

// keep has a folder removed, and whoever serves in it ended, should the run end without having let it go.
func keep(dir string) error { return tellKeeper("+" + dir) }

func letGo(dir string) error { return tellKeeper("-" + dir) }

func tellKeeper(line string) error {
	keeping.once.Do(func() { keeping.tell, keeping.err = startKeeper() })
	if keeping.err != nil {
		return keeping.err
	}
	keeping.mu.Lock()
	defer keeping.mu.Unlock()
	_, err := fmt.Fprintln(keeping.tell, line)
	return err
}

func startKeeper() (io.Writer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), keeperVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the run's group must not end it
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
}

// keeper is that process.
func keeper(in io.Reader) {
	folders := map[string]bool{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "+"); ok {
			folders[dir] = true
		} else {
			delete(folders, strings.TrimPrefix(lines.Text(), "-"))
		}
	}
	for dir := range folders {
		if pid := servesAt(filepath.Join(dir, "run", "magid.sock")); pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = os.RemoveAll(dir)
	}
}

// servesAt is the process that listens at a socket, 0 where none does.
func servesAt(socket string) int {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) { pid = peerPID(int(fd)) })
	return pid
}

// TestAbandonedChild is a test run that never ends by itself. By itself it does nothing.
func TestAbandonedChild(t *testing.T) {
	if os.Getenv(abandonedVariable) == "" {
		return
	}
	p, q := newPlace(t), newPlace(t)
	foreground := p.serve()
	background := parse[runningJSON](t, q.run("start", "--json").stdout)
	fmt.Println(p.dir, foreground.Process.Pid, q.dir, background.PID)
	select {}
}

func TestARunThatIsKilledLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestAbandonedChild$")
	cmd.Env = append(os.Environ(), abandonedVariable+"="+magid)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var dirs [2]string
	var pids [2]int
	_, err = fmt.Fscan(out, &dirs[0], &pids[0], &dirs[1], &pids[1])
	require.NoError(t, err)
	for i := range 2 {
		require.True(t, alive(pids[i]))
		require.DirExists(t, dirs[i])
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	until(t, "its daemons and folders are gone", func() bool {
		gone := true
		for i := range 2 {
			_, err := os.Stat(dirs[i])
			gone = gone && !alive(pids[i]) && os.IsNotExist(err)
		}
		return gone
	})
}
