package live_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	protocol "github.com/magi-jig/magi-jig/jig/internal/client/codex"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// The requirements that jig binds for Codex; jig.md 7 has these words.
const requirements = "allowed_approval_policies = [\"on-request\"]\nallowed_sandbox_modes = [\"read-only\", \"workspace-write\"]\n"

// bare is a scope as jig would make it, with a Codex that has nothing beside it: no
// helper of its own, and none on PATH.
func bare(t *testing.T, m *model, command ...string) []string {
	native, err := filepath.Glob(filepath.Join(base, "native/codex/node_modules/@openai/codex-*/vendor/*/bin/codex"))
	require.NoError(t, err)
	require.Len(t, native, 1)
	bwrap, err := exec.LookPath("bwrap")
	require.NoError(t, err)
	required := filepath.Join(t.TempDir(), "requirements.toml")
	require.NoError(t, os.WriteFile(required, []byte(requirements), 0o644))
	return append([]string{
		bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/work", "--tmpfs", "/codex", "--tmpfs", "/home/agent",
		"--ro-bind", native[0], "/opt/codex/codex", "--ro-bind", filepath.Join(base, "jig"), "/agent/jig",
		"--ro-bind", m.authority, "/etc/ssl/certs/ca-certificates.crt", "--ro-bind", required, "/etc/codex/requirements.toml",
		"--setenv", "HOME", "/home/agent", "--setenv", "CODEX_HOME", "/codex", "--setenv", "PATH", "/nonexistent", "--chdir", "/work", "--",
	}, command...)
}

// rule: N-023
func TestWithoutAHelperAToolOfCodexFailsAndTheTurnGoesOn(t *testing.T) {
	m := newModel(t)
	c := acpprofile.Config{Client: codex, ModeID: "read-only", MaxTurns: 1, Configuration: []acpprofile.Setting{{ID: "model", Value: "gpt-5.1"}}}
	p := adaptertest.Start(t, adaptertest.Spec{
		Command: bare(t, m, "/agent/jig", "__adapter"), Config: c,
		Frame: &launch.Frame{
			Client: codex, Native: "/opt/codex/codex", Argv: protocol.Arguments(m.url, "gpt-5.1"),
			Env: map[string]string{
				"HOME": "/home/agent", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "PATH": "/nonexistent", "CODEX_HOME": "/codex", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
			},
			Credential: jsontext.Value(`{"type":"apiKey","apiKey":"sk-canary"}`),
		},
	})
	require.NoError(t, p.Open(c))
	stop, text, err := p.Prompt("TOOL echo the tool ran")
	require.NoError(t, err)
	require.Equal(t, "end_turn", stop)
	require.Equal(t, "The tool answered.", text)
	posts := m.posts()
	require.Len(t, posts, 2)
	output := ""
	gjson.Get(posts[1].Body, "input").ForEach(func(_, item gjson.Result) bool {
		if strings.HasSuffix(item.Get("type").Str, "_call_output") {
			output = item.Get("output").String()
		}
		return true
	})
	require.Contains(t, output, "bubblewrap is unavailable")
	require.NotContains(t, output, "the tool ran\n")
	p.CloseInput()
	x := p.Exit()
	require.True(t, x.Clean(), "%+v", x)
}

// What jig binds, and not what it asks for, keeps Codex from full access.
//
// rule: N-024
func TestCodexRefusesFullAccessByItsRequirements(t *testing.T) {
	m := newModel(t)
	provider := append(protocol.Arguments(m.url, "gpt-5.1"), "-c", `model_provider="jig"`, "-c", `model_providers.jig.name="jig"`, "-c", "features.plugins=false")
	command := bare(t, m, append([]string{"/opt/codex/codex"}, provider...)...)
	cmd := exec.Command(command[0], command[1:]...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	lines := bufio.NewReaderSize(stdout, 1<<20)
	ids := 0
	ask := func(method, params string) gjson.Result {
		t.Helper()
		ids++
		id := string(rune('0' + ids))
		_, err := io.WriteString(stdin, `{"id":`+id+`,"method":"`+method+`","params":`+params+"}\n")
		require.NoError(t, err)
		for {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			if v := gjson.Parse(line); v.Get("id").Raw == id && !v.Get("method").Exists() {
				return v
			}
		}
	}
	ask("initialize", `{"clientInfo":{"name":"jig","title":"jig","version":"0"}}`)
	_, err = io.WriteString(stdin, "{\"method\":\"initialized\"}\n")
	require.NoError(t, err)
	// A thread comes with less than was asked for, if it comes.
	for _, params := range []string{`"approvalPolicy":"on-request","sandbox":"danger-full-access"`, `"approvalPolicy":"never","sandbox":"workspace-write"`} {
		r := ask("thread/start", `{"cwd":"/work",`+params+`}`)
		if got := r.Get("result"); got.Exists() {
			require.Contains(t, []string{"readOnly", "workspaceWrite"}, got.Get("sandbox.type").Str, "%s", r.Raw)
			require.False(t, got.Get("sandbox.networkAccess").Bool(), "%s", r.Raw)
			require.Equal(t, "on-request", got.Get("approvalPolicy").Str, "%s", r.Raw)
		} else {
			require.Contains(t, r.Get("error.message").Str, "requirements", "%s", r.Raw)
		}
	}
	r := ask("thread/start", `{"cwd":"/work","approvalPolicy":"on-request","sandbox":"workspace-write"}`)
	require.Equal(t, "workspaceWrite", r.Get("result.sandbox.type").Str, "%s", r.Raw)
	thread := r.Get("result.thread.id").Str
	r = ask("turn/start", `{"threadId":"`+thread+`","input":[{"type":"text","text":"HELLO"}],"sandboxPolicy":{"type":"dangerFullAccess"}}`)
	require.Contains(t, r.Get("error.message").Str, "requirements", "%s", r.Raw)
	require.Empty(t, m.requests())
}
