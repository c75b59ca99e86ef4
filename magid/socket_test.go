package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

type runningJSON struct {
	Running bool   `json:"running"`
	Started bool   `json:"started"`
	PID     int    `json:"pid"`
	Log     string `json:"log"`
}

func parse[T any](t testing.TB, text string) T {
	t.Helper()
	var object T
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	return object
}

// complaint: 49 element-hq/matrix-authentication-service#2424, docker/desktop-feedback#554, SeemSeam/claude_codex_bridge#345, shuxueshuxue/Spexcode#30 - two daemons raced for one socket
// rule: M-131, M-003, M-004
func TestComplaint49MatrixAuthenticationService2424TwentyStartsLeaveOneDaemon(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stopAtEnd()
	results := make([]ran, 20)
	var starts sync.WaitGroup
	for i := range results {
		starts.Go(func() { results[i] = p.run("start", "--json") })
	}
	starts.Wait()
	pids, started := make(map[int]bool), 0
	for _, r := range results {
		require.Zero(t, r.code, r.stderr)
		answer := parse[runningJSON](t, r.stdout)
		require.True(t, answer.Running)
		pids[answer.PID] = true
		if answer.Started {
			started++
		}
	}
	require.Len(t, pids, 1, "all of them speak of one daemon")
	require.GreaterOrEqual(t, started, 1)
	for pid := range pids {
		require.True(t, alive(pid))
		require.Equal(t, []int{pid}, daemonsOf(t, p))
	}
}

// daemonsOf finds the daemons of a place by their environment, each by its own process ID.
func daemonsOf(t *testing.T, p *place) []int {
	t.Helper()
	return daemonsWith(t, "MAGI_SOCKET="+p.socket+"\x00")
}

// daemonsWith finds daemons by what is in their environment.
func daemonsWith(t *testing.T, variable string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte(variable)) {
			continue
		}
		command, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && bytes.Contains(command, []byte("serve\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// complaint: 49 element-hq/matrix-authentication-service#2424, docker/desktop-feedback#554 - a socket file that a crash left behind blocked every later start
// rule: M-132
func TestComplaint49DesktopFeedback554StaleSocketIsNoObstacle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.serve()
	first.kill()
	require.FileExists(t, p.socket)
	second := p.serve()
	require.NotEqual(t, first.Process.Pid, second.Process.Pid)
	second.signal(15)
	require.Zero(t, second.ends())
	require.NoFileExists(t, p.socket, "an orderly end leaves no socket")
	require.FileExists(t, p.socket+".lock")
	p.serve()
}

// complaint: 49 SeemSeam/claude_codex_bridge#345 - whatever lay at the socket's path was removed
// rule: M-133
func TestComplaint49ClaudeCodexBridge345FileAtThePathIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	require.NoError(t, os.Mkdir(filepath.Dir(p.socket), 0o700))
	require.NoError(t, os.WriteFile(p.socket, []byte("precious"), 0o640))
	for _, command := range []string{"start", "serve", "restart"} {
		r := p.run(command)
		require.Equal(t, 1, r.code, command)
		require.Contains(t, r.stderr, "is not a socket: it is left alone", command)
		require.NotContains(t, r.stderr, "\ngoroutine")
	}
	text, err := os.ReadFile(p.socket)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

// complaint: 49 shuxueshuxue/Spexcode#30 - a path that is too long failed without saying so
// rule: M-130
func TestComplaint49Spexcode30LongPathsWorkOrSayWhy(t *testing.T) {
	t.Parallel()
	for bytes, works := range map[int]bool{106: true, 107: true, 108: false} {
		p := newPlace(t)
		dir := filepath.Join(p.dir, "run")
		p.socket = dir + "/" + strings.Repeat("s", bytes-len(dir)-1)
		p.env = append(p.env, "MAGI_SOCKET="+p.socket)
		require.Len(t, p.socket, bytes)
		r := p.run("start")
		if works {
			require.Zero(t, r.code, r.stderr)
			p.stopAtEnd()
			p.dial()
			continue
		}
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "socket path is 108 bytes long and the kernel takes at most 107")
	}
}

