package nativeinspect

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeELF makes a sparse program of 100 MB that needs what a real client needs,
// with its dynamic section and names far from the front.
func largeELF(tb testing.TB) string {
	tb.Helper()
	e := elfFile{
		interpreter: "/lib64/ld-linux-x86-64.so.2", runpath: new("$ORIGIN/../lib"),
		needed: []string{"librt.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "libm.so.6"},
	}
	path := filepath.Join(tb.TempDir(), "client")
	require.NoError(tb, os.WriteFile(path, e.bytes(), 0o755))
	require.NoError(tb, os.Truncate(path, 100<<20))
	return path
}

func inspectELF(tb testing.TB, path string) {
	f, err := openRegular(path)
	if err == nil {
		_, err = readELF(f)
		f.close()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// target: <= 2.5x BenchmarkELF_LimitOpenAndRead
func BenchmarkELF(b *testing.B) {
	path := largeELF(b)
	b.ReportAllocs()
	for b.Loop() {
		inspectELF(b, path)
	}
}

// The file opened, and 4 KiB of it read.
func BenchmarkELF_LimitOpenAndRead(b *testing.B) {
	path := largeELF(b)
	buffer := make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Read(buffer); err != nil {
			b.Fatal(err)
		}
		_ = f.Close() // only read
	}
}

func TestELFAllocatesLittle(t *testing.T) {
	path := largeELF(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 100
	for range rounds {
		inspectELF(t, path)
	}
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/rounds, uint64(64<<10))
}

// clientBytes is the size of the program whose closure is measured.
const clientBytes = 64 << 20

// closureOptions lays out a client with an interpreter and eight libraries.
func closureOptions(tb testing.TB) Options {
	tb.Helper()
	root, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	write := func(name string, e elfFile) string {
		path := filepath.Join(root, name)
		require.NoError(tb, os.WriteFile(path, e.bytes(), 0o755))
		return path
	}
	client := elfFile{interpreter: write("ld.so", elfFile{}), runpath: &root}
	for _, name := range []string{"a.so", "b.so", "c.so", "d.so", "e.so", "f.so", "g.so", "h.so"} {
		write(name, elfFile{})
		client.needed = append(client.needed, name)
	}
	client.text = string(bytes.Repeat([]byte{0xa5}, clientBytes))
	path := write("claude", client)
	require.NoError(tb, os.Mkdir(filepath.Join(root, "project"), 0o755))
	return Options{
		Client: Claude, Platform: LinuxX64, Project: filepath.Join(root, "project"),
		Lookup: func(name string) (string, bool) { return path, name == "CLAUDE_PATH" },
	}
}

// target: <= 1.25x BenchmarkClosure_LimitSHA256
func BenchmarkClosure(b *testing.B) {
	o := closureOptions(b)
	b.SetBytes(clientBytes)
	b.ReportAllocs()
	for b.Loop() {
		i, err := Inspect(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		i.Digest()
	}
}

// The same bytes, already in memory.
func BenchmarkClosure_LimitSHA256(b *testing.B) {
	data := bytes.Repeat([]byte{0xa5}, clientBytes)
	b.SetBytes(clientBytes)
	b.ReportAllocs()
	for b.Loop() {
		sha256.Sum256(data)
	}
}
