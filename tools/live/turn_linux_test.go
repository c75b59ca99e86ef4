package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// model is the scripted model, and a folder that an agent may call its home.
type model struct {
	*scripted.Server
	home      string
	authority string // the file to trust
}

func newModel(t *testing.T) *model {
	t.Helper()
	s, err := scripted.Start(scripted.Options{TLS: true, Respond: scripted.ByText})
	require.NoError(t, err)
	m := &model{Server: s, home: t.TempDir()}
	m.authority = m.file(t, "authority.pem", string(s.Authority()))
	t.Cleanup(func() {
		endOrphans(t)
		require.NoError(t, s.Close())
		require.NoError(t, lookups.SetReadDeadline(time.Now()))
		n, err := lookups.Read(make([]byte, 1500))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a name was looked up: %d", n)
	})
	return m
}

// endOrphans ends what is left of an agent whose own process was waited for: it may
// still write into its home, which is about to be deleted.
func endOrphans(t *testing.T) {
	for range 100 {
		lists, err := filepath.Glob("/proc/self/task/*/children")
		require.NoError(t, err)
		left := 0
		for _, list := range lists {
			b, _ := os.ReadFile(list) // of a thread that may have ended
			for field := range strings.FieldsSeq(string(b)) {
				pid, err := strconv.Atoi(field)
				require.NoError(t, err)
				left++
				_ = unix.Kill(pid, unix.SIGKILL)
				_, _ = unix.Wait4(pid, nil, 0, nil)
			}
		}
		if left == 0 {
			return // their children would have come here too
		}
	}
	t.Error("an agent's processes do not end")
}

func (m *model) file(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(m.home, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func (m *model) origin() string { return strings.TrimSuffix(m.URL(), "/v1") }

// environment is all that an agent gets.
func (m *model) environment(more ...string) []string {
	return append([]string{
		"HOME=" + m.home, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "SSL_CERT_FILE=" + m.authority,
		"CODEX_HOME=" + filepath.Join(m.home, "codex"), "SCRIPTED_KEY=key-of-codex",
		"CLAUDE_CONFIG_DIR=" + filepath.Join(m.home, "claude"), "ANTHROPIC_BASE_URL=" + m.origin(), "ANTHROPIC_API_KEY=key-of-claude",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"PI_CODING_AGENT_DIR=" + filepath.Join(m.home, "pi"), "PI_OFFLINE=1", "PI_TELEMETRY=0", "PI_SKIP_VERSION_CHECK=1", "OPENAI_API_KEY=key-of-pi",
	}, more...)
}

// codexConfig has Codex talk to the scripted model, and to nobody else.
func (m *model) codexConfig(t *testing.T) {
	m.file(t, "codex/config.toml", `
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "`+m.URL()+`"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[features]
plugins = false
shell_snapshot = false
unbounded_connection_retries = false
`)
}

// run runs an agent to its end, in an empty folder.
func (m *model) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(agents, filepath.FromSlash(program)), args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = m.environment(), t.TempDir(), time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, stderr.String())
	return string(out)
}

// asked tells that one request was made, with that key.
func (m *model) asked(t *testing.T, path, header, key string) {
	t.Helper()
	all := m.Requests()
	require.Len(t, all, 1)
	require.Equal(t, path, all[0].Path)
	require.Equal(t, []string{key}, all[0].Header[header])
}

func TestCodexTakesATurn(t *testing.T) {
	for _, folder := range []string{"codex", "codex-later"} {
		t.Run(folder, func(t *testing.T) {
			m := newModel(t)
			m.codexConfig(t)
			out := m.run(t, folder+"/node_modules/.bin/codex", "exec", "--skip-git-repo-check", "--json", "-s", "read-only", "HELLO")
			require.Contains(t, out, `"text":"Hello from a script."`)
			m.asked(t, "/v1/responses", "Authorization", "Bearer key-of-codex")
		})
	}
}

func TestClaudeTakesATurn(t *testing.T) {
	m := newModel(t)
	out := m.run(t, "claude/node_modules/.bin/claude", "-p", "--output-format", "json", "--model", "scripted", "--strict-mcp-config",
		"--setting-sources", "", "--tools", "", "--disable-slash-commands", "--no-session-persistence", "HELLO")
	require.Contains(t, out, `"result":"Hello from a script."`)
	m.asked(t, "/v1/messages", "X-Api-Key", "key-of-claude")
}

func TestPiTakesATurn(t *testing.T) {
	m := newModel(t)
	m.file(t, "pi/models.json", `{"providers":{"openai":{"baseUrl":"`+m.URL()+`"}}}`)
	out := m.run(t, "pi/pi", "-p", "--no-session", "--no-tools", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes",
		"--no-context-files", "--no-approve", "--offline", "--provider", "openai", "--model", "gpt-5.1", "HELLO")
	require.Equal(t, "Hello from a script.", strings.TrimSpace(out))
	m.asked(t, "/v1/responses", "Authorization", "Bearer key-of-pi")
}
