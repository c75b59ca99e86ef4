//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func benchFile(b *testing.B) Request {
	b.Helper()
	root := b.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "tools/orders"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "tools/orders/lookup.json"), []byte(strings.Repeat("x", 16384)), 0o600); err != nil {
		b.Fatal(err)
	}
	state := filepath.Join(root, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		b.Fatal(err)
	}
	return Request{Workspace: root, Path: "tools/orders/lookup.json", MaxBytes: 16384, Excluded: []string{state}}
}

// BenchmarkRead captures a file of 16 KiB three components deep.
//
// target: <= 8x BenchmarkRead_LimitReadFile
func BenchmarkRead(b *testing.B) {
	r := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(r); err != nil {
			b.Fatal(err)
		}
	}
}

// The same file read with no check at all.
func BenchmarkRead_LimitReadFile(b *testing.B) {
	r := benchFile(b)
	path := filepath.Join(r.Workspace, r.Path)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
}
