package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: P-186
func TestADestinationThatCannotBeWrittenSaysWhy(t *testing.T) {
	for errno, code := range map[syscall.Errno]string{
		syscall.EACCES: codeUnavailable, syscall.EROFS: codeUnavailable, syscall.ENOSPC: codeUnavailable,
		syscall.EEXIST: codeInitExists, syscall.ENOTDIR: codeInitExists,
	} {
		r := refusalOf(initRefused("jig.ts cannot be written", fmt.Errorf("a step: %w", &fs.PathError{Op: "open", Path: "/some/where", Err: errno})))
		require.Equal(t, code, r.code, errno)
		require.Equal(t, "jig.ts cannot be written: "+errno.Error(), r.message)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err := (&app{dir: dir}).initialise("file/below", "")
	require.EqualError(t, err, "the folder cannot be made: not a directory")
}
