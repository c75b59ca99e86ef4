package journal

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-275, M-039
func TestStateDirFollowsTheEnvironmentInOrder(t *testing.T) {
	env := map[string]string{"MAGI_STATE": "/a/b/", "XDG_STATE_HOME": "/xdg", "HOME": "/home/u"}
	get := func(name string) string { return env[name] }
	for _, step := range []struct{ drop, want string }{
		{"", "/a/b"},
		{"MAGI_STATE", "/xdg/magi"},
		{"XDG_STATE_HOME", "/home/u/.local/state/magi"},
	} {
		delete(env, step.drop)
		dir, err := StateDir(get)
		require.NoError(t, err)
		require.Equal(t, step.want, dir)
	}
	delete(env, "HOME")
	_, err := StateDir(get)
	require.ErrorContains(t, err, "MAGI_STATE")
}

func TestStateDirTakesNoRelativePath(t *testing.T) {
	env := map[string]string{"MAGI_STATE": "a/b", "XDG_STATE_HOME": "xdg", "HOME": "/home/u"}
	get := func(name string) string { return env[name] }
	_, err := StateDir(get)
	require.ErrorContains(t, err, "no absolute path")
	env["MAGI_STATE"] = ""
	dir, err := StateDir(get)
	require.NoError(t, err)
	require.Equal(t, "/home/u/.local/state/magi", dir)
	_, err = Open("relative")
	require.Error(t, err)
	_, err = OpenReadOnly("relative")
	require.Error(t, err)
}

// rule: W-276
func TestFoldersAndFilesArePrivateWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o777} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "missing", "parents", "state")
		old := syscall.Umask(mask)
		store, err := Open(dir)
		if err == nil {
			var s *Session
			if s, err = store.Create(sessionRecord()); err == nil {
				require.NoError(t, s.Append(user(), assistant("", callA), builtin(callA)))
				require.NoError(t, s.MarkWaiting(callA))
				require.NoError(t, s.Close())
			}
			require.NoError(t, store.Close())
		}
		syscall.Umask(old)
		require.NoError(t, err, "umask %o", mask)
		files := 0
		require.NoError(t, filepath.WalkDir(parent, func(path string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := e.Info()
			require.NoError(t, err)
			switch {
			case path == parent:
			case e.IsDir():
				require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), "umask %o: %s", mask, path)
			default:
				files++
				require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "umask %o: %s", mask, path)
			}
			return nil
		}))
		require.Equal(t, 2, files)
	}
}

// rule: W-276
func TestAStateFolderThatIsOpenIsClosedOnlyWhereItIsOurs(t *testing.T) {
	for _, test := range []struct {
		name    string
		mode    fs.FileMode
		holds   string
		refused bool
	}{
		{"empty", 0o755, "", false},
		{"empty and open to writing", 0o777, "", false},
		{"ours", 0o755, "sessions/", false},
		{"ours beside other things", 0o750, "sessions/ log.txt another.txt", false},
		{"a person's", 0o755, "letter.txt", true},
		{"sessions that anybody may have made", 0o777, "sessions/", true},
		{"a person's but closed", 0o700, "letter.txt", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			require.NoError(t, os.Mkdir(dir, 0o700))
			for _, name := range filepath.SplitList(join(test.holds)) {
				if name[len(name)-1] == '/' {
					require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
				} else {
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
				}
			}
			require.NoError(t, os.Chmod(dir, test.mode))
			store, err := Open(dir)
			info, statErr := os.Stat(dir)
			require.NoError(t, statErr)
			if test.refused {
				require.ErrorContains(t, err, "open to other users")
				require.Equal(t, test.mode, info.Mode().Perm())
				return
			}
			require.NoError(t, err)
			require.NoError(t, store.Close())
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
			info, err = os.Stat(filepath.Join(dir, sessionsFolder))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
		})
	}
}

// join turns a list of names into the form SplitList takes.
func join(names string) string {
	out := []byte(names)
	for i, c := range out {
		if c == ' ' {
			out[i] = filepath.ListSeparator
		}
	}
	return string(out)
}

func TestAFileInPlaceOfAFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	_, err := Open(file)
	require.ErrorContains(t, err, "no folder")
	_, err = Open(filepath.Join(file, "state"))
	require.Error(t, err)
	left, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "x", string(left))
}

func TestReadingAStateFolderMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	store, err := OpenReadOnly(dir)
	require.NoError(t, err)
	list, err := store.List()
	require.NoError(t, err)
	require.Empty(t, list)
	for _, err := range store.Entries(sessionID) {
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.NoError(t, store.Close())
	require.NoDirExists(t, dir)

	store, err = Open(dir)
	require.NoError(t, err)
	newSession(t, store)
	ro, err := OpenReadOnly(dir)
	require.NoError(t, err)
	_, err = ro.Open(sessionID)
	require.ErrorIs(t, err, ErrReadOnly)
	_, err = ro.Create(sessionRecord())
	require.ErrorIs(t, err, ErrReadOnly)
	require.NoError(t, ro.Close())
	require.NoError(t, store.Close())
}
