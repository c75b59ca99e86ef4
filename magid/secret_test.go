package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
)

// complaint: 50 vllm-project/semantic-router#2132, farion1231/cc-switch#2896, openai/codex#5524 - keys were printed with the configuration, in headers and in diagnostics
// rule: M-136, M-140, W-109
func TestComplaint50SemanticRouter2132CanarySecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-0123456789abcdef0123456789abcdef"
	for name, give := range map[string]func(p *place){
		"variable": func(p *place) { p.env = append(p.env, "MAGI_API_KEY="+key) },
		"file": func(p *place) {
			path := filepath.Join(p.dir, "key")
			require.NoError(t, os.WriteFile(path, []byte(key+"\n"), 0o600))
			p.env = append(p.env, "MAGI_API_KEY_FILE="+path)
		},
	} {
		p := newPlace(t)
		give(p)
		// The provider shows the key it got, as some do.
		model := p.model(
			scripted.ErrorReply(401, "Incorrect API key provided: "+key+". Find yours in the console."),
			scripted.TextReply("fine"),
		)
		daemon := parse[runningJSON](t, p.run("start", "--json").stdout)
		c := p.dial()
		s := p.claimed(c, p.session(c))
		const prompt = "canary-prompt"
		_, err := s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: prompt})
		require.NoError(t, err)
		_, terminal := end(t, s)
		require.Equal(t, wirev2.TurnProviderError, terminal.Error.Code)
		require.Contains(t, terminal.Error.Message, "401")
		require.Contains(t, terminal.Error.Message, "[redacted]")
		require.Equal(t, "Bearer "+key, model.Requests()[0].Header.Get("Authorization"), "%s: it did reach the provider", name)
		_, err = s.StartTurn(t.Context(), "", wirev2.TurnStartRequest{Prompt: prompt})
		require.NoError(t, err)
		end(t, s)
		token := s.Token().Reveal()

		var shown strings.Builder
		for _, args := range [][]string{
			{"status"}, {"status", "--json"}, {"sessions"}, {"history", string(s.ID())}, {"history", string(s.ID()), "--json"},
			{"call", "daemon.status"}, {"call", "nonsense"}, {"version"},
		} {
			r := p.run(args...)
			shown.WriteString(r.stdout + r.stderr)
		}
		argv, err := os.ReadFile("/proc/" + strconv.Itoa(daemon.PID) + "/cmdline")
		require.NoError(t, err)
		shown.WriteString(string(argv))
		require.Zero(t, p.run("stop").code)
		log, err := os.ReadFile(daemon.Log)
		require.NoError(t, err)
		require.NotEmpty(t, log)
		require.NotContains(t, string(log), prompt, "bodies are not logged")
		for _, secret := range []string{key, token} {
			require.NotContains(t, shown.String(), secret, name)
			for path, text := range filesBelow(t, p.state) {
				require.NotContains(t, text, secret, "%s: %s", name, path)
			}
		}
	}
}

func filesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			files[path] = string(text)
		}
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

// rule: M-140
func TestLogFileIsJSONAndPrivate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	daemon := parse[runningJSON](t, p.run("start", "--json").stdout)
	require.Zero(t, p.run("stop").code)
	require.Equal(t, filepath.Join(p.state, "magid.log"), daemon.Log)
	info, err := os.Stat(daemon.Log)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(daemon.Log)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	for _, line := range lines {
		require.Contains(t, parse[map[string]any](t, line), "msg")
	}
}
