package socket

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: W-001, M-142
func TestPathIsTheFirstThatIsSet(t *testing.T) {
	env := map[string]string{"MAGI_SOCKET": "/a/x.sock", "XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/u"}
	configured := "/c/y.sock"
	for _, want := range []string{"/a/x.sock", "/c/y.sock", "/run/user/7/magi/magid.sock", "/home/u/.local/state/magi/magid.sock"} {
		got, err := Path(func(name string) string { return env[name] }, configured)
		require.NoError(t, err)
		require.Equal(t, want, got)
		switch { // take away what has just won
		case env["MAGI_SOCKET"] != "":
			delete(env, "MAGI_SOCKET")
		case configured != "":
			configured = ""
		default:
			delete(env, "XDG_RUNTIME_DIR")
		}
	}
	delete(env, "HOME")
	_, err := Path(func(name string) string { return env[name] }, "")
	require.ErrorContains(t, err, "set MAGI_SOCKET")
}

func TestPathPassesOverARelativeRuntimeDir(t *testing.T) {
	env := map[string]string{"XDG_RUNTIME_DIR": "run", "HOME": "/home/u"}
	got, err := Path(func(name string) string { return env[name] }, "")
	require.NoError(t, err)
	require.Equal(t, "/home/u/.local/state/magi/magid.sock", got)
}

func TestPathRefusesWhatCannotBeASocket(t *testing.T) {
	for path, text := range map[string]string{
		"relative.sock":                  "not absolute",
		"/a/":                            "folder",
		"/a/..":                          "folder",
		"/a\x00b":                        "NUL",
		"/" + strings.Repeat("p", 107):   "108 bytes long and the kernel takes at most 107",
		"/" + strings.Repeat("p/", 2000): "folder",
	} {
		_, err := Path(func(string) string { return "" }, path)
		require.ErrorContains(t, err, text, path)
		require.ErrorContains(t, err, "[daemon] socket", path)
	}
}

// pathOf is a path of exactly so many bytes whose folder does not exist yet.
func pathOf(t *testing.T, bytes int) string {
	t.Helper()
	dir := filepath.Join(folder(t), "d")
	return dir + "/" + strings.Repeat("s", bytes-len(dir)-1)
}

// rule: M-130
func TestPathOf107BytesWorksAnd108IsAClearError(t *testing.T) {
	for _, bytes := range []int{106, 107} {
		path := pathOf(t, bytes)
		require.Len(t, path, bytes)
		l := listen(t, path)
		reachable(t, l, path)
	}
	_, err := Listen(pathOf(t, 108))
	require.EqualError(t, err, "socket path is 108 bytes long and the kernel takes at most 107: choose a shorter one with MAGI_SOCKET")
}
