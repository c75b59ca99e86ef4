package sandbox_test

import (
	"context"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// target: <= 1.4x BenchmarkContainedSpawn_LimitBareBubblewrap
func BenchmarkContainedSpawn(b *testing.B) {
	l := launcher(b)
	b.ReportAllocs()
	for b.Loop() {
		p, err := l.Start(context.Background(), spec("say", "hello"))
		require.NoError(b, err)
		p.Stdin.Close()
		out, err := io.ReadAll(p.Stdout)
		require.NoError(b, err)
		require.Equal(b, "hello\n", string(out))
		exit, err := p.Wait(context.Background())
		require.NoError(b, err)
		require.Zero(b, exit.Code)
		require.NoError(b, p.Close())
	}
}

// BenchmarkContainedSpawn_LimitBareBubblewrap is the same scope by hand, of which
// nobody proves an end.
func BenchmarkContainedSpawn_LimitBareBubblewrap(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		out, err := exec.Command("bwrap",
			"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
			"--hostname", "jig", "--unshare-net", "--disable-userns", "--proc", "/proc", "--dev", "/dev",
			"--size", "16777216", "--tmpfs", "/tmp", "--size", "67108864", "--tmpfs", "/scratch", "--ro-bind", probe, "/jig/jig",
			"--remount-ro", "/dev", "--remount-ro", "/", "--clearenv", "--setenv", "PATH", "/nonexistent", "--chdir", "/scratch", "--", "/jig/jig", "say", "hello").Output()
		require.NoError(b, err)
		require.Equal(b, "hello\n", string(out))
	}
}