// complaint: 48 docker/go-connections#75, alpacax/alpamon#409 - a foreign, open or read-only folder was used or failed obscurely
// rule: W-003, W-004, W-005
func TestComplaint48Alpamon409FoldersThatWillNotDoAreRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		mode os.FileMode
		text string
	}{
		"open":      {0o755, "is open to group or others"},
		"read-only": {0o500, "permission denied"},
	} {
		p := newPlace(t)
		dir := filepath.Dir(p.socket)
		require.NoError(t, os.Mkdir(dir, want.mode))
		require.NoError(t, os.Chmod(dir, want.mode))
		cmd := exec.Command(magid, "start")
		cmd.Env = p.env
		if os.Geteuid() == 0 {
			asUser(cmd)
			for _, path := range []string{p.dir, dir, p.workspace} {
				require.NoError(t, os.Chown(path, 4711, 4711))
			}
		}
		out, err := cmd.CombinedOutput()
		require.Error(t, err, name)
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), name)
		require.Contains(t, string(out), want.text, name)
		require.Contains(t, string(out), dir, name)
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, want.mode, info.Mode().Perm(), "%s: the mode is kept", name)
	}
}

// rule: W-004, W-005
func TestFolderOfSocketAndStateIsRefusedBeforeTheStateIsPutInOrder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	folder := filepath.Join(p.dir, ".local", "state", "magi") // both defaults without XDG variables
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.Chmod(folder, 0o755))
	cmd := exec.Command(magid, "serve")
	cmd.Env = []string{"HOME=" + p.dir, "MAGI_CONFIG=" + filepath.Join(p.dir, "none.toml")}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "is open to group or others")
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

// complaint: 48 joewalnes/websocketd#474, floatpane/matcha#1088 - sockets and state were as open as the umask left them
// rule: W-002, W-006, M-129, M-131, M-140
func TestComplaint48Websocketd474NothingIsOpenToOthersWhateverTheUmask(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.stopAtEnd()
	shell := exec.Command("/bin/sh", "-c", `umask 0; exec "$0" start`, magid)
	shell.Env = p.env
	out, err := shell.CombinedOutput()
	require.NoError(t, err, string(out))
	p.session(p.dial())
	var seen int
	for _, root := range []string{filepath.Dir(p.socket), p.state} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := os.Lstat(path)
			require.NoError(t, err)
			want := os.FileMode(0o600)
			if info.IsDir() {
				want = 0o700
			}
			require.Equal(t, want, info.Mode().Perm(), path)
			seen++
			return nil
		}))
	}
	require.GreaterOrEqual(t, seen, 8, "folder, socket, lock, state, log, sessions, session, journal")
}

// rule: M-135
func TestDaemonLeavesNoCore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.serve()
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(r.Process.Pid) + "/limits")
	require.NoError(t, err)
	for line := range strings.Lines(string(limits)) {
		if strings.HasPrefix(line, "Max core file size") {
			require.Equal(t, []string{"Max", "core", "file", "size", "0", "0", "bytes"}, strings.Fields(line))
			return
		}
	}
	require.Fail(t, "no limit on core files")
}

// rule: W-062
func TestThe513thConnectionIsClosedWithoutAByte(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.serve()
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for len(open) < 512 {
		conn, err := net.Dial("unix", p.socket)
		require.NoError(t, err)
		if !served(conn) { // the connection that asked whether the daemon answers is still being ended
			require.NoError(t, conn.Close())
			continue
		}
		open = append(open, conn)
	}
	over, err := net.Dial("unix", p.socket)
	require.NoError(t, err)
	n, err := over.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, over.Close())
	require.NoError(t, open[0].Close())
	open = open[1:]
	until(t, "a place becomes free", func() bool {
		conn, err := net.Dial("unix", p.socket)
		require.NoError(t, err)
		defer conn.Close()
		return served(conn)
	})
	r.logged("512 connections are served")
}

// served says that a new connection gets an answer.
func served(conn net.Conn) bool {
	if _, err := io.WriteString(conn, record("a", "daemon.status", "{}")); err != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && strings.Contains(line, "not_initialized")
}
