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
