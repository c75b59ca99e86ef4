package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// complaint: B3.30 openai/codex#47429 - one foreign mount with an odd path on the host broke every command in the sandbox
func TestComplaintB3_30Codex47429OddMountsOfTheHostDoNotMatter(t *testing.T) {
	p := newPlace(t, map[string]string{"flows/hello/FLOW.ts": hello})
	// A mount namespace of the test's own; only root may make one without a user
	// namespace around it.
	namespaces, plain := []string{"--mount"}, ""
	if os.Geteuid() != 0 {
		namespaces, plain = []string{"--user", "--map-current-user", "--keep-caps", "--mount"}, "setpriv --ambient-caps -all --inh-caps -all"
	}
	odd := t.TempDir()
	for _, args := range [][]string{{"review", "--yes"}, {"run", "flow:flows/hello"}} {
		cmd := exec.Command("unshare", append(namespaces, "sh", "-ec", `
			for name in 'new
line' 'a b' 'back\\slash' '\040' 'tab	x'; do
				mkdir -p "$1/$name"; mount -t tmpfs "odd $name" "$1/$name"
			done
			grep -qF '\012' /proc/self/mountinfo
			shift; exec `+plain+` "$@"`, "sh", odd, jig)...)
		cmd.Args = append(cmd.Args, args...)
		cmd.Dir, cmd.Env = p.dir, p.env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	found, err := filepath.Glob(filepath.Join(odd, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, found)
}
