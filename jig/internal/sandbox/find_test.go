//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elf is enough of a program to be taken for one.
const elf = "\x7fELF rest"

func place(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

// rule: J-143
func TestBubblewrapIsTheFirstInPathThatIsNotTheProjects(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(p string) string { return filepath.Join(top, p) }
	project := at("home/project")
	place(t, at("home/project/bin/bwrap"), elf, 0o755)
	place(t, at("home/node_modules/.bin/bwrap"), elf, 0o755)
	place(t, at("shared/modules/bwrap"), elf, 0o755)
	require.NoError(t, os.Symlink(at("shared/modules"), at("node_modules")))
	place(t, at("links/real"), "", 0o644)
	require.NoError(t, os.Symlink(at("home/project/bin/bwrap"), at("links/bwrap")))
	require.NoError(t, os.MkdirAll(at("through"), 0o755))
	require.NoError(t, os.Symlink(project, at("through/project")))
	place(t, at("plain/bwrap"), elf, 0o644)
	require.NoError(t, os.MkdirAll(at("folder/bwrap"), 0o755))
	place(t, at("script/bwrap"), "#!/bin/sh\n", 0o755)
	place(t, at("good/real-bwrap"), elf, 0o755)
	require.NoError(t, os.MkdirAll(at("linked"), 0o755))
	require.NoError(t, os.Symlink("../good/real-bwrap", at("linked/bwrap")))
	place(t, at("later/bwrap"), elf, 0o755)

	path := strings.Join([]string{
		"", "bin", ".", at("none"), at("home/project/bin"), top + "/home/project/../project/bin", at("home/node_modules/.bin"), at("shared/modules"), at("links"),
		at("through/project/bin"), at("plain"), at("folder"), at("script"), at("linked"), at("later"),
	}, ":")
	found, rejected, err := FindBwrap(Search{Path: path, Project: project})
	require.NoError(t, err)
	require.Equal(t, at("good/real-bwrap"), found)
	var reasons []string
	for _, r := range rejected {
		reasons = append(reasons, strings.TrimPrefix(r.Path, top+"/")+": "+r.Reason)
	}
	require.Equal(t, []string{
		"bin: the entry of PATH is not absolute",
		".: the entry of PATH is not absolute",
		"home/project/bin/bwrap: it lies in the project",
		"home/project/../project/bin/bwrap: it lies in the project",
		"home/node_modules/.bin/bwrap: it lies in a node_modules folder of the project or above it",
		"shared/modules/bwrap: it lies in a node_modules folder of the project or above it",
		"links/bwrap: it lies in the project",
		"through/project/bin/bwrap: it lies in the project",
		"plain/bwrap: it is not executable",
		"folder/bwrap: it is not a plain file",
		"script/bwrap: it is not a program file",
	}, reasons)

	_, _, err = FindBwrap(Search{Path: at("none"), Project: project})
	var unusable *UnavailableError
	require.True(t, errors.As(err, &unusable))
	require.Equal(t, "there is no bwrap in PATH", unusable.Reason)
	require.Contains(t, unusable.Fix, "install bubblewrap")
}

func TestASetIDBubblewrapIsRefusedAndNothingElseTried(t *testing.T) {
	dir := t.TempDir()
	set := place(t, filepath.Join(dir, "a/bwrap"), elf, 0o755|os.ModeSetuid)
	place(t, filepath.Join(dir, "b/bwrap"), elf, 0o755)
	found, _, err := FindBwrap(Search{Path: filepath.Dir(set) + ":" + filepath.Join(dir, "b")})
	require.Empty(t, found)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "set-id")
}

// complaint: B3.31 openai/codex#24873 - a helper that was not there crashed the program or sent it to a weaker one
// rule: J-142
func TestComplaintB3_31Codex24873ANamedBubblewrapIsThatOneOrNone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project := filepath.Join(dir, "project")
	good := place(t, filepath.Join(dir, "good/bwrap"), elf, 0o755)
	inside := place(t, filepath.Join(project, "bwrap"), elf, 0o755)
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(inside, link))
	for override, reason := range map[string]string{
		"":                   "is not an absolute path",
		"relative/bwrap":     "is not an absolute path",
		good + "\x00x":       "is not an absolute path",
		"/nonexistent/bwrap": "names nothing",
		filepath.Dir(good):   "is not a plain file",
		place(t, filepath.Join(dir, "setuid"), elf, 0o755|os.ModeSetuid): "is a set-id program",
		place(t, filepath.Join(dir, "setgid"), elf, 0o755|os.ModeSetgid): "is a set-id program",
		place(t, filepath.Join(dir, "text"), "hello", 0o644):             "is not executable",
		place(t, filepath.Join(dir, "script"), "#!/bin/sh\n", 0o755):     "is not a program file",
		inside: "is not allowed: it lies in the project",
		link:   "is not allowed: it lies in the project",
	} {
		found, _, err := FindBwrap(Search{Path: filepath.Dir(good), Override: override, Set: true, Project: project})
		require.Empty(t, found, override)
		var unusable *UnavailableError
		require.True(t, errors.As(err, &unusable), override)
		require.Equal(t, "JIG_BWRAP_PATH "+reason, unusable.Reason, override)
	}
	found, _, err := FindBwrap(Search{Override: good, Set: true, Project: project})
	require.NoError(t, err)
	require.Equal(t, good, found)
}

func TestAPathLeadsOverFortyLinksAndNoMore(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	place(t, filepath.Join(dir, "l0"), elf, 0o755)
	for i := range maxLinks + 1 {
		require.NoError(t, os.Symlink(fmt.Sprintf("l%d", i), filepath.Join(dir, fmt.Sprintf("l%d", i+1))))
	}
	for n, fine := range map[int]bool{maxLinks - 1: true, maxLinks: true, maxLinks + 1: false} {
		_, _, err := FindBwrap(Search{Override: filepath.Join(dir, fmt.Sprintf("l%d", n)), Set: true})
		require.Equal(t, fine, err == nil, "%d: %v", n, err)
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	_, _, err = FindBwrap(Search{Path: filepath.Join(dir, "loop") + ":" + dir})
	require.ErrorIs(t, err, ErrUnavailable)
}

// rule: J-002
func TestAnOlderBubblewrapIsRefused(t *testing.T) {
	for said, fine := range map[string]bool{
		"bubblewrap 0.8.0\n": true, "bubblewrap 0.8.1\n": true, "bubblewrap 0.11.0\n": true, "bubblewrap 1.0.0\n": true,
		"bubblewrap 0.7.0\n": false, "bubblewrap 0.7.99\n": false, "bubblewrap 0.3.1\n": false, "wrapper 0.8.0\n": false, "": false,
	} {
		version, err := checkVersion(said)
		require.Equal(t, fine, err == nil, said)
		if err != nil {
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, "0.8.0 or later", version)
		}
	}
}
