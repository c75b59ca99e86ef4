package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// watch runs jig with a terminal as its standard error, and collects what is shown.
func (p *place) watch(args ...string) *running {
	p.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(p, err)
	require.NoError(p, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(p, err)
	require.NoError(p, unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(p, err)
	r := &running{p: p, cmd: exec.Command(filepath.Join(base, "jig"), args...), began: time.Now(), stderr: newWatched(), done: make(chan error, 1)}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = p.dir, append(p.env, "TERM=xterm"), &r.stdout, slave
	require.NoError(p, r.cmd.Start())
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			k, err := master.Read(b)
			r.stderr.Write(b[:k])
			if err != nil {
				return
			}
		}
	}()
	go func() {
		err := r.cmd.Wait()
		<-read // the last of it is read before it is looked at
		master.Close()
		r.done <- err
	}()
	p.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			<-r.done
		}
	})
	return r
}

// rule: J-017, J-019
func TestWhoWatchesSeesTheTurnAndTheTextAsItComes(t *testing.T) {
	p := newPlace(t, codex, ", maxTurns: 2")
	r := p.watch("run", "binding:probe", "--timeout", "60s", "--input",
		`{"prompts":[{"text":"ECHO plain \u001b[31mred \u202ebackwards \u200bnothing"},{"text":"SLOW","cancel":true}]}`)
	r.says(`binding:probe > native | plain \u{1b}[31mred \u{202e}backwards \u{200b}nothing`)
	r.says("binding:probe prompting, turn 1 of 2, ")
	r.says("binding:probe prompting, turn 2 of 2, ")
	r.says("native | Wait.")
	o := r.wait().ends(0, "succeeded")
	require.Regexp(t, `turn 1 of 2, [0-9]+s elapsed, [0-9]+s left`, o.stderr)
	require.NotContains(t, o.stderr, "\x1b[31mred")
	require.NotContains(t, o.stderr, "\u202e")
	require.NotContains(t, o.stderr, "\u200b")
	// Nobody who reads a file or a pipe gets any of it.
	o = p.agent("Say HELLO")
	require.NotContains(t, o.stderr, "Hello from a script.")
	require.NotContains(t, o.stderr, "elapsed")
}
