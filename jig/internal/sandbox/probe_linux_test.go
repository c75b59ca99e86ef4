package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// rule: J-012
func TestAProbeIsARealScopeOfEachKind(t *testing.T) {
	probed := sandbox.Probe(t.Context(), launcher(t), probe, "say", sandbox.ProbeAnswer)
	require.Equal(t, []sandbox.Probed{{Scope: "flow", OK: true}, {Scope: "native", OK: true}}, probed)

	// The flags are those of a run: a file in memory, the homes, the adapter's place.
	probed = sandbox.Probe(t.Context(), launcher(t), probe, "say-if", sandbox.ProbeAnswer, "/etc/hosts", "/codex", "/home/agent", "/work", sandbox.AdapterPath)
	require.False(t, probed[0].OK)
	require.True(t, probed[1].OK, probed[1].Reason)
	probed = sandbox.Probe(t.Context(), launcher(t), probe, "say-if", sandbox.ProbeAnswer, "/scratch", "/jig/jig")
	require.True(t, probed[0].OK)
	require.False(t, probed[1].OK)

	probed = sandbox.Probe(t.Context(), launcher(t), probe, "say", "something else")
	for _, p := range probed {
		require.False(t, p.OK)
		require.NotEmpty(t, p.Reason)
	}
}

func TestAProbeSaysWhyThereIsNoScope(t *testing.T) {
	false0 := filepath.Join(t.TempDir(), "bwrap")
	b, err := os.ReadFile("/bin/false")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(false0, b, 0o755))
	l, err := sandbox.NewLauncher(sandbox.Config{Bwrap: false0, UID: nobody, GID: nobody})
	require.NoError(t, err)
	for _, p := range sandbox.Probe(context.Background(), l, probe, "say", sandbox.ProbeAnswer) {
		require.False(t, p.OK)
		require.NotEmpty(t, p.Reason)
	}
	_, err = sandbox.Version(t.Context(), false0)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}
