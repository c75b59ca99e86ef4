package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: B8.67 openclaw/openclaw#71319 - notices and warnings stand between the lines that a program reads
// rule: J-026, J-028, J-035, J-036
func TestComplaintB8_67Openclaw71319StandardOutputIsOneLineWhateverHappens(t *testing.T) {
	fine := reviewed(t, kinds)
	fine.env = append(fine.env, "JIG_DEBUG=1")
	fine.write(map[string]string{"flows/hello/FLOW.ts": "// a difference to warn about\n" + hello})
	require.NoError(t, os.Remove(filepath.Join(fine.dir, "jig.lock")))
	none := newPlace(t, nil)
	require.NoError(t, os.Remove(filepath.Join(none.dir, "jig.json")))
	fresh := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello})
	broken := newPlace(t, map[string]string{"flows/two/FLOW.ts": hello, "flows/two/FLOW.js": hello})
	nowhere := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	nowhere.env = append(nowhere.env, "JIG_BWRAP_PATH=/nonexistent")
	unsafe := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	require.NoError(t, os.Chmod(filepath.Join(unsafe.dir, ".jig"), 0o777))

	for _, tc := range []struct {
		p    *place
		args string
		exit int
	}{
		{fine, "run flow:flows/hello", 0}, {fine, "run flow:flows/throw", 1}, {fine, "run flow:flows/loads", 1}, {fine, "run flow:flows/exits", 1},
		{fine, "run flow:flows/wait --timeout 100ms", 1}, {fine, "run flow:flows/text", 1}, {fine, "run flow:none", 1}, {fine, "run flow:flows/slot", 1}, {fine, "run flow:flows/python", 2},
		{fine, "run flow:flows/hello --timeout 1d", 1}, {fine, "run flow:flows/hello --nothing", 2}, {fine, "run flow:flows/hello --json", 2},
		{fine, "review", 2}, {fine, "review --plan", 0}, {fine, "review --approve sha256:0", 1}, {fine, "review --agent codex", 2}, {fine, "review --color rainbow", 2},
		{fine, "status", 0}, {fine, "status more", 2}, {fine, "runs", 0}, {fine, "runs show none", 1}, {fine, "runs show", 2}, {fine, "doctor", 0}, {fine, "doctor nobody", 2},
		{fine, "version", 0}, {fine, "inspect codex", 1}, {fine, "inspect", 2}, {fine, "sessions", 0}, {fine, "sessions delete --all", 0}, {fine, "sessions delete", 2}, {fine, "sessions delete none", 1}, {fine, "sessions delete none --all", 2}, {fine, "init sub", 0}, {fine, "init sub", 1}, {fine, "unknown", 2}, {fine, "", 2},
		{fine, "runs prune", 0},
		{none, "run flow:x", 1}, {none, "review", 1}, {none, "status", 1}, {none, "runs", 1},
		{fresh, "run flow:flows/hello", 2}, {fresh, "review", 2}, {fresh, "status", 0}, {broken, "review", 1},
		{nowhere, "run flow:flows/hello", 2}, {nowhere, "review", 2}, {nowhere, "doctor", 2},
		{unsafe, "run flow:flows/hello", 1}, {unsafe, "review", 1}, {unsafe, "status", 1},
	} {
		args := append(strings.Fields(tc.args), "--json")
		o := tc.p.jig(args...)
		require.Equal(t, tc.exit, o.exit, "%v: %s", args, o)
		r := o.record() // one canonical line
		status := string(r["status"])
		require.NotEmpty(t, status, "%v", args)
		if tc.exit != 0 && !strings.HasPrefix(tc.args, "review") {
			require.Equal(t, `"failed"`, status, "%v", args)
			if tc.args != "doctor" { // its checks say what is wrong
				require.NotEmpty(t, r["code"], "%v", args)
			}
		}
		require.NotContains(t, o.stdout, "\x1b")
	}
}

// rule: J-029, J-033
func TestAnInterruptedCommandStillPrintsItsLine(t *testing.T) {
	p := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello, "bindings/slow.ts": "for (;;) {}\n"})
	r := p.start(p.command("review", "--json"))
	require.True(t, eventuallyExists(filepath.Join(p.dir, ".jig", "review.lock")))
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	o := r.wait()
	require.Equal(t, 2, o.exit, "%s", o)
	require.Contains(t, string(o.record()["diagnostics"]), "JIG_COMMAND_INTERRUPTED")
	require.Equal(t, `"failed"`, string(o.record()["status"]))
}
