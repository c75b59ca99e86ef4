package appresources

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func benchSet(b *testing.B) *Set {
	b.Helper()
	set, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	set.Claim("s", 0)
	return set
}

func benchRegister(b *testing.B, set *Set, r Registration, content string) Registered {
	got, err := set.Register("s", r, content, 0)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// benchTool is a source of 4 KiB with 32 properties.
func benchTool() string {
	text := source(manyProperties(32), "")
	return text + strings.Repeat(" ", 4096-len(text))
}

// BenchmarkRegister replaces one tool of 4 KiB: parse, hash twice, build and
// publish the snapshot.
//
// target: <= 10x BenchmarkRegister_LimitHashAndScan
func BenchmarkRegister(b *testing.B) {
	set, content := benchSet(b), benchTool()
	r := Registration{Kind: KindTool, Name: "look", By: by(1)}
	r.ExpectedRevision = benchRegister(b, set, r, content).Entry.RevisionID
	b.ReportAllocs()
	for b.Loop() {
		r.ExpectedRevision = benchRegister(b, set, r, content).Entry.RevisionID
	}
}

// The same bytes hashed twice and read once by the JSON library.
func BenchmarkRegister_LimitHashAndScan(b *testing.B) {
	content := []byte(benchTool())
	b.ReportAllocs()
	for b.Loop() {
		one, two := sha256.Sum256(content), sha256.Sum256(content)
		if !jsontext.Value(content).IsValid() || one != two {
			b.Fatal("not valid")
		}
	}
}

// fullRegistry has 16 skills of together 16 KiB and 16 tools.
func fullRegistry(b *testing.B) (*Set, Registration) {
	set := benchSet(b)
	var r Registration
	for i := range 16 {
		r = Registration{Kind: KindTool, Name: fmt.Sprintf("t%02d", i), By: by(1)}
		benchRegister(b, set, r, plainTool)
		r = Registration{Kind: KindSkill, Name: fmt.Sprintf("s%02d", i), By: by(1)}
		r.ExpectedRevision = benchRegister(b, set, r, strings.Repeat("x", 600)).Entry.RevisionID
	}
	return set, r
}

// BenchmarkSnapshot publishes a new snapshot of 32 resources for a small
// change of one of them.
//
// target: <= 5x BenchmarkSnapshot_LimitCopyText
func BenchmarkSnapshot(b *testing.B) {
	set, r := fullRegistry(b)
	b.ReportAllocs()
	for b.Loop() {
		r.ExpectedRevision = benchRegister(b, set, r, "x").Entry.RevisionID
	}
}

// The copy of the combined instructions, which every snapshot must make.
func BenchmarkSnapshot_LimitCopyText(b *testing.B) {
	parts := slicesOf(strings.Repeat("x", 600), 16)
	b.ReportAllocs()
	for b.Loop() {
		if len(strings.Join(parts, "\n")) == 0 {
			b.Fatal("empty")
		}
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// BenchmarkSelect takes and releases the snapshot of 16 tools and 16 skills,
// authorizations checked.
//
// target: <= 2x BenchmarkSelect_LimitTupleSet
func BenchmarkSelect(b *testing.B) {
	set, _ := fullRegistry(b)
	l, err := set.List("s", 0)
	if err != nil {
		b.Fatal(err)
	}
	sel := Selection{ExpectedRegistryRevision: l.RegistryRevision, Authorizations: benchTuples(l)}
	b.ReportAllocs()
	for b.Loop() {
		h, err := set.Select("s", sel, 0)
		if err != nil {
			b.Fatal(err)
		}
		set.Release(h, 0)
	}
}

func benchTuples(l Listing) (out []Tuple) {
	for _, d := range l.Entries {
		if d.Kind == KindTool {
			out = append(out, d.Tuple())
		}
	}
	return out
}

// A set of the same tuples built and asked.
func BenchmarkSelect_LimitTupleSet(b *testing.B) {
	set, _ := fullRegistry(b)
	l, err := set.List("s", 0)
	if err != nil {
		b.Fatal(err)
	}
	tuples := benchTuples(l)
	b.ReportAllocs()
	for b.Loop() {
		seen := make(map[Tuple]bool, len(tuples))
		for _, t := range tuples {
			seen[t] = true
		}
		if len(seen) != len(tuples) {
			b.Fatal("repeated")
		}
	}
}

// BenchmarkManifest encodes and stamps a manifest of nearly 18,000 bytes.
//
// target: <= 4x BenchmarkManifest_LimitCopy
func BenchmarkManifest(b *testing.B) {
	p := benchSnapshot(b)
	executor := &Executor{"d0000000-0000-4000-8000-000000000000", 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Manifest(by(1), executor); err != nil {
			b.Fatal(err)
		}
	}
}

// The same bytes copied into a fresh buffer.
func BenchmarkManifest_LimitCopy(b *testing.B) {
	m, err := benchSnapshot(b).Manifest(by(1), nil)
	if err != nil {
		b.Fatal(err)
	}
	text := m.Encoded()
	b.ReportAllocs()
	for b.Loop() {
		if len(bytes.Clone(text)) != len(text) {
			b.Fatal("short")
		}
	}
}

func benchSnapshot(b *testing.B) *Snapshot {
	set := benchSet(b)
	for i := range 12 {
		benchRegister(b, set, Registration{Kind: KindTool, Name: fmt.Sprintf("t%02d", i), By: by(1)}, plainTool)
		benchRegister(b, set, Registration{Kind: KindSkill, Name: fmt.Sprintf("s%02d", i), By: by(1)}, "x")
	}
	l, err := set.List("s", 0)
	if err != nil {
		b.Fatal(err)
	}
	h, err := set.Select("s", Selection{ExpectedRegistryRevision: l.RegistryRevision, Authorizations: benchTuples(l)}, 0)
	if err != nil {
		b.Fatal(err)
	}
	return h.Snapshot()
}

// BenchmarkCheckValue reads a value of 16 KiB against its schema and writes it
// in normal form.
//
// target: <= 2x BenchmarkCheckValue_LimitScan
func BenchmarkCheckValue(b *testing.B) {
	c, err := ParseContract([]byte(source(fiveStrings, "")))
	if err != nil {
		b.Fatal(err)
	}
	value := []byte(filled(MaxValueBytes))
	out := make([]byte, 0, MaxValueBytes)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Input.AppendNormalized(out, value); err != nil {
			b.Fatal(err)
		}
	}
}

// The same bytes read once by the JSON library.
func BenchmarkCheckValue_LimitScan(b *testing.B) {
	value := []byte(filled(MaxValueBytes))
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if !jsontext.Value(value).IsValid() {
			b.Fatal("not valid")
		}
	}
}
