package apptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// starts runs the daemon in the background, where it ends when nobody needs it for a second.
func (d *daemon) starts() {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(filepath.Join(d.dir, "config.toml"), []byte("[daemon]\nidle_timeout = \"1s\"\n"), 0o600))
	d.run("start")
	d.t.Cleanup(func() { d.run("stop") })
}

func (d *daemon) served() bool {
	_, err := os.Stat(d.socket)
	return err == nil
}

// rule: M-023
func TestRegistryDoesNotKeepAnIdleDaemonAndAPinnedExecutorDoes(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.starts()
	a := d.lending(600000)
	a.close()
	until(t, "the daemon ends, the registry and the executor with it", func() bool { return !d.served() })

	d.run("start")
	b := d.lending(3000)
	d.model.will(calls(alpha("p1", "x")))
	b.start("x")
	call := b.call()
	b.close()
	// Idle for longer than a second: what the daemon waits for is the call of an executor that nobody has attached.
	until(t, "the daemon ends", func() bool { return !d.served() })
	journal := d.journal(b.session)
	result := ofType(journal, "tool_result")[0]
	require.Equal(t, call["call_id"], result["call_id"])
	require.Equal(t, "tool_timeout", result["code"], "the call's own deadline ended it, not the daemon's")
	require.Equal(t, "tool_failed", ofType(journal, "terminal")[0].object("error")["code"])
	log, err := os.ReadFile(filepath.Join(d.state, "magid.log"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(log), "nobody needed the daemon"))
}
