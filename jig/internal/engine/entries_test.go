package engine

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFlowHasSoManyFilesAndNoMore(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	f := &files{mounts: []mount{{"/scratch", root, true}}}
	defer f.close()
	do := func(op, name string, more ...any) any {
		return f.ask(append(args{op, "/scratch/" + name}, more...))
	}
	write := func(name string) any {
		return do("write", name, base64.StdEncoding.EncodeToString([]byte("x")), "w", 0o644)
	}
	full := func(op string) any { return []any{"ENOSPC", "no space left on device", op} }
	for n := range maxEntries - 2 {
		require.NoError(t, root.WriteFile(fmt.Sprint(n), nil, 0o600))
	}
	f.made = maxEntries // it counts at the next one
	require.Nil(t, write("one"))
	require.Equal(t, "", do("mkdir", "two", false))
	for range 3 {
		require.Equal(t, full("write"), write("three"))
		require.Equal(t, full("mkdir"), do("mkdir", "three", false))
		require.Equal(t, full("mkdir"), do("mkdir", "three/four", true))
		require.Equal(t, full("mkdtemp"), do("mkdtemp", "three"))
		require.Equal(t, full("copyfile"), do("copyfile", "one", "/scratch/three", false))
	}
	require.Nil(t, do("copyfile", "one", "/scratch/1", false))
	require.Nil(t, write("one"), "what is there may be written again")
	require.Nil(t, do("unlink", "0"))
	require.Nil(t, write("three"))
	require.Equal(t, full("write"), write("four"))
	left, err := filepath.Glob(filepath.Join(root.Name(), "*"))
	require.NoError(t, err)
	require.Len(t, left, maxEntries)
}
