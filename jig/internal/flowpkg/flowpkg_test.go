package flowpkg_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(content), 0o644))
	}
	return dir
}

func capture(t testing.TB, files map[string]string) (*flowpkg.Package, error) {
	t.Helper()
	return flowpkg.OpenStore(t.TempDir()).Capture(tree(t, files))
}

func refusedFor(t *testing.T, err error, path string) {
	t.Helper()
	var e *flowpkg.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, path, e.Path, "%v", err)
	require.NotContains(t, err.Error(), "\n")
}

func TestDigestVectors(t *testing.T) {
	// rule: R-149
	p, err := capture(t, map[string]string{"FLOW.ts": "x\n"})
	require.NoError(t, err)
	require.Equal(t, "sha256:aef50200c829849e0bdd19c6565996da575ed17f6eaf7e57a7357b77f9181fba", p.Digest)
	p, err = capture(t, map[string]string{"FLOW.ts": "x\n", "FLOW.meta.json": "{}"})
	require.NoError(t, err)
	require.Equal(t, "sha256:c0462d201e1fd79e0ea9633d8d63f818553ba94cc55629863262a812e1698b63", p.Digest)
}

func TestDigestSortsByBytes(t *testing.T) {
	// rule: R-150
	// U+FF61 sorts before U+1F423 by UTF-8 bytes and after it by UTF-16 units.
	files := map[string]string{"FLOW.ts": "", "\uff61": "a", "\U0001f423": "b"}
	p, err := capture(t, files)
	require.NoError(t, err)
	require.Equal(t, independentDigest([]string{"FLOW.ts", "\uff61", "\U0001f423"}, files), p.Digest)
}

func TestExactlyOneFlowFile(t *testing.T) {
	// rule: R-143
	for _, name := range []string{"FLOW.ts", "FLOW.a", "FLOW.0123456789abcdef"} {
		p, err := capture(t, map[string]string{name: ""})
		require.NoError(t, err, name)
		require.Equal(t, name, p.Entry)
	}
	for _, files := range []map[string]string{
		{"README": ""}, {"sub/FLOW.ts": ""}, {"FLOW.ts": "", "FLOW.js": ""}, {"flow.ts": ""}, {"Flow.ts": ""}, {"FLOW.ts": "", "flow.js": ""},
		{"FLOW.TS": ""}, {"FLOW.": ""}, {"FLOW": ""}, {"FLOW.0123456789abcdefg": ""}, {"FLOW.tar.gz": ""},
	} {
		_, err := capture(t, files)
		require.Error(t, err, "%v", files)
	}
}

func TestReservedNamesAtTheRoot(t *testing.T) {
	// rule
	for _, name := range []string{"input.schema.json", "result.schema.json", "flow.meta.json", "FLOW.META.json", "Flow.contract.json"} {
		_, err := capture(t, map[string]string{"FLOW.ts": "", name: "{}"})
		refusedFor(t, err, name)
	}
	_, err := capture(t, map[string]string{"FLOW.ts": "", "sub/input.schema.json": "{}"})
	require.NoError(t, err)
	_, err = capture(t, map[string]string{"FLOW.md": "", "FLOW.meta.json": "{}"})
	refusedFor(t, err, "FLOW.meta.json")
}

func TestShebang(t *testing.T) {
	// rule: R-146
	for first, selector := range map[string]string{
		"#!/usr/bin/env node\n": "node", "#!/usr/bin/env python3.11\r\n": "python3.11", "#!/usr/bin/env bun": "bun", "// none\n": "",
		"#!/usr/bin/env " + strings.Repeat("a", 64) + "\n": strings.Repeat("a", 64),
	} {
		p, err := capture(t, map[string]string{"FLOW.js": first})
		require.NoError(t, err, first)
		require.Equal(t, selector, p.Selector)
	}
	for _, first := range []string{
		"#!/usr/bin/env -S node --x\n", "#!/usr/bin/env node --x\n", "#!/usr/bin/node\n", "#!/usr/bin/env\n", "#! /usr/bin/env node\n", "#!/usr/bin/env  node\n",
		"#!/usr/bin/env " + strings.Repeat("a", 65) + "\n", "#!/usr/bin/env -x\n",
	} {
		_, err := capture(t, map[string]string{"FLOW.js": first})
		refusedFor(t, err, "FLOW.js")
		require.Contains(t, err.Error(), "FLOW.js:1:1:")
	}
}

