//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// age gives a file a modification time long ago, so that a later write shows
// however coarse the filesystem's clock is.
func age(t *testing.T, path string) {
	t.Helper()
	past := time.Unix(1_000_000_000, 0)
	require.NoError(t, os.Chtimes(path, past, past))
}

// touchChange changes nothing but the change time, for certain.
func touchChange(t *testing.T, path string) {
	t.Helper()
	var before, now unix.Stat_t
	require.NoError(t, unix.Lstat(path, &before))
	for now = before; now.Ctim == before.Ctim; {
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, unix.Lstat(path, &now))
	}
}

// rule: A-043
func TestReadRefusesEveryChangeAtEveryStage(t *testing.T) {
	const text = "inside the workspace"
	type change struct {
		name string
		make func(t *testing.T, root string)
	}
	file := func(root string) string { return filepath.Join(root, "d/f") }
	inPlace := []change{
		{"appended", func(t *testing.T, root string) {
			f, err := os.OpenFile(file(root), os.O_WRONLY|os.O_APPEND, 0)
			require.NoError(t, err)
			_, err = f.WriteString("!")
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}},
		{"truncated", func(t *testing.T, root string) { require.NoError(t, os.Truncate(file(root), 3)) }},
		{"rewritten at its size", func(t *testing.T, root string) {
			f, err := os.OpenFile(file(root), os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString("INSIDE")
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}},
		{"modification time set", func(t *testing.T, root string) {
			now := time.Unix(1_100_000_000, 0)
			require.NoError(t, os.Chtimes(file(root), now, now))
		}},
		{"change time set", func(t *testing.T, root string) { touchChange(t, file(root)) }},
		{"linked again", func(t *testing.T, root string) {
			require.NoError(t, os.Link(file(root), filepath.Join(root, "second")))
		}},
	}
	replaced := []change{
		{"removed", func(t *testing.T, root string) { require.NoError(t, os.Remove(file(root))) }},
		{"replaced by its copy", func(t *testing.T, root string) {
			require.NoError(t, os.WriteFile(filepath.Join(root, "new"), []byte(text), 0o600))
			age(t, filepath.Join(root, "new"))
			require.NoError(t, os.Rename(filepath.Join(root, "new"), file(root)))
		}},
		{"replaced by a link", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(file(root), filepath.Join(root, "moved")))
			require.NoError(t, os.Symlink("../moved", file(root)))
		}},
		{"replaced by a FIFO", func(t *testing.T, root string) {
			require.NoError(t, os.Remove(file(root)))
			require.NoError(t, unix.Mkfifo(file(root), 0o600))
		}},
		{"replaced by a folder", func(t *testing.T, root string) {
			require.NoError(t, os.Remove(file(root)))
			require.NoError(t, os.Mkdir(file(root), 0o700))
		}},
	}
	folderMoved := []change{
		{"folder moved away", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(filepath.Join(root, "d"), filepath.Join(root, "e")))
		}},
		{"folder replaced by a link to itself", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(filepath.Join(root, "d"), filepath.Join(root, "e")))
			require.NoError(t, os.Symlink("e", filepath.Join(root, "d")))
		}},
		{"workspace replaced", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root, root+"-moved"))
			require.NoError(t, os.MkdirAll(filepath.Join(root, "d"), 0o700))
			require.NoError(t, os.WriteFile(file(root), []byte(text), 0o600))
		}},
	}
	all := append(append(append([]change{}, inPlace...), replaced...), folderMoved...)
	for _, c := range []struct {
		at      stage
		changes []change
	}{
		// Before the file is seen nothing has been promised about its content;
		// what stands at its name then is judged like any other file.
		{stageLocated, append(append([]change{}, replaced[2:]...), folderMoved...)},
		{stageSeen, all},
		{stageOpened, all},
		{stageRead, all},
		{stageSame, all},
	} {
		for _, change := range c.changes {
			t.Run(string(c.at)+"/"+change.name, func(t *testing.T) {
				eachWay(t, func(t *testing.T, w way) {
					root := filepath.Join(t.TempDir(), "w")
					require.NoError(t, os.MkdirAll(filepath.Join(root, "d"), 0o700))
					require.NoError(t, os.WriteFile(file(root), []byte(text), 0o600))
					age(t, file(root))
					request := Request{Workspace: root, Path: "d/f", MaxBytes: 100}
					got, err := read(request, w, nil)
					require.NoError(t, err)
					require.Equal(t, text, string(got))

					reached := false
					got, err = read(request, w, func(s stage) {
						if s == c.at {
							reached = true
							change.make(t, root)
						}
					})
					require.True(t, reached)
					require.Nil(t, got)
					var refusal *Error
					require.ErrorAs(t, err, &refusal)
					require.Contains(t, []Rule{RuleChanged, RuleLink, RuleMissing, RuleRegular}, refusal.Rule)
					require.NotContains(t, err.Error(), root)
				})
			})
		}
	}
}

// rule: A-044
func TestReadNeverLeavesTheWorkspaceWhateverIsSwappedAtAStage(t *testing.T) {
	for _, at := range []stage{stageLocated, stageSeen, stageOpened, stageRead, stageSame} {
		for _, victim := range []string{"a", "a/b", "a/b/f"} {
			t.Run(string(at)+" "+victim, func(t *testing.T) {
				eachWay(t, func(t *testing.T, w way) {
					root := folder(t, map[string]string{"a/b/f": "inside--"})
					outside := folder(t, map[string]string{"a/b/f": "outside!"})
					_, err := read(Request{Workspace: root, Path: "a/b/f", MaxBytes: 100}, w, func(s stage) {
						if s == at {
							require.NoError(t, os.Rename(filepath.Join(root, victim), filepath.Join(root, "moved")))
							require.NoError(t, os.Symlink(filepath.Join(outside, victim), filepath.Join(root, victim)))
						}
					})
					var refusal *Error
					require.ErrorAs(t, err, &refusal)
					require.Contains(t, []Rule{RuleChanged, RuleLink}, refusal.Rule)
				})
			})
		}
	}
}
