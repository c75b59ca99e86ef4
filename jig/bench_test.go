package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// target: <= 4x BenchmarkRunHello_LimitBubblewrapAndAGoProcess
func BenchmarkRunHello(b *testing.B) {
	p := reviewed(b, map[string]string{"flows/hello/FLOW.ts": hello})
	b.ReportAllocs()
	for b.Loop() {
		out, err := p.command("run", "flow:flows/hello").Output()
		require.NoError(b, err)
		require.Contains(b, string(out), "Hello, world!")
	}
}

// BenchmarkRunHello_LimitBubblewrapAndAGoProcess starts the scope of a Flow by
// hand, with the smallest Go program in it.
func BenchmarkRunHello_LimitBubblewrapAndAGoProcess(b *testing.B) {
	minimal := filepath.Join(b.TempDir(), "minimal")
	build := exec.Command("go", "build", "-o", minimal, "./testdata/minimal")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		out, err := exec.Command("bwrap",
			"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
			"--size", "67108864", "--tmpfs", "/scratch", "--size", "16777216", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev",
			"--ro-bind", minimal, "/jig/jig", "--ro-bind", dir, "/package", "--chdir", "/package", "--clearenv", "--remount-ro", "/", "--", "/jig/jig").Output()
		require.NoError(b, err)
		require.Equal(b, "Hello, world!\n", string(out))
	}
}
