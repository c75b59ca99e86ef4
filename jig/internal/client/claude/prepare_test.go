package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
)

// rule: N-027, J-191
func TestTheProgramIsStartedWithEverythingOff(t *testing.T) {
	argv := strings.Join(claude.Argv("m"), " ")
	for _, part := range []string{
		"-p ", "--input-format stream-json", "--output-format stream-json", "--verbose", "--include-partial-messages", "--strict-mcp-config",
		"--setting-sources  ", "--permission-prompt-tool stdio", "--tools  ", "--disable-slash-commands", "--no-session-persistence", "--max-turns 1",
	} {
		require.Contains(t, argv, part)
	}
}

// rule: J-200, J-191, J-192
func TestTheEnvironmentSwitchesOffWhatHasNoArgument(t *testing.T) {
	env := claude.Env("/home/agent", "https://api.example/v")
	for name, value := range map[string]string{
		"CLAUDE_CONFIG_DIR": "/home/agent/claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
		"CLAUDE_CODE_MAX_RETRIES": "0", "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1", "CLAUDE_CODE_NO_MODEL_FALLBACK": "1", "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
		"DISABLE_COMPACT": "1", "ANTHROPIC_BASE_URL": "https://api.example/v",
	} {
		require.Equal(t, value, env[name], name)
	}
	for name := range env {
		require.NotContains(t, name, "KEY")
		require.NotContains(t, name, "TOKEN")
	}
	_, set := claude.Env("/home/agent", "")["ANTHROPIC_BASE_URL"]
	require.False(t, set, "without an endpoint it is the client's own")
}

// rule: J-190, F-191
func TestTheCredentialIsTheOneVariableOfItsMode(t *testing.T) {
	for credential, want := range map[string][]string{
		`{"variable":"ANTHROPIC_API_KEY","value":"k"}`:       {"ANTHROPIC_API_KEY=k"},
		`{"variable":"CLAUDE_CODE_OAUTH_TOKEN","value":"t"}`: {"CLAUDE_CODE_OAUTH_TOKEN=t"},
		`{"variable":"ANTHROPIC_AUTH_TOKEN","value":"b"}`:    {"ANTHROPIC_AUTH_TOKEN=b", "ANTHROPIC_API_KEY="},
	} {
		f := frame("m")
		f.Credential = jsontext.Value(credential)
		env, err := claude.New().Prepare(f)
		require.NoError(t, err)
		require.Equal(t, want, env)
		require.NotContains(t, strings.Join(f.Argv, " "), "=")
	}
}

func TestAnythingElseIsNoCredential(t *testing.T) {
	for _, bad := range []string{
		``, `{}`, `{"variable":"ANTHROPIC_API_KEY"}`, `{"variable":"ANTHROPIC_API_KEY","value":""}`, `{"variable":"PATH","value":"k"}`,
		`{"variable":"ANTHROPIC_API_KEY","value":"k","more":1}`, `{"variable":"ANTHROPIC_API_KEY","value":"a\nb"}`, `{"variable":"ANTHROPIC_API_KEY","value":"a\u0000b"}`,
	} {
		f := frame("m")
		f.Credential = jsontext.Value(bad)
		_, err := claude.New().Prepare(f)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "k")
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		f := frame("m")
		f.Env[name] = ""
		_, err := claude.New().Prepare(f)
		require.Error(t, err, "a second one, and be it empty")
	}
}

func TestTheProgramsFolderIsItsOwn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "claude")
	f := frame("m")
	f.Env["CLAUDE_CONFIG_DIR"] = folder
	_, err := claude.New().Prepare(f)
	require.NoError(t, err)
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	_, err = claude.New().Prepare(f)
	require.ErrorIs(t, err, os.ErrExist, "nobody was there before")
}
