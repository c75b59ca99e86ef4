package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The real clients are found, described whole, and fit to be lent.
//
// rule: J-008, J-013, N-002, N-004
func TestARealClientIsInspectedAndExamined(t *testing.T) {
	native := filepath.Join(base, "native")
	for client, executable := range map[string]string{
		codex:  "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
		claude: "claude/node_modules/@anthropic-ai/claude-code/bin/claude.exe",
		pi:     "pi/pi",
	} {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			o := p.jig("inspect", client).ends(0, "succeeded")
			require.Equal(t, `"`+filepath.Join(native, executable)+`"`, o.member("installation", "executable", "path"))
			roles := strings.Count(o.member("installation", "files"), `"role":"library"`)
			switch client {
			case codex:
				require.Equal(t, `"npm"`, o.member("installation", "layout"))
				require.Equal(t, `"0.154.0"`, o.member("installation", "version"))
				// Without a helper on PATH it is the installation's own, and needs no file.
				bare := *p
				bare.env = append([]string{"PATH=" + native + "/codex/node_modules/.bin", "JIG_BWRAP_PATH=/usr/bin/bwrap"}, p.env[1:]...)
				o = bare.jig("inspect", client).ends(0, "succeeded")
				require.Equal(t, `"`+filepath.Join(native, filepath.Dir(filepath.Dir(executable)), "codex-resources/bwrap")+`"`, o.member("installation", "helper", "path"))
				require.Equal(t, `[]`, o.member("installation", "files"))
			case claude:
				require.GreaterOrEqual(t, roles, 5)
			case pi:
				require.Equal(t, `"0.84.4"`, o.member("installation", "version"))
				require.Contains(t, o.member("installation", "files"), `"role":"theme"`)
			}
			p.jig("doctor", client).ends(0, "succeeded")
			require.Empty(t, p.model.requests(), "nobody asked the model")
		})
	}
}

// complaint: B4.42 openai/codex#20906 - an agent that was reached through links did not exist in its sandbox
//
// rule: J-203
func TestComplaintB4_42Codex20906AClientBehindLinksIsTheSameAndRuns(t *testing.T) {
	p := newPlace(t, codex, "")
	plain := p.jig("inspect", codex).ends(0, "succeeded").member("installation", "digest")
	folder := t.TempDir()
	for _, name := range []string{"versions", "bin"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o755))
	}
	require.NoError(t, os.Symlink(filepath.Join(base, "native/codex/node_modules/.bin"), filepath.Join(folder, "versions/current")))
	require.NoError(t, os.Symlink("../versions/current/codex", filepath.Join(folder, "bin/codex")))
	p.env = append([]string{"PATH=" + filepath.Join(folder, "bin") + ":/usr/bin:/bin"}, p.env[1:]...)
	o := p.jig("inspect", codex).ends(0, "succeeded")
	require.Equal(t, plain, o.member("installation", "digest"))
	require.Equal(t, `"`+filepath.Join(folder, "bin/codex")+`"`, o.member("installation", "selected"))
	p.jig("review").ends(0, "unchanged")
	p.agent("HELLO").ends(0, "succeeded")
}
