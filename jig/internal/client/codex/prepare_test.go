package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

const rollout = "sessions/2026/11/30/rollout-2026-11-30T10-11-12-01990000-0000-7000-8000-000000000001.jsonl"

// home is a folder of Codex that does not lie below /tmp, where tests have theirs.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "codex-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sessions"), 0o700))
	return dir
}

func frame(home string) *launch.Frame {
	return &launch.Frame{
		Client: "codex", Native: "/codex-bin", Argv: Arguments("", ""), Env: map[string]string{"CODEX_HOME": home},
		Credential: jsontext.Value(`{"type":"apiKey","apiKey":"sk-canary"}`),
	}
}

// rule: J-182, J-185
func TestConfigurationTurnsOffAllButAnswers(t *testing.T) {
	dir := home(t)
	env, err := New().Prepare(frame(dir))
	require.NoError(t, err)
	require.Empty(t, env)
	got, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	require.NoError(t, err)
	for _, line := range []string{
		`cli_auth_credentials_store = "ephemeral"`, `check_for_update_on_startup = false`, `model_provider = "jig"`, "[analytics]\nenabled = false",
		"[history]\npersistence = \"none\"", `plugins = false`, `shell_snapshot = false`, `unbounded_connection_retries = false`,
		`requires_openai_auth = true`, `request_max_retries = 0`, `stream_max_retries = 0`, `wire_api = "responses"`,
		"[sandbox_workspace_write]\nnetwork_access = false",
	} {
		require.Contains(t, string(got), line+"\n")
	}
	require.NotContains(t, string(got), "env_key")
}

// rule: J-180
func TestLoginIsInNoFileAndNoVariable(t *testing.T) {
	dir := home(t)
	f := frame(dir)
	c := New().(*client)
	env, err := c.Prepare(f)
	require.NoError(t, err)
	require.Empty(t, env)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(b), "canary", path)
		}
		return err
	}))
	require.Equal(t, []string{"app-server"}, f.Argv)
}

// rule: J-161
func TestLoginIsZeroedWhenItIsSent(t *testing.T) {
	c := New().(*client)
	f := frame(home(t))
	_, err := c.Prepare(f)
	require.NoError(t, err)
	f.Zero()
	kept := c.login
	require.Contains(t, string(kept), "sk-canary", "the frame is zeroed, the copy is not yet")
	h := &adaptertest.Host{}
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	adaptertest.Lines(t, c, `{"id":1,"result":{}}`)
	require.Equal(t, make([]byte, len(kept)), []byte(kept))
	require.Nil(t, c.login)
	require.Contains(t, strings.Join(h.Took(), "\n"), `send {"id":2,"method":"account/login/start","params":{"type":"apiKey","apiKey":"sk-canary"}}`)
}

// rule: J-187
func TestRestoredSessionLiesWhereCodexLooks(t *testing.T) {
	dir := home(t)
	f := frame(dir)
	f.Session = &launch.Session{Path: rollout, Content: []byte("{\"a\":1}\n")}
	_, err := New().Prepare(f)
	require.NoError(t, err)
	name := filepath.Join(dir, rollout)
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "{\"a\":1}\n", string(got))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, os.Remove(filepath.Join(dir, "config.toml")))
	_, err = New().Prepare(f)
	require.ErrorIs(t, err, os.ErrExist, "nothing is overwritten")
	for _, path := range []string{"2026/11/30/rollout.jsonl", "sessions/../../x.jsonl", "sessions/..", "sessions/a/../b.jsonl", "other/rollout.jsonl", "sessions/auth.json"} {
		f := frame(home(t))
		f.Session = &launch.Session{Path: path, Content: []byte("x")}
		_, err = New().Prepare(f)
		require.ErrorIs(t, err, errSession, path)
	}
}

// rule: J-183
func TestHomeIsNeverBelowTmp(t *testing.T) {
	for _, bad := range []string{"", "codex", "/tmp", "/tmp/codex", "/codex/../tmp/x", "/codex/"} {
		_, err := New().Prepare(frame(bad))
		require.ErrorIs(t, err, errHome, bad)
	}
	require.Equal(t, map[string]string{"CODEX_HOME": "/codex"}, Env("/codex"))
}

