//go:build unix

package state

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever finds something else in the place of the state file has to be told what it
// is: nothing of it is gone.
func TestWhatStandsInThePlaceOfTheStateFileIsNamed(t *testing.T) {
	for what, put := range map[string]func(t *testing.T, path string){
		"a folder": func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
		"a pipe":   func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o600)) },
		"a symbolic link": func(t *testing.T, path string) {
			require.NoError(t, os.Symlink(path+".elsewhere", path))
		},
		"a socket": func(t *testing.T, path string) {
			// A socket's path has little room: it is bound from its own folder.
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: databaseName})
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
		},
	} {
		t.Run(what, func(t *testing.T) {
			_, d := project(t)
			t.Chdir(d.path)
			path := d.file(databaseName)
			require.NoError(t, os.Rename(path, path+".elsewhere"))
			put(t, path)
			for _, use := range []func(func(*Tx) error) error{d.View, d.Update} {
				err := use(func(*Tx) error { return nil })
				require.ErrorIs(t, err, ErrInvalid)
				require.EqualError(t, err, ".jig/state.db is "+what+", and not the file that jig keeps its state in")
			}
		})
	}
}

// The same holds for what takes the place between the look and the lock.
func TestWhatTookThePlaceOfTheStateFileIsNamed(t *testing.T) {
	_, d := project(t)
	f, err := os.Open(d.file(databaseName))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(d.file(databaseName)))
	_, err = d.current(f)
	require.EqualError(t, err, "the state file is gone")
	require.NoError(t, os.Mkdir(d.file(databaseName), 0o700))
	_, err = d.current(f)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, ".jig/state.db is a folder")
}
