package live_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// with is p with other variables, reviewed. A variable without a value is taken
// away.
func (p *place) with(t testing.TB, variables ...string) *place {
	t.Helper()
	other := *p
	other.TB = t
	other.env = slices.Clone(p.env)
	for _, v := range variables {
		name, _, set := strings.Cut(v, "=")
		other.env = slices.DeleteFunc(other.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if set {
			other.env = append(other.env, v)
		}
	}
	o := other.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(t, 0, o.exit, "%s", o)
	return &other
}

// rule: N-015
func TestTheLaterCodexHoldsTheSameConversation(t *testing.T) {
	later := filepath.Join(base, "native", "codex-later", "node_modules", ".bin")
	p := newPlace(t, codex, ", maxTurns: 4").with(t, "PATH="+later+":/usr/bin:/bin")
	o := p.probe(`{"prompts":[{"text":"HELLO"},{"text":"SLOW","cancel":true},{"text":"ESCALATE echo it escaped"},{"text":"FAIL401"}]}`).ends(0, "succeeded")
	require.JSONEq(t, `[{"stop":"end_turn","text":"Hello from a script."},{"stop":"cancelled","text":"Wait. "},{"stop":"end_turn","text":"The tool answered."},`+
		`{"error":{"code":-32603,"message":"Native ACP request failed"},"text":""}]`, o.member("output", "turns"))
	require.JSONEq(t, `{"stopReason":"exited","exitCode":0,"signal":null,"cleanup":"complete"}`, o.member("output", "result"))
	require.Len(t, p.model.posts(), 5)
	require.Empty(t, p.model.names.list())
	require.Contains(t, p.model.posts()[0].Header.Get("User-Agent")+p.model.posts()[0].Header.Get("Version"), "0.171.0")
}

// rule: N-020
func TestCodexDoesNotWaitForAConnectionThatIsNotThere(t *testing.T) {
	const failed = `{"error":{"code":-32603,"message":"Native ACP request failed"},"text":`
	const exited = `{"stopReason":"exited","exitCode":0,"signal":null,"cleanup":"complete"}`
	t.Run("never there", func(t *testing.T) {
		p := newPlace(t, codex, "").with(t, "OPENAI_BASE_URL=https://127.0.0.1:1/v1")
		o := p.probe(`{"prompts":[{"text":"HELLO"}]}`).ends(0, "succeeded")
		require.JSONEq(t, `[`+failed+`""}]`, o.member("output", "turns"))
		require.JSONEq(t, exited, o.member("output", "result"))
		require.Empty(t, p.model.requests())
	})
	t.Run("cut", func(t *testing.T) {
		p := newPlace(t, codex, "")
		o := p.probe(`{"prompts":[{"text":"CUT"}]}`).ends(0, "succeeded")
		require.JSONEq(t, `[`+failed+`"Half of "}]`, o.member("output", "turns"))
		require.JSONEq(t, exited, o.member("output", "result"))
		require.Len(t, p.model.posts(), 1, "it was asked for again")
	})
}

// token is an unsigned one, for an account.
func token(account string, expires time.Time) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"none","typ":"JWT"}`) + "." +
		part(fmt.Sprintf(`{"exp":%d,"email":"x@example.org","https://api.openai.com/auth":{"chatgpt_account_id":%q,"chatgpt_plan_type":"plus"}}`, expires.Unix(), account)) + ".c2ln"
}

// A subscription's login is read on the host, its short-lived half goes over in
// memory, and the client asks one service for one list of models and one answer.
//
// rule: J-205, J-180, N-011, N-018, F-188, F-189
func TestCodexRunsOnASubscription(t *testing.T) {
	const refresh = "canary-refresh-token"
	p := newPlace(t, codex, "")
	home := filepath.Join(filepath.Dir(p.dir), "codex-home")
	require.NoError(t, os.Mkdir(home, 0o700))
	p.key = token("account-1", time.Now().Add(time.Hour))
	require.NoError(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte("cli_auth_credentials_store = \"file\"\n"), 0o600))
	login := fmt.Sprintf(`{"OPENAI_API_KEY":null,"auth_mode":"chatgpt","last_refresh":"2026-11-30T00:00:00Z","tokens":{"access_token":%q,"account_id":"account-1","id_token":%q,"refresh_token":%q}}`, p.key, p.key, refresh)
	require.NoError(t, os.WriteFile(filepath.Join(home, "auth.json"), []byte(login), 0o600))
	p = p.with(t, "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CODEX_HOME="+home, "CODEX_MODEL=gpt-5.1")

	o := p.agent("Say HELLO").ends(0, "succeeded")
	require.Equal(t, `{"text":"Hello from a script."}`, o.member("output"))
	var asked []string
	for _, r := range p.model.requests() {
		asked = append(asked, r.Method+" "+r.Path)
		require.Equal(t, "Bearer "+p.key, r.Header.Get("Authorization"))
		require.Equal(t, "account-1", r.Header.Get("Chatgpt-Account-Id"))
		require.NotContains(t, fmt.Sprint(r), refresh)
	}
	require.Equal(t, []string{http.MethodGet + " /backend-api/codex/models", http.MethodPost + " /backend-api/codex/responses"}, asked)
	require.Equal(t, []string{"chatgpt.com"}, p.model.names.list())

	// A login that is refused is a failure, and no reason to ask for a new one.
	o = p.agent("FAIL401").ends(1, "failed")
	require.Equal(t, `"EXECUTION_FAILED"`, o.member("code"))
	require.Equal(t, `"NATIVE_PROVIDER"`, o.member("diagnostics", "0", "code"), "%s", o)
	require.Len(t, p.model.posts(), 2)
	require.NotContains(t, o.stdout+o.stderr, refresh)
}