func TestPaths(t *testing.T) {
	// rule: R-147
	segment := strings.Repeat("a", 255)
	long := strings.Repeat("a/", 511) + "bc" // 1,024 bytes
	for _, p := range []string{"a", "a/b", segment, strings.Repeat("a/", 63) + "a", "é", ".hidden", "a b"} {
		require.Empty(t, flowpkg.CheckPath(p), p)
	}
	require.Len(t, long, 1024)
	require.Contains(t, flowpkg.CheckPath(long), "segments")
	wide := strings.Repeat(strings.Repeat("a", 254)+"/", 4) + "abcd"
	require.Len(t, wide, 1024)
	require.Empty(t, flowpkg.CheckPath(wide))
	for _, p := range []string{
		"", "/a", "a//b", "a/./b", "a/../b", "..", "a/", "a\\b", "a\x00b", "e\u0301", "\xff", segment + "a", wide + "x", strings.Repeat("a/", 64) + "a",
	} {
		require.NotEmpty(t, flowpkg.CheckPath(p), p)
	}
}

func TestCollisionsAndSpecialFiles(t *testing.T) {
	// rule: R-148
	for _, pair := range [][2]string{{"a", "A"}, {"straße", "STRASSE"}, {"dir/x", "DIR/y"}, {"ﬁ", "fi"}} {
		_, err := capture(t, map[string]string{"FLOW.ts": "", pair[0]: "", pair[1]: ""})
		require.ErrorContains(t, err, "only in case or form", pair)
	}
	dir := tree(t, map[string]string{"FLOW.ts": ""})
	store := flowpkg.OpenStore(t.TempDir())
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("FLOW.ts", link))
	_, err := store.Capture(dir)
	refusedFor(t, err, "link")
	require.NoError(t, os.Remove(link))
	require.NoError(t, syscall.Mkfifo(link, 0o600))
	_, err = store.Capture(dir)
	refusedFor(t, err, "link")
	require.NoError(t, os.Remove(link))

	// Hard links are fine where all of them are inside.
	require.NoError(t, os.Link(filepath.Join(dir, "FLOW.ts"), link))
	_, err = store.Capture(dir)
	require.NoError(t, err)
	require.NoError(t, os.Link(link, filepath.Join(t.TempDir(), "outside")))
	_, err = store.Capture(dir)
	refusedFor(t, err, "FLOW.ts")
}

func TestSizes(t *testing.T) {
	dir := tree(t, map[string]string{"FLOW.ts": ""})
	require.NoError(t, os.Truncate(filepath.Join(dir, "FLOW.ts"), flowpkg.MaxPackageBytes+1))
	_, err := flowpkg.OpenStore(t.TempDir()).Capture(dir)
	refusedFor(t, err, "FLOW.ts")
	require.NoError(t, os.Truncate(filepath.Join(dir, "FLOW.ts"), flowpkg.MaxPackageBytes))
	_, err = flowpkg.OpenStore(t.TempDir()).Capture(dir)
	require.NoError(t, err)
}

func TestNumberOfFiles(t *testing.T) {
	// The format's own bound (run-0 5.1). The bound itself is only tried with -long:
	// so many files take a while.
	require.Equal(t, 65_536, flowpkg.MaxFiles)
	for n := 4; n <= 6; n++ {
		files := map[string]string{"FLOW.ts": "x"}
		for i := range n - 1 {
			files[fmt.Sprintf("d%d/f", i)] = ""
		}
		found, err := flowpkg.Files(tree(t, files), 5)
		if n > 5 {
			refusedFor(t, err, "")
			require.ErrorContains(t, err, "the package has more than 5 files")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, n, found)
	}
	if !*long {
		return
	}
	dir := tree(t, map[string]string{"FLOW.ts": "x"})
	for i := range flowpkg.MaxFiles {
		folder := filepath.Join(dir, fmt.Sprint(i/256))
		if i%256 == 0 {
			require.NoError(t, os.Mkdir(folder, 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), nil, 0o644))
	}
	store := flowpkg.OpenStore(t.TempDir())
	_, err := store.Capture(dir)
	refusedFor(t, err, "")
	require.ErrorContains(t, err, "the package has more than 65536 files")
	require.NoError(t, os.Remove(filepath.Join(dir, "0", "1")))
	p, err := store.Capture(dir)
	require.NoError(t, err)
	_, err = store.Get(p.Digest)
	require.NoError(t, err)
}

