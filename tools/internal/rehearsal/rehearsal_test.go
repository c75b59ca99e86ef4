package rehearsal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func TestParseVersions(t *testing.T) {
	modules := []string{"a", "b"}
	v, err := ParseVersions([]byte("modules: {a: v0.1.0, b: v1.2.3-rc.1}\nprograms: [b]\n"), modules)
	require.NoError(t, err)
	require.Equal(t, &Versions{map[string]string{"a": "v0.1.0", "b": "v1.2.3-rc.1"}, []string{"b"}}, v)
	for text, want := range map[string]string{
		"modules: {a: v0.1.0}\n":                              "go.work uses b, which has no version here",
		"modules: {a: v0.1.0, b: v0.1.0, c: v0.1.0}\n":        "c has a version here, but go.work does not use it",
		"modules: {a: v0.1, b: v0.1.0}\n":                     `a: "v0.1" is no version; want vX.Y.Z`,
		"modules: {a: 0.1.0, b: v0.1.0}\n":                    "is no version",
		"modules: {a: v0.1.0+x, b: v0.1.0}\n":                 "is no version",
		"modules: {a: v2.0.0, b: v0.1.0}\n":                   "v2.0.0 needs a module path that ends in v2",
		"modules: {a: v0.1.0, b: v0.1.0}\nprograms: [c]\n":    "program c is no module",
		"modules: {a: v0.1.0, b: v0.1.0}\nmore: 1\n":          "more not found",
		"modules: {a: v0.1.0, a: v0.1.0, b: v0.1.0}\n":        "already",
		"modules: {a: v0.1.0, b: v0.1.0}\n---\nmodules: {}\n": "one document",
		"modules: [a, b]\n":                                   "versions.yaml",
		"":                                                    "versions.yaml",
	} {
		_, err := ParseVersions([]byte(text), modules)
		require.ErrorContains(t, err, want, text)
	}
}

func TestDifferenceKnowsNoOrder(t *testing.T) {
	have, err := requirements([]byte("module m\n\ngo 1.26.0\n\nrequire (\n\ta.b/c v1.0.0\n\td.e/f v1.0.0 // indirect\n)\n"))
	require.NoError(t, err)
	same, err := requirements([]byte("module m\n\ngo 1.26.0\n\nrequire d.e/f v1.0.0 // indirect\n\nrequire a.b/c v1.0.0\n\n" +
		"require github.com/magi-jig/magi-jig/x v0.1.0\n"))
	require.NoError(t, err)
	require.Empty(t, difference(have, same), "siblings are not compared")
	other, err := requirements([]byte("module m\n\ngo 1.26.1\n\ntoolchain go1.26.8\n\ntool a.b/c\n\nrequire a.b/c v1.0.1\nrequire d.e/f v1.0.0\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"lacks go 1.26.1",
		"lacks require a.b/c v1.0.1",
		"lacks require d.e/f v1.0.0",
		"lacks tool a.b/c",
		"lacks toolchain go1.26.8",
		"should not hold go 1.26.0",
		"should not hold require a.b/c v1.0.0",
		"should not hold require d.e/f v1.0.0 // indirect",
	}, difference(have, other))
	_, err = requirements([]byte("modul m\n"))
	require.Error(t, err)
}

func TestSiblingsLeaveNoTrace(t *testing.T) {
	mod, err := withoutSiblings([]byte("module m\n\ngo 1.26.0\n\nrequire (\n\ta.b/c v1.0.0\n\tgithub.com/magi-jig/magi-jig/x v0.1.0\n)\n"))
	require.NoError(t, err)
	require.Equal(t, "module m\n\ngo 1.26.0\n\nrequire a.b/c v1.0.0\n", string(mod))
	sum, err := sumWithoutSiblings([]byte("a.b/c v1.0.0 h1:x=\ngithub.com/magi-jig/magi-jig/x v0.1.0 h1:y=\n"))
	require.NoError(t, err)
	require.Equal(t, "a.b/c v1.0.0 h1:x=\n", string(sum))
}

