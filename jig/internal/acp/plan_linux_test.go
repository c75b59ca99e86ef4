package acp_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// prepared are the plans of the three clients, as somebody has them installed and
// pays for them with a key.
func prepared(t *testing.T) map[string]client.Plan {
	program, err := adapterProgram()
	require.NoError(t, err)
	native, err := os.ReadFile(program)
	require.NoError(t, err)
	// Below /tmp no client may lie: the scope has a /tmp of its own.
	root, err := os.MkdirTemp("/var/tmp", "acp-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	require.NoError(t, os.Mkdir(filepath.Join(root, "theme"), 0o755))
	for name, content := range map[string][]byte{
		"codex": native, "bwrap": native, "claude": native, "pi": native, "theme/dark.json": []byte("{}"), "theme/light.json": []byte("{}"),
		"package.json": []byte(`{"name":"@earendil-works/pi-coding-agent","version":"0.84.4"}`),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o755))
	}
	opener, err := client.New(client.Options{JigPath: program, JigDigest: "sha256:1111111111111111111111111111111111111111111111111111111111111111", UID: 65534, GID: 65534})
	require.NoError(t, err)
	dir, plans := t.TempDir(), map[string]client.Plan{}
	for name, variables := range map[string][]string{
		"codex":  {"OPENAI_API_KEY=key", "OPENAI_MODEL=m"},
		"claude": {"ANTHROPIC_API_KEY=key", "ANTHROPIC_MODEL=m"},
		"pi":     {"PI_PROVIDER=anthropic", "PI_MODEL=m", "PI_API_KEY=key"},
	} {
		e := project.NewEnvironment(append(variables, "HOME="+root, "PATH="+root))
		reach, err := project.NewReach(e)
		require.NoError(t, err)
		admitted, err := opener.Open(t.Context(), project.ClientRequest{Client: name, Project: dir, Path: "flows/agent/FLOW.ts", Environment: e, Reach: reach})
		require.NoError(t, err)
		digest, err := admitted.Provider.Digest()
		require.NoError(t, err)
		p, err := opener.Prepare(t.Context(), client.PrepareRequest{Client: name, Project: dir, Digest: digest, Admitted: admitted.Provider, Environment: e, Reach: reach})
		require.NoError(t, err)
		plans[name] = *p.Plan
	}
	return plans
}

func TestOnlyAClientThatLogsInHasTimeForIt(t *testing.T) {
	// rule: J-215
	plans := prepared(t)
	for name, want := range map[string]time.Duration{"codex": 30 * time.Second, "claude": 20 * time.Second, "pi": 20 * time.Second} {
		bubble(t, func(r *rig) {
			r.plan, r.peer = plans[name], silent
			r.start()
			r.next()
			r.send(request(1, "initialize", initialize))
			began := time.Now()
			require.Equal(t, fault.Disconnected, r.lost())
			require.Equal(t, want, time.Since(began), name)
			require.Contains(t, r.fails(fault.Uncertain).Message, "in time")
		})
	}
}