func TestSizeOfAStore(t *testing.T) {
	files := map[string]string{"FLOW.ts": "abc", "data/x": "defgh"}
	for over := -1; over <= 1; over++ {
		kept := t.TempDir()
		f, err := os.Create(filepath.Join(kept, "other"))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(int64(flowpkg.MaxStoreBytes-8+over)))
		require.NoError(t, f.Close())
		_, err = flowpkg.OpenStore(kept).Capture(tree(t, files))
		if over <= 0 {
			require.NoError(t, err, over)
			continue
		}
		refusedFor(t, err, "")
		require.ErrorContains(t, err, "the package store would be larger than 1073741824 bytes")
		entries, err := os.ReadDir(kept)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing of it is left")
	}
}

func TestCapturedBytesAreReadOnlyAndChecked(t *testing.T) {
	store := flowpkg.OpenStore(t.TempDir())
	dir := tree(t, map[string]string{"FLOW.ts": "a", "sub/data": "b"})
	p, err := store.Capture(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte("edited"), 0o644))
	b, err := p.Read("FLOW.ts")
	require.NoError(t, err)
	require.Equal(t, "a", string(b))
	info, err := os.Stat(filepath.Join(p.Dir, "sub", "data"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o444), info.Mode().Perm())

	again, err := store.Capture(tree(t, map[string]string{"FLOW.ts": "a", "sub/data": "b"}))
	require.NoError(t, err)
	require.Equal(t, p.Dir, again.Dir)
	got, err := store.Get(p.Digest)
	require.NoError(t, err)
	require.Equal(t, "FLOW.ts", got.Entry)

	for name, change := range map[string]func(string) error{
		"byte":    func(d string) error { return overwrite(filepath.Join(d, "sub", "data"), "c") },
		"extra":   func(d string) error { return os.WriteFile(filepath.Join(d, "extra"), nil, 0o444) },
		"missing": func(d string) error { return os.Remove(filepath.Join(d, "sub", "data")) },
		"link":    func(d string) error { return os.Symlink("FLOW.ts", filepath.Join(d, "l")) },
		"gone":    os.RemoveAll,
	} {
		store := flowpkg.OpenStore(t.TempDir())
		p, err := store.Capture(tree(t, map[string]string{"FLOW.ts": "a", "sub/data": "b"}))
		require.NoError(t, err)
		require.NoError(t, change(p.Dir), name)
		_, err = store.Get(p.Digest)
		require.ErrorIs(t, err, flowpkg.ErrChanged, name)
	}
	_, err = store.Get("sha256:../../etc")
	require.ErrorIs(t, err, flowpkg.ErrChanged)
}

func overwrite(path, content string) error {
	if err := os.Chmod(path, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o444)
}

func TestFailedCaptureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := flowpkg.OpenStore(dir).Capture(tree(t, map[string]string{"FLOW.ts": "", "FLOW.contract.json": "{"}))
	refusedFor(t, err, "FLOW.contract.json")
	require.Contains(t, err.Error(), "FLOW.contract.json:1:2:")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

const invocation = `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json"`