// A workspace in which b imports a, and only in a test for another system.
func released(t *testing.T) *Rehearsal {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.work":                         "go 1.26.0\n\nuse (\n\t./a\n\t./b\n)\n",
		"LICENSE":                         "Take it.\n",
		"versions.yaml":                   "modules: {a: v0.1.0, b: v0.2.0}\n",
		"a/go.mod":                        "module github.com/magi-jig/magi-jig/a\n\ngo 1.26.0\n",
		"a/a.go":                          "// Package a is first.\npackage a\n",
		"a/testdata/data":                 "kept\n",
		"a/nested/go.mod":                 "module example.com/nested\n",
		"a/nested/nested.go":              "package nested\n",
		"b/go.mod":                        "module github.com/magi-jig/magi-jig/b\n\ngo 1.26.0\n",
		"b/b.go":                          "// Package b is second.\npackage b\n",
		"b/live/doc.go":                   "// Package live needs the repository.\npackage live\n",
		"b/live/live_test.go":             "package live\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { t.Fatal(\"alone\") }\n",
		"b/native_test.go":                "package b\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc Test(t *testing.T) {\n\tif !strings.HasSuffix(os.Getenv(\"JIG_TEST_NATIVE\"), \"/tools/native/installed\") {\n\t\tt.Fatal(\"no agents\")\n\t}\n}\n",
		"a/native/installed/pi/README.md": "not ours\n",
		"a/node_modules/x/x.js":           "not ours\n",
		"b/b_windows_test.go":             "package b\n\nimport _ \"github.com/magi-jig/magi-jig/a\"\n",
		"b/cmd/hello/main.go":             "// Command hello greets.\npackage main\n\nfunc main() { println(\"hello\") }\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	t.Setenv("GOWORK", "")
	t.Setenv("GOPROXY", "off")
	work, err := workspace.Load(t.Context(), root)
	require.NoError(t, err)
	r, err := New(t.Context(), work)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		require.NoDirExists(t, r.Dir)
	})
	return r
}

func TestPublishZipsModulesWithTheirSiblings(t *testing.T) {
	r := released(t)
	require.NoError(t, r.Publish(t.Context()))
	lines, err := r.Drift(false)
	require.NoError(t, err)
	require.Empty(t, lines)

	base := r.path("proxy", "github.com", "magi-jig", "magi-jig", "b", "@v", "v0.2.0")
	mod, err := os.ReadFile(base + ".mod")
	require.NoError(t, err)
	require.Contains(t, string(mod), "require github.com/magi-jig/magi-jig/a v0.1.0\n")

	a := module.Version{Path: "github.com/magi-jig/magi-jig/a", Version: "v0.1.0"}
	dir := t.TempDir()
	require.NoError(t, modzip.Unzip(dir, a, r.path("proxy", "github.com", "magi-jig", "magi-jig", "a", "@v", "v0.1.0.zip")))
	files, err := workspace.Files(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"LICENSE", "a.go", "go.mod", "testdata/data"}, files)

	for _, m := range r.Order {
		require.NoError(t, r.Alone(t.Context(), m, true))
	}
	commands, err := r.Install(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"hello"}, commands)
	require.FileExists(t, r.path("bin", "hello"))
}

func TestRehearsalLeavesTheRepositoryAlone(t *testing.T) {
	r := released(t)
	before := contents(t, r.Work.Root)
	require.NoError(t, r.Publish(t.Context()))
	require.NoError(t, r.Alone(t.Context(), r.Order[1], false))
	require.Equal(t, before, contents(t, r.Work.Root))
}

func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	files, err := workspace.Files(root)
	require.NoError(t, err)
	all := map[string]string{}
	for _, file := range files {
		data, err := workspace.Read(root, file)
		require.NoError(t, err)
		all[file] = string(data)
	}
	return all
}
