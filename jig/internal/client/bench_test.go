package client

import (
	"crypto/sha256"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// benchBytes is a client of a size that such programs have, divided by eight.
const benchBytes = 32 << 20

func benchOperator(b *testing.B) (*operator, PrepareRequest) {
	o := newOperator(b)
	o.install().subscribe()
	o.file("bin/claude", elf(strings.Repeat("x", benchBytes)), 0o755)
	c := o.opened("claude", "")
	digest, err := c.Provider.Digest()
	if err != nil {
		b.Fatal(err)
	}
	e := o.environment()
	return o, PrepareRequest{Client: "claude", Project: o.project, Digest: digest, Admitted: c.Provider, Environment: e, Reach: reach(b, e), Deadline: now.Add(time.Hour)}
}

// What a launch costs before anything is started: every byte is read again.
//
// target: <= 1.5x BenchmarkPrepare_LimitHash
func BenchmarkPrepare(b *testing.B) {
	o, r := benchOperator(b)
	opener := o.opener()
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := opener.Prepare(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepare_LimitHash(b *testing.B) {
	o, _ := benchOperator(b)
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(o.at("bin/claude"))
		if err != nil {
			b.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 128<<10)); err != nil {
			b.Fatal(err)
		}
		h.Sum(nil)
		f.Close()
	}
}
