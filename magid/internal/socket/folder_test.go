package socket

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-002
func TestMissingFoldersAreMadePrivateWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o277} {
		base := folder(t)
		withUmask(t, mask)
		path := filepath.Join(base, "a", "b", "magi", "magid.sock")
		listen(t, path)
		for dir := filepath.Dir(path); dir != base; dir = filepath.Dir(dir) {
			require.Equal(t, os.FileMode(0o700), mode(t, dir), "%s with umask %#o", dir, mask)
		}
	}
}

// foreignFolder is a folder of another user. Root makes one; anybody else finds root's.
func foreignFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/"
	}
	dir := filepath.Join(folder(t), "foreign")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, 4711, 4711))
	return dir
}

// rule: W-003, W-005
func TestForeignFolderIsRefusedAndLeftAlone(t *testing.T) {
	dir := foreignFolder(t)
	before := mode(t, dir)
	_, err := Listen(filepath.Join(dir, "m.sock"))
	require.ErrorContains(t, err, "belongs to user")
	require.ErrorContains(t, err, "MAGI_SOCKET")
	require.Equal(t, before, mode(t, dir))
	require.NoFileExists(t, filepath.Join(dir, "m.sock.lock"))
}

// rule: W-004, W-005
func TestOpenFolderIsRefusedAndItsModeKept(t *testing.T) {
	for _, open := range []os.FileMode{0o701, 0o702, 0o704, 0o710, 0o720, 0o740, 0o755, 0o777} {
		dir := filepath.Join(folder(t), "open")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chmod(dir, open))
		_, err := Listen(filepath.Join(dir, "m.sock"))
		require.ErrorContains(t, err, "open to group or others")
		require.Equal(t, open, mode(t, dir))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
	dir := filepath.Join(folder(t), "closed")
	require.NoError(t, os.Mkdir(dir, 0o700))
	listen(t, filepath.Join(dir, "m.sock"))
}

func TestFolderThatIsAFileIsRefused(t *testing.T) {
	file := filepath.Join(folder(t), "f")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	_, err := Listen(filepath.Join(file, "m.sock"))
	require.ErrorContains(t, err, "is not a folder")
}
