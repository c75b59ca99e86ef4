package nativeinspect

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: P-096
func TestRecordMembersAreExact(t *testing.T) {
	object, err := parseRecord([]byte(`{"a":"x","a":"x","b":"y","c":["y"],"d":["y","y"],"\u0065":"z","f":1,"v":"1.2.3-rc.1","w":"01.2.3"}`))
	require.NoError(t, err)
	require.False(t, is(member(object, "a"), "x")) // twice
	require.True(t, is(member(object, "b"), "y"))
	require.False(t, is(member(object, "B"), "y"))
	require.False(t, is(member(object, "c"), "y"))
	require.True(t, only(member(object, "c"), "y"))
	require.False(t, only(member(object, "d"), "y"))
	require.False(t, only(member(object, "b"), "y"))
	require.True(t, is(member(object, "e"), "z")) // however it is spelled
	require.False(t, is(member(object, "f"), "1"))
	require.False(t, is(member(object, "none"), ""))
	require.False(t, is(member(member(object, "b"), "x"), ""))
	number, ok := version(member(object, "v"))
	require.True(t, ok)
	require.Equal(t, "1.2.3-rc.1", number)
	_, ok = version(member(object, "w"))
	require.False(t, ok)
	for _, bad := range []string{"", "{", "null", "[]", "1", `"x"`, "{}{}", "{}x", "\ufeff{}", "{\"a\":\"\xff\"}", "{'a':1}", strings.Repeat("[", 60_000)} {
		_, err := parseRecord([]byte(bad))
		require.Equal(t, ReasonManifest, reasonOf(err), "%.10s", bad)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(launcherJSON))
	f.Add([]byte(nativeJSON))
	f.Add([]byte(voltaJSON))
	f.Add([]byte(`{"name":"a","name":"b","version":"1.0.0"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := parseRecord(data)
		if err != nil {
			require.Equal(t, ReasonManifest, reasonOf(err))
			return
		}
		for _, name := range []string{"name", "version", "bin", "os"} {
			value := member(object, name)
			member(value, "codex")
			only(value, "linux")
			if number, ok := version(value); ok {
				require.LessOrEqual(t, len(number), 128)
			}
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("$ORIGIN/../lib:/usr/lib", "/opt/app/bin")
	f.Add("${ORIGIN}", "/")
	f.Add("/a::/b", "/x")
	f.Fuzz(func(t *testing.T, value, origin string) {
		if !normalised(origin) {
			origin = filepath.Clean("/" + strings.ReplaceAll(origin, "\x00", ""))
		}
		dirs, err := expand(value, origin, "RUNPATH")
		if err != nil {
			require.Equal(t, ReasonSearch, reasonOf(err))
			return
		}
		for _, d := range dirs {
			require.True(t, normalised(d.path))
			require.NotContains(t, d.path, "$")
		}
	})
}
