//go:build unix

package state

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A project may bring a folder .jig of its own. What stands there in the place of one
// of its folders is neither followed, which would sweep away what lies elsewhere, nor
// waited for.
func TestWhatStandsInThePlaceOfAFolderIsRefused(t *testing.T) {
	for what, put := range map[string]func(elsewhere, path string) error{
		"a symbolic link": os.Symlink,
		"a pipe":          func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"a plain file":    func(_, path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		for _, name := range []string{packagesName, compiledName, binName, runsName} {
			t.Run(what+" for "+name, func(t *testing.T) {
				dir, d := project(t)
				precious := filepath.Join(t.TempDir(), "precious")
				require.NoError(t, os.Mkdir(precious, 0o700))
				require.NoError(t, os.RemoveAll(d.file(name)))
				require.NoError(t, put(filepath.Dir(precious), d.file(name)))
				for _, use := range []func(string) (*Dir, error){Open, Create} {
					d, err := use(dir)
					if err == nil { // what would follow
						_, _ = d.Recover(t.Context(), lost, nil)
					}
					require.ErrorIs(t, err, ErrUnsafe)
					require.EqualError(t, err, ".jig/"+name+" is "+what+", and not a folder")
					require.Contains(t, Correction(err), "move it away")
					require.DirExists(t, precious)
				}
			})
		}
	}
}