func TestDescriptorsAreReadWithThePackage(t *testing.T) {
	channel := `{"$schema":"https://flow.jig.md/schemas/channel-contract-0.schema.json","id":"https://example.org/c","version":"1.0.0","semantics":"s","item":true}`
	named := invocation + `,"id":"https://example.org/a","version":"1.0.0","features":{"events":"x"},"channels":{"c":{"direction":"send","contract":"./c.json"}}}`
	p, err := capture(t, map[string]string{
		"FLOW.ts": "", "FLOW.meta.json": `{"name":"n","uses":{"agent":{"contract":"./deps/agent/contract.json","requires":["events"]},"free":{}},"supports":["events"]}`,
		"deps/agent/contract.json": named, "deps/agent/c.json": channel, "c.json": channel, "FLOW.contract.json": named,
		"settings.schema.json": `{"$schema":"https://flow.jig.md/schemas/schema-0.json","required":["limit"]}`,
	})
	require.NoError(t, err)
	require.Equal(t, p.Contract.Identity, p.Uses["agent"].Identity, "the folder a contract lies in is no part of it")
	require.Nil(t, p.Uses["free"])
	require.NoError(t, p.CheckSettings([]byte(`{"limit":1}`)))
	require.Error(t, p.CheckSettings([]byte(`{}`)))
	runtime, err := p.Runtime()
	require.NoError(t, err)
	require.Equal(t, "embedded", runtime)

	p, err = capture(t, map[string]string{"FLOW.ts": ""})
	require.NoError(t, err)
	require.NoError(t, p.CheckSettings([]byte(` { } `)))
	require.Error(t, p.CheckSettings([]byte(`{"a":1}`)))

	for name, files := range map[string]map[string]string{
		"anonymous dependency": {"FLOW.meta.json": `{"uses":{"a":{"contract":"./a.json"}}}`, "a.json": invocation + "}"},
		"missing dependency":   {"FLOW.meta.json": `{"uses":{"a":{"contract":"./a.json"}}}`},
		"unknown feature":      {"FLOW.meta.json": `{"uses":{"a":{"contract":"./a.json","requires":["other"]}}}`, "a.json": named, "c.json": channel},
		"unknown support":      {"FLOW.meta.json": `{"supports":["events"]}`},
		"schema of no dialect": {"settings.schema.json": `{}`},
		"large metadata":       {"FLOW.meta.json": `{}` + strings.Repeat(" ", 262_143)},
	} {
		files["FLOW.ts"] = ""
		_, err := capture(t, files)
		require.Error(t, err, name)
	}
}

// A refusal has the file, the place in it and the name of what is wrong.
func TestARefusalOfADescriptorHasItsPlace(t *testing.T) {
	const head = `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json",` + "\n"
	port := head + `"channels":{"events":{"direction":"send","contract":"./channels/e.json"}}}`
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a member of a slot":    {map[string]string{"FLOW.meta.json": "{\n \"uses\": {\"a\": {\"contrat\": 1}}}"}, "FLOW.meta.json:2:17: at /uses/a/contrat: this member is not known here"},
		"a file that is absent": {map[string]string{"FLOW.meta.json": `{"uses":{"a":{"contract":"./no.json"}}}`}, "FLOW.meta.json:1:15: at /uses/a/contract: ./no.json is no file of the package"},
		"a feature":             {map[string]string{"FLOW.meta.json": `{"supports":["x"]}`}, "FLOW.meta.json:1:2: at /supports: the contract declares no feature x"},
		"a contract without id": {map[string]string{"FLOW.meta.json": `{"uses":{"a":{"contract":"./c.json"}}}`, "c.json": head + `"input":true}`}, "c.json: slot a needs a named contract"},
		"no JSON":               {map[string]string{"FLOW.meta.json": "{\n,}"}, "FLOW.meta.json:2:1: not JSON: a member name is missing"},
		"a keyword":             {map[string]string{"FLOW.contract.json": head + `"input":{"pattern":"x"}}`}, "FLOW.contract.json:2:10: at /input/pattern: this keyword"},
		"no channel descriptor": {map[string]string{"FLOW.contract.json": port}, "FLOW.contract.json:2:42: at /channels/events/contract: the channel descriptor ./channels/e.json cannot be read: channels/e.json: it is missing"},
		"a channel descriptor":  {map[string]string{"FLOW.contract.json": port, "channels/e.json": "{\n\"id\":1}"}, "channels/e.json:2:1: at /id: a string is needed, not a number"},
		"a used channel":        {map[string]string{"FLOW.meta.json": `{"uses":{"a":{"contract":"./sub/c.json"}}}`, "sub/c.json": port, "sub/channels/e.json": "[]"}, "sub/channels/e.json: an object is needed"},
		"settings":              {map[string]string{"settings.schema.json": "{\n\"type\":1}"}, "settings.schema.json:1:1: at /$schema: this member has to be there"},
	} {
		_, err := capture(t, join(map[string]string{"FLOW.ts": ""}, c.files))
		require.ErrorContains(t, err, c.want, name)
	}
}

