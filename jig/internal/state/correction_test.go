package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachUnsafePlaceHasACorrection(t *testing.T) {
	for name, c := range map[string]struct {
		put       func(jig string) error
		says, fix string
	}{
		"open":   {func(jig string) error { return os.Mkdir(jig, 0o750) }, ".jig is open to others", "chmod 700 .jig"},
		"a file": {func(jig string) error { return os.WriteFile(jig, nil, 0o600) }, ".jig is a plain file, and not a folder", "move it away"},
		"a link": {func(jig string) error { return os.Symlink("elsewhere", jig) }, ".jig is a symbolic link, and not a folder", "move it away"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, c.put(filepath.Join(dir, Folder)))
			_, err := Create(dir)
			require.ErrorIs(t, err, ErrUnsafe)
			require.EqualError(t, err, c.says)
			require.Contains(t, Correction(err), c.fix)
		})
	}
}

// What the system says decides where nothing else is known, and no word of it, which
// can hold a path, is in the correction.
func TestTheCauseSuggestsACorrection(t *testing.T) {
	for cause, fix := range map[error]string{
		syscall.ENOSPC: "make room on the disk", syscall.EDQUOT: "make room on the disk", syscall.EROFS: "read-only file system",
		syscall.EACCES: "let the user who runs jig write", syscall.EPERM: "let the user who runs jig write",
		syscall.EEXIST: "move it away", syscall.ENOTDIR: "move it away", syscall.EIO: "the disk it is on",
	} {
		err := failBecause(ErrUnsafe, &fs.PathError{Op: "open", Path: "/secret/place", Err: cause}, "no file can be made below .jig")
		require.Contains(t, Correction(err), fix, "%v", cause)
		require.NotContains(t, Correction(err), "secret")
		require.ErrorIs(t, err, cause)
	}
	require.NotEmpty(t, Correction(errors.New("another")))
}
