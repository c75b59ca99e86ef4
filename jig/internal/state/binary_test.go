package state

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is an ELF file with one program header of a kind.
func program(kind uint32) []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)  // EXEC
	le.PutUint16(b[18:], 62) // x86-64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], kind)
	return b
}

// What a sandbox says of a program without its loader is that the program itself is
// not there. So it is looked at when the copy is made, and no copy of it is.
func TestAProgramThatNeedsALoaderIsRefusedBeforeAnyScope(t *testing.T) {
	const load, interp = 1, 3
	_, d := project(t)
	self := filepath.Join(t.TempDir(), "jig")
	for name, c := range map[string]struct {
		content []byte
		fine    bool
	}{
		"static":        {program(load), true},
		"dynamic":       {program(interp), false},
		"no program":    {[]byte("no program"), true},
		"half a header": {program(interp)[:40], true},
	} {
		require.NoError(t, os.WriteFile(self, c.content, 0o755))
		before, err := os.ReadDir(d.file(binName))
		require.NoError(t, err)
		_, _, err = copyOf(t, d, self)
		if c.fine {
			require.NoError(t, err, name)
			require.NoError(t, CheckProgram(self), name)
			continue
		}
		require.ErrorIs(t, err, ErrProgram, name)
		require.ErrorContains(t, err, "linked dynamically")
		require.ErrorIs(t, CheckProgram(self), ErrProgram)
		after, err := os.ReadDir(d.file(binName))
		require.NoError(t, err)
		require.Equal(t, len(before), len(after), "it was copied")
	}
	require.ErrorIs(t, CheckProgram(self+"-none"), ErrUnsafe)
}

// No more of a copy is read than jig has written, whatever its size is now.
func TestACopyThatHasGrownIsNotReadWhole(t *testing.T) {
	_, d := project(t)
	self := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(self, []byte("a program"), 0o755))
	path, _, err := copyOf(t, d, self)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o755))
	require.NoError(t, os.Truncate(path, 1<<40))
	require.NoError(t, os.Chmod(path, 0o555))
	_, _, err = copyOf(t, d, self)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "has been changed")
}
