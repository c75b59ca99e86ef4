package apptest

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

var race = flag.Bool("race-daemon", false, "build the program under test with the race detector; bounds of memory then do not hold")

// patience bounds every wait for another process. No test expects that it passes.
const patience = 60 * time.Second

// program is magid, built once.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "apptest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "magid")
	args := []string{"build", "-o", program}
	if *race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "..")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	return m.Run()
}

// daemon is one running daemon, with a state folder, a workspace and a model of its own.
type daemon struct {
	t         testing.TB
	dir       string
	socket    string
	state     string
	workspace string
	model     *model
	env       []string
	cmd       *exec.Cmd
	log       *log
	done      chan struct{}
	dumped    bool // it was told to print its stacks
}

// log is what a process writes.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newDaemon makes a place for a daemon without starting one.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ma") // short, for the socket's sake
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	d := &daemon{
		t: t, dir: dir, socket: filepath.Join(dir, "run", "s"), state: filepath.Join(dir, "state"), workspace: filepath.Join(dir, "work"),
		model: newModel(t), log: &log{},
	}
	require.NoError(t, os.Mkdir(d.workspace, 0o700))
	d.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "MAGI_SOCKET=" + d.socket, "MAGI_STATE=" + d.state,
		"MAGI_CONFIG=" + filepath.Join(dir, "config.toml"), "MAGI_BASE_URL=" + d.model.url, "MAGI_MODEL=apptest",
	}
	return d
}

// start is a daemon that answers.
func start(t testing.TB) *daemon {
	t.Helper()
	d := newDaemon(t)
	d.serve()
	return d
}

// serve runs the daemon until it answers. It is ended with the test at the latest.
func (d *daemon) serve() {
	d.t.Helper()
	d.cmd = exec.Command(program, "serve")
	d.cmd.Env = d.env
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	require.NoError(d.t, d.cmd.Start())
	cmd, done := d.cmd, make(chan struct{})
	d.done = done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		for _, sign := range []string{"DATA RACE", "panic: ", "fatal error: ", "goroutine "} {
			if !d.dumped {
				require.NotContains(d.t, d.log.String(), sign, "a bug, as the Go runtime shows it")
			}
		}
	})
	until(d.t, "the daemon answers", func() bool {
		conn, err := net.Dial("unix", d.socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// kill ends the daemon as a crash would.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// run runs one command of the program and gives what it printed.
func (d *daemon) run(arguments ...string) string {
	d.t.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Env = d.env
	out, err := cmd.CombinedOutput()
	require.NoError(d.t, err, string(out))
	return string(out)
}

// write makes a file of the workspace.
func (d *daemon) write(name, content string) {
	d.t.Helper()
	path := filepath.Join(d.workspace, name)
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(d.t, os.WriteFile(path, []byte(content), 0o600))
}

// journal gives the lines of a session's journal.
func (d *daemon) journal(session string) []object {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.state, "sessions", session, "journal.jsonl"))
	require.NoError(d.t, err)
	var records []object
	for line := range strings.Lines(string(text)) {
		records = append(records, parse(d.t, line))
	}
	return records
}

// ofType gives the records of one type.
func ofType(records []object, kind string) (out []object) {
	for _, r := range records {
		if r["type"] == kind {
			out = append(out, r)
		}
	}
	return out
}

// until waits for what another process brings about.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		require.True(t, time.Now().Before(deadline), "waited for: %s", what)
		time.Sleep(2 * time.Millisecond)
	}
}