func TestFilesAreExclusiveAndErrorsHaveNoPath(t *testing.T) {
	dir := home(t)
	_, err := New().Prepare(frame(dir))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, "config.toml"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	_, err = New().Prepare(frame(dir))
	require.ErrorIs(t, err, os.ErrExist)
	require.NotContains(t, err.Error(), dir)
	_, err = New().Prepare(frame("/nonexistent/of/nobody"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotContains(t, err.Error(), "nobody")
}

func TestCredentialHasOneOfTwoForms(t *testing.T) {
	for _, good := range []string{
		`{"type":"apiKey","apiKey":"k"}`, `{"type":"chatgptAuthTokens","accessToken":"t","chatgptAccountId":"a"}`,
		`{"type":"chatgptAuthTokens","accessToken":"t","chatgptAccountId":"a","chatgptPlanType":"plus"}`,
	} {
		require.NoError(t, new(client).keep(jsontext.Value(good)), good)
	}
	for _, bad := range []string{
		`{}`, `{"type":"apiKey"}`, `{"type":"apiKey","apiKey":""}`, `{"type":"apiKey","apiKey":1}`, `{"type":"apiKey","apiKey":"k","x":1}`,
		`{"type":"apiKey","apiKey":"k","accessToken":"t"}`, `{"type":"chatgpt"}`, `{"type":"chatgptAuthTokens","accessToken":"t"}`,
		`{"type":"chatgptAuthTokens","accessToken":"","chatgptAccountId":"a"}`, `{"type":"chatgptAuthTokens","accessToken":"t","chatgptAccountId":""}`,
		`{"type":"chatgptAuthTokens","accessToken":"t","chatgptAccountId":"a","refreshToken":"r"}`,
	} {
		err := new(client).keep(jsontext.Value(bad))
		require.ErrorIs(t, err, errCredential, bad)
	}
}

func TestArgumentsQuoteWhatTheyCarry(t *testing.T) {
	require.Equal(t, []string{"app-server"}, Arguments("", ""))
	require.Equal(t, []string{"app-server", "-c", `model_providers.jig.base_url="https://x/v1"`, "-c", `model="a\"b"`}, Arguments("https://x/v1", `a"b`))
}

// rule: J-215
func TestSilentLoginEndsAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		replay(t, `
flow {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
expects {"id":1,"method":"initialize","params":{"clientInfo":{"name":"jig","title":"jig","version":"0"}}}
server {"id":1,"result":{}}
expects {"method":"initialized"}
expects {"id":2,"method":"account/login/start","params":{"type":"apiKey","apiKey":"sk-canary"}}
fails native-session
kind auth`)
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestKindsOfFailure(t *testing.T) {
	for info, want := range map[string]launch.Category{
		`"unauthorized"`: launch.Auth, `"usageLimitExceeded"`: launch.Rate, `"rateLimitExceeded"`: launch.Rate, `"serverOverloaded"`: launch.Service,
		`"contextWindowExceeded"`: launch.Model, `"other"`: "", `"sandboxError"`: "", `null`: "", ``: "", `1`: "", `{}`: "", `{"a":1}`: "",
		`{"httpConnectionFailed":{"httpStatusCode":null}}`:            launch.Network,
		`{"httpConnectionFailed":{"httpStatusCode":401}}`:             launch.Auth,
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`:    launch.Rate,
		`{"responseStreamDisconnected":{"httpStatusCode":503}}`:       launch.Service,
		`{"responseStreamConnectionFailed":{"httpStatusCode":302}}`:   launch.Network,
		`{"activeTurnNotSteerable":{"turnKind":"review"}}`:            "",
		`{"responseStreamDisconnected":{"httpStatusCode":"PRIVATE"}}`: "",
	} {
		require.Equal(t, want, (&failure{Info: jsontext.Value(info)}).category(), info)
	}
	for message, want := range map[string]launch.Category{
		"unexpected status 401 Unauthorized: x": launch.Auth, "x: unexpected status 404 Not Found": launch.Model, "unexpected status 40": "",
		"stream disconnected before completion: Incomplete response returned, reason: max_output_tokens": launch.Model,
		"stream disconnected before completion: Incomplete response returned, reason: content_filter":    "",
		"stream disconnected before completion: Incomplete response returned, reason: ":                  "",
		"stream disconnected before completion: stream closed before response.completed":                 launch.Network,
		"unexpected status abc": "", "401": "", "unexpected status 200 OK": "",
	} {
		require.Equal(t, want, (&failure{Message: message, Info: jsontext.Value(`"other"`)}).category(), message)
	}
}

func TestLinesThatAreNoMessageBreakTheProtocol(t *testing.T) {
	for _, bad := range []string{
		``, `x`, `[]`, `{}`, `{"id":1}`, `{"id":1,"result":{}}`, `{"id":9,"result":{},"error":{"message":"x"}}`, `{"id":"1","result":{}}`, `{"id":null,"method":"item/tool/call"}`,
		`{"method":1}`, `{"method":"error","params":[]}`, `{"id":{},"method":"x","params":{}}`, "{\"method\":\"\xff\"}",
	} {
		c := New()
		c.Start(&adaptertest.Host{})
		require.Error(t, c.Line([]byte(bad)), "%q", bad)
	}
}

func FuzzLine(f *testing.F) {
	text, err := os.ReadFile("testdata/turns.txt")
	require.NoError(f, err)
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("server ")); ok {
			f.Add(rest)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c := New().(*client)
		c.thread, c.prompting, c.turn, c.streamed = "01990000-0000-7000-8000-000000000001", true, "turn-1", map[string]bool{}
		h := &adaptertest.Host{}
		c.Start(h)
		if c.Line(line) != nil {
			require.Empty(t, h.Took(), "a refused line has no effect")
		}
		require.LessOrEqual(t, h.Settled(), 1)
	})
}

// A session that nobody keeps leaves no history.
func TestOnlyASessionThatIsKeptIsWrittenDown(t *testing.T) {
	for retain, want := range map[bool]string{
		true:  `send {"id":1,"method":"thread/start","params":{"cwd":"/work","approvalPolicy":"on-request","sandbox":"workspace-write"}}`,
		false: `send {"id":1,"method":"thread/start","params":{"cwd":"/work","approvalPolicy":"on-request","sandbox":"workspace-write","ephemeral":true}}`,
	} {
		f := frame(home(t))
		f.Retain = retain
		c, h := New(), &adaptertest.Host{}
		_, err := c.Prepare(f)
		require.NoError(t, err)
		c.Start(h)
		c.Request(adapter.Request{Kind: adapter.New})
		require.Equal(t, []string{want}, h.Took())
	}
}
