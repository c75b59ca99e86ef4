package pi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/pi"
)

// rule: N-038, J-195
func TestTheProgramIsStartedWithEverythingOff(t *testing.T) {
	require.Equal(t, "--mode rpc --no-session --no-tools --no-extensions --no-skills --no-prompt-templates --no-themes --no-context-files --no-approve --offline --provider openai --model gpt-5.1",
		strings.Join(pi.Argv("openai", "gpt-5.1"), " "))
}

// rule: J-201, J-195
func TestTheEnvironmentHoldsNoSecret(t *testing.T) {
	require.Equal(t, map[string]string{"PI_CODING_AGENT_DIR": "/home/agent/pi", "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}, pi.Env("/home/agent"))
}

// rule: J-194, P-087
func TestTheCredentialIsAFileInPisOwnFolderAndNowhereElse(t *testing.T) {
	for credential, want := range map[string]string{
		`{"openai":{"type":"api_key","key":"k"}}`:                                       `{"openai":{"type":"api_key","key":"k"}}`,
		`{"openai":{"type":"oauth","access":"t","refresh":"","expires":1000000000000}}`: `{"openai":{"type":"oauth","access":"t","refresh":"","expires":1000000000000}}`,
		`{"openai":{"type":"api_key","key":"!run $HOME ${X} $$ $! k"}}`:                 `{"openai":{"type":"api_key","key":"$!run $$HOME $${X} $$$$ $$! k"}}`,
		`{"openai":{"expires":5,"refresh":"","access":"t$HOME","type":"oauth"}}`:        `{"openai":{"type":"oauth","access":"t$HOME","refresh":"","expires":5}}`,
	} {
		f := frame(t)
		f.Credential = jsontext.Value(credential)
		env, err := pi.New().Prepare(f)
		require.NoError(t, err, credential)
		require.Empty(t, env, "none is in the environment")
		folder := f.Env["PI_CODING_AGENT_DIR"]
		info, err := os.Stat(folder)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		info, err = os.Stat(filepath.Join(folder, "auth.json"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		content, err := os.ReadFile(filepath.Join(folder, "auth.json"))
		require.NoError(t, err)
		require.JSONEq(t, want, string(content))
		_, err = pi.New().Prepare(f)
		require.ErrorIs(t, err, os.ErrExist, "nobody was there before")
	}
}

func TestAnythingElseIsNoCredential(t *testing.T) {
	for _, bad := range []string{
		``, `{}`, `[]`, `{"anthropic":{"type":"api_key","key":"k"}}`, `{"openai":{"type":"api_key","key":"k"},"anthropic":{"type":"api_key","key":"k"}}`,
		`{"openai":{"type":"api_key"}}`, `{"openai":{"type":"api_key","key":""}}`, `{"openai":{"type":"api_key","key":"a\nb"}}`, `{"openai":{"type":"api_key","key":"k","env":{}}}`,
		`{"openai":{"type":"api_key","key":"k","access":"t"}}`, `{"openai":{"type":"oauth","access":"t","refresh":"r","expires":1}}`, `{"openai":{"type":"oauth","access":"t","refresh":""}}`,
		`{"openai":{"type":"oauth","access":"t","expires":1}}`, `{"openai":{"type":"oauth","access":"t","refresh":"","expires":1,"key":"k"}}`, `{"openai":{"type":"other","key":"k"}}`, `{"openai":{"key":"k"}}`,
	} {
		f := frame(t)
		f.Credential = jsontext.Value(bad)
		_, err := pi.New().Prepare(f)
		require.Error(t, err, bad)
		require.NoDirExists(t, f.Env["PI_CODING_AGENT_DIR"], "nothing is left behind")
	}
}

func TestALaunchNamesFolderProviderAndModel(t *testing.T) {
	f := frame(t)
	f.Env["PI_CODING_AGENT_DIR"] = "relative"
	_, err := pi.New().Prepare(f)
	require.Error(t, err)
	f = frame(t)
	f.Argv = f.Argv[:len(f.Argv)-1]
	_, err = pi.New().Prepare(f)
	require.Error(t, err)
}

// rule: J-195, J-205
func TestTheSettingsSwitchOffWhatHasNoArgument(t *testing.T) {
	f := frame(t)
	_, err := pi.New().Prepare(f)
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(f.Env["PI_CODING_AGENT_DIR"], "settings.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"defaultProjectTrust":"never","enableAnalytics":false,"enableInstallTelemetry":false,"extensions":[],"packages":[],"prompts":[],"skills":[],
		"themes":[],"enableSkillCommands":false,"images":{"blockImages":true},"compaction":{"enabled":false},"retry":{"enabled":false,"maxRetries":0,"provider":{"maxRetries":0}},"transport":"sse"}`, string(content))
}
