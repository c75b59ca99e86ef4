package live_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// process is one of a scope, as the host sees it.
type process struct {
	at      string // its folder below /proc
	command []string
	uid     string
}

// scope are the processes of the native scope that is under way.
func scope(t *testing.T) (all []process) {
	for _, s := range strangers(t) {
		pid, _, _ := strings.Cut(s, " ")
		p := process{at: filepath.Join("/proc", pid)}
		command, err := os.ReadFile(filepath.Join(p.at, "cmdline"))
		if err != nil {
			continue
		}
		p.command = strings.Split(strings.TrimSuffix(string(command), "\x00"), "\x00")
		status, err := os.ReadFile(filepath.Join(p.at, "status"))
		require.NoError(t, err)
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); fields[0] == "Uid:" {
				p.uid = fields[1]
			}
		}
		all = append(all, p)
	}
	return all
}

func (p process) is(part string) bool { return strings.Contains(p.command[0], part) }

// rule: J-127, J-136, J-156, J-145, J-161, J-180, J-183, J-190, J-197, J-198, J-199, J-200, J-201, J-202, F-189, F-197, N-019, N-035
func TestWhatANativeScopeHolds(t *testing.T) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			p := newPlace(t, client, "")
			r := p.startProbe(`{"prompts":[{"text":"SLOW"}]}`)
			r.says("| first text")
			own := map[string]string{codex: "/bin/codex", claude: "claude", pi: "/pi/pi"}[client]
			var native, adapter process
			for _, s := range scope(t) {
				require.NotContains(t, strings.Join(s.command, " "), p.key, "a command line")
				if s.is("/agent/jig") {
					adapter = s
				} else if s.is(own) && s.command[0][0] == '/' {
					native = s
				}
				if os.Geteuid() == 0 && s.is(base+"/jig") {
					continue // jig itself
				}
				if os.Geteuid() == 0 && len(s.command) > 1 {
					require.NotEqual(t, "0", s.uid, "%v runs as root", s.command)
				}
			}
			require.NotEmpty(t, native.at, "%v", scope(t))
			require.Equal(t, []string{"/agent/jig", "__adapter"}, adapter.command)
			p.environment(t, native)
			p.mounts(t, native)
			if os.Geteuid() == 0 {
				// Who may look into every process sees no secret but where it belongs.
				for _, s := range scope(t) {
					env, err := os.ReadFile(filepath.Join(s.at, "environ"))
					holds := err == nil && bytes.Contains(env, []byte(p.key))
					require.Equal(t, s.at == native.at && client == claude || s.is(base+"/jig"), holds, "%v", s.command)
				}
				p.files(t, native)
			}
			require.NoError(t, r.cmd.Process.Signal(os.Interrupt))
			r.wait()
			if client == claude {
				require.Empty(t, p.model.names.list(), "it looks up no name")
			}
		})
	}
}

// environment compares what the client got with what it may have. Only root may
// look, and who runs it as himself.
func (p *place) environment(t *testing.T, native process) {
	b, err := os.ReadFile(filepath.Join(native.at, "environ"))
	if err != nil {
		require.NotZero(t, os.Geteuid(), err)
		return
	}
	got := map[string]string{}
	for e := range strings.SplitSeq(strings.TrimSuffix(string(b), "\x00"), "\x00") {
		name, value, _ := strings.Cut(e, "=")
		got[name] = value
	}
	want := map[string]string{"HOME": "/home/agent", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt", "PATH": "/nonexistent"}
	switch p.client {
	case codex:
		want["CODEX_HOME"], want["PATH"] = "/codex", "/usr/bin"
	case claude:
		want["CLAUDE_CONFIG_DIR"], want["ANTHROPIC_BASE_URL"] = "/home/agent/claude", p.model.origin
		want["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"], want["DISABLE_AUTOUPDATER"] = "1", "1"
		want["ANTHROPIC_API_KEY"] = p.key
	case pi:
		want["PI_CODING_AGENT_DIR"] = "/home/agent/pi"
		want["PI_OFFLINE"], want["PI_TELEMETRY"], want["PI_SKIP_VERSION_CHECK"] = "1", "0", "1"
	}
	for name, value := range want {
		require.Equal(t, value, got[name], name)
	}
	for name := range got {
		if _, listed := want[name]; !listed && p.client != claude {
			t.Errorf("%s is not a variable that it may have", name)
		}
		require.NotContains(t, name, "BUN_")
	}
}

// mounts are the sizes of what is writable.
func (p *place) mounts(t *testing.T, native process) {
	b, err := os.ReadFile(filepath.Join(native.at, "mountinfo"))
	require.NoError(t, err)
	sizes := map[string]string{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		require.NotContains(t, fields[4], p.dir, "the project is shown")
		for o := range strings.SplitSeq(fields[len(fields)-1], ",") {
			if size, ok := strings.CutPrefix(o, "size="); ok && strings.HasPrefix(fields[5], "rw") {
				sizes[fields[4]] = size
			}
		}
	}
	const most = "262144k"
	want := map[string]string{"/tmp": most, "/work": most, "/home/agent": most}
	if p.client == codex {
		want["/codex"] = most
	}
	for at, size := range want {
		require.Equal(t, size, sizes[at], "%s of %v", at, sizes)
	}
	for at := range sizes {
		require.True(t, want[at] != "" || strings.HasPrefix(at, "/dev/") || at == "/codex/sessions", "%s is writable", at)
	}
}

// files looks for the secret in everything that the client could read as a file,
// but where Pi keeps it.
func (p *place) files(t *testing.T, native process) {
	root := filepath.Join(native.at, "root")
	found := 0
	for _, top := range []string{"tmp", "work", "home", "codex", "etc"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // what has gone meanwhile, or was never there
			}
			b, err := os.ReadFile(path)
			if err == nil && bytes.Contains(b, []byte(p.key)) {
				found++
				require.Equal(t, filepath.Join(root, "home/agent/pi/auth.json"), path)
				info, err := d.Info()
				require.NoError(t, err)
				require.EqualValues(t, 0o600, info.Mode().Perm())
			}
			return nil
		})
		require.NoError(t, err)
	}
	want := 0
	if p.client == pi {
		want = 1
	}
	require.Equal(t, want, found)
	work, err := os.ReadDir(filepath.Join(root, "work"))
	require.NoError(t, err)
	require.Empty(t, work)
}

// rule: J-131, J-186, J-211, N-022, J-149
func TestAToolOfCodexRunsInItsOwnSandboxOrNotAtAll(t *testing.T) {
	p := newPlace(t, codex, ", maxTurns: 2")
	o := p.probe(`{"prompts":[{"text":"TOOL echo the tool ran"},{"text":"ESCALATE echo it escaped"}]}`).ends(0, "succeeded")
	require.JSONEq(t, `[{"stop":"end_turn","text":"The tool answered."},{"stop":"end_turn","text":"The tool answered."}]`, o.member("output", "turns"))
	posts := p.model.posts()
	require.Len(t, posts, 4)
	says := []string{"execvp /bin/sh: No such file", "rejected"}
	for i, at := range []int{1, 3} {
		var outputs []string
		gjson.Get(posts[at].Body, "input").ForEach(func(_, item gjson.Result) bool {
			if strings.HasSuffix(item.Get("type").Str, "_call_output") {
				outputs = append(outputs, item.Get("output").String())
			}
			return true
		})
		require.Len(t, outputs, i+1)
		require.Contains(t, outputs[i], says[i])
	}
}