func join(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func TestWhatIsNotExecutedSaysWhy(t *testing.T) {
	// rule: R-155
	for _, c := range []struct {
		files  map[string]string
		reason string
	}{
		{map[string]string{"FLOW.ts": "", "FLOW.meta.json": `{"future":1}`}, "future"},
		{map[string]string{"FLOW.ts": "", "FLOW.meta.json": `{"allowed-tools":"none"}`}, "allowed-tools"},
		{map[string]string{"FLOW.md": ""}, "Markdown"},
		{map[string]string{"FLOW.py": ""}, "FLOW.ts, FLOW.js and FLOW.mjs are supported"},
	} {
		p, err := capture(t, c.files)
		require.NoError(t, err, c.reason)
		_, err = p.Runtime()
		require.ErrorContains(t, err, c.reason)
	}
	for _, name := range []string{"FLOW.ts", "FLOW.js", "FLOW.mjs"} {
		p, err := capture(t, map[string]string{name: ""})
		require.NoError(t, err)
		_, err = p.Runtime()
		require.NoError(t, err)
	}
}

func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{"a/b", "../x", "e\u0301", "a\\b", ""} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if flowpkg.CheckPath(p) == "" {
			require.True(t, filepath.IsLocal(filepath.FromSlash(p)), p)
		}
	})
}

// TestAnUnchangedPackageIsNotWrittenAgain has fewer files than are brought to the
// disk together, and more.
func TestAnUnchangedPackageIsNotWrittenAgain(t *testing.T) {
	for _, n := range []int{1, 32, 33, 200} {
		files := map[string]string{"FLOW.ts": "x"}
		for i := range n - 1 {
			files[fmt.Sprintf("a/%d/b/%d", i%7, i)] = fmt.Sprint(i)
		}
		dir, kept := tree(t, files), t.TempDir()
		store := flowpkg.OpenStore(kept)
		first, err := store.Capture(dir)
		require.NoError(t, err)
		before, err := os.Stat(kept)
		require.NoError(t, err)
		again, err := store.Capture(dir)
		require.NoError(t, err)
		after, err := os.Stat(kept)
		require.NoError(t, err)
		require.Equal(t, first.Digest, again.Digest)
		require.Equal(t, first.Dir, again.Dir)
		require.Equal(t, before.ModTime(), after.ModTime(), "no entry came or went")
		for name, text := range files {
			b, err := os.ReadFile(filepath.Join(first.Dir, name))
			require.NoError(t, err)
			require.Equal(t, text, string(b))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "FLOW.ts"), []byte("y"), 0o644))
		other, err := store.Capture(dir)
		require.NoError(t, err)
		require.NotEqual(t, first.Digest, other.Digest)
	}
}

func BenchmarkCapture(b *testing.B) {
	files := map[string]string{"FLOW.ts": "x"}
	for i := range 100 {
		files[fmt.Sprintf("data/%d", i)] = strings.Repeat("x", 4096)
	}
	dir := tree(b, files)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := flowpkg.OpenStore(b.TempDir()).Capture(dir); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCaptureAgain captures what is in the store already.
func BenchmarkCaptureAgain(b *testing.B) {
	files := map[string]string{"FLOW.ts": "x"}
	for i := range 100 {
		files[fmt.Sprintf("data/%d", i)] = strings.Repeat("x", 4096)
	}
	dir, store := tree(b, files), flowpkg.OpenStore(b.TempDir())
	_, err := store.Capture(dir)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Capture(dir); err != nil {
			b.Fatal(err)
		}
	}
}
