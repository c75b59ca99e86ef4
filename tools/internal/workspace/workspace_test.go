package workspace

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

const prefix = "module github.com/magi-jig/magi-jig/"

func TestLoadTakesItsModulesFromGoWork(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.work":    "go 1.26.0\n\nuse (\n\t./b\n\t./a\n)\n",
		"a/go.mod":   prefix + "a\n\ngo 1.26.0\n",
		"b/go.mod":   prefix + "b\n\ngo 1.26.0\n",
		"b/x/b.go":   "package x\n\nimport _ \"github.com/magi-jig/magi-jig/a\"\n",
		"a/a.go":     "package a\n",
		"ext/go.mod": "module example.com/ext\n",
	})
	t.Setenv("GOWORK", "")
	found, err := Find(t.Context(), filepath.Join(root, "b", "x"))
	require.NoError(t, err)
	w, err := Load(t.Context(), found)
	require.NoError(t, err)
	require.Equal(t, []Module{
		{"a", "github.com/magi-jig/magi-jig/a", filepath.Join(w.Root, "a")},
		{"b", "github.com/magi-jig/magi-jig/b", filepath.Join(w.Root, "b")},
	}, w.Modules)
	require.Equal(t, []string{"./a/...", "./b/..."}, w.Patterns())

	packages, err := List(t.Context(), w.Root, nil, w.Patterns()...)
	require.NoError(t, err)
	require.Len(t, packages, 2)
	require.Equal(t, []string{"github.com/magi-jig/magi-jig/a"}, packages[1].Imports)

	t.Setenv("GOWORK", "off")
	_, err = Find(t.Context(), root)
	require.ErrorContains(t, err, "no go.work here")
}

func TestLoadRefusesModulesThatAreNotWhatTheirFolderSays(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"outside": {map[string]string{"repo/go.work": "go 1.26.0\n\nuse ../a\n", "a/go.mod": prefix + "a\n"},
			"a module is a folder below the root"},
		"root": {map[string]string{"repo/go.work": "go 1.26.0\n\nuse .\n", "repo/go.mod": prefix + "repo\n"},
			"a module is a folder below the root"},
		"other name": {map[string]string{"repo/go.work": "go 1.26.0\n\nuse ./a\n", "repo/a/go.mod": "module example.com/a\n"},
			"a/go.mod says module example.com/a, its folder says github.com/magi-jig/magi-jig/a"},
		"no go.mod":  {map[string]string{"repo/go.work": "go 1.26.0\n\nuse ./a\n", "repo/a/a.go": "package a\n"}, "go.mod"},
		"no go.work": {map[string]string{"repo/a/go.mod": prefix + "a\n"}, "go.work"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, c.files)
			_, err := Load(t.Context(), filepath.Join(root, "repo"))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestFilesLeavesOutWhatIsNotTheProjects(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"a/b.go": "", "README.md": "", ".git/config": "", ".ci/run": "", ".ci/cache/x.go": "", "tools/node_modules/x.js": "",
	})
	require.NoError(t, os.Symlink("/etc", filepath.Join(root, "link")))
	files, err := Files(root)
	require.NoError(t, err)
	require.Equal(t, []string{".ci/run", "README.md", "a/b.go"}, files)
	_, err = Files(filepath.Join(root, "none"))
	require.NoError(t, err)
}

func TestIsGo(t *testing.T) {
	for file, want := range map[string]bool{
		"a/b.go": true, "a/b_test.go": true, "a/b.md": false, "a/testdata/b.go": false,
		".ci/b.go": false, "a/_old/b.go": false, "a/_b.go": false, "a/.b.go": false,
	} {
		require.Equal(t, want, IsGo(file), file)
	}
}

func TestRunTellsWhatTheCommandPrinted(t *testing.T) {
	dir := t.TempDir()
	out, err := Run(t.Context(), dir, []string{"SAID=hello"}, "sh", "-c", "echo $SAID; pwd")
	require.NoError(t, err)
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	require.Equal(t, "hello\n"+real+"\n", out)

	_, err = Run(t.Context(), dir, nil, "sh", "-c", "echo to out; echo to err >&2; exit 3")
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "to out")
	require.ErrorContains(t, err, "to err")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, dir, nil, "sh", "-c", "exit 0")
	require.ErrorIs(t, err, context.Canceled)
}
