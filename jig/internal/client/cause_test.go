package client

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Whatever is wrong with a login has a sentence of its own and something to do about
// it; where the login lies on this machine is in neither, and what it holds is not
// either (codeOf looks for both).
//
// rule: P-189
func TestEachCauseOfALoginHasItsSentenceAndItsCorrection(t *testing.T) {
	const auth, pi, config = "home/.codex/auth.json", "home/.pi/agent/auth.json", "home/.codex/config.toml"
	hour := now.Add(time.Hour)
	good := codexLogin(token(hour.Unix(), "acct"), "acct")
	put := func(name, text string) func(o *operator) {
		return func(o *operator) { o.file(name, text, 0o600) }
	}
	set := func(name, value string) func(o *operator) { return func(o *operator) { o.set(name, value) } }
	instead := func(make func(path string) error) func(o *operator) {
		return func(o *operator) {
			require.NoError(o, os.Rename(o.at(auth), o.at("kept")))
			require.NoError(o, make(o.at(auth)))
		}
	}
	entry := func(members string) func(o *operator) { return put(pi, `{"anthropic":{`+members+`}}`) }
	said, hinted := map[string]string{}, map[string]string{}
	for name, c := range map[string]struct {
		client    string
		spoil     func(o *operator)
		says, fix string
	}{
		"codex, missing":    {"codex", func(o *operator) { require.NoError(o, os.Remove(o.at(auth))) }, "there is no login file auth.json", `cli_auth_credentials_store = "file"`},
		"codex, mode":       {"codex", func(o *operator) { require.NoError(o, os.Chmod(o.at(auth), 0o640)) }, "0600", `Run: chmod 600 "${CODEX_HOME:-$HOME/.codex}/auth.json"`},
		"codex, two names":  {"codex", func(o *operator) { require.NoError(o, os.Link(o.at(auth), o.at("second"))) }, "more than one name", "which makes one of its own"},
		"codex, a link":     {"codex", func(o *operator) { instead(func(p string) error { return os.Symlink(o.at("kept"), p) })(o) }, "through a link", "set CODEX_HOME to the real path"},
		"codex, a folder":   {"codex", instead(func(p string) error { return os.Mkdir(p, 0o700) }), "is no regular file", "Move"},
		"codex, too large":  {"codex", put(auth, good+strings.Repeat(" ", MaxLoginBytes)), "larger than 65532 bytes", "Move"},
		"codex, damaged":    {"codex", put(auth, good[:40]), "is damaged", "Move"},
		"codex, null":       {"codex", put(auth, "null"), "is damaged", "Move"},
		"codex, a key":      {"codex", put(auth, `{"auth_mode":"apikey","OPENAI_API_KEY":"sk-`+canary+`"}`), "holds an API key", "set OPENAI_API_KEY to the key and OPENAI_MODEL"},
		"codex, an old key": {"codex", put(auth, `{"OPENAI_API_KEY":"sk-`+canary+`"}`), "holds an API key", "set OPENAI_API_KEY to the key and OPENAI_MODEL"},
		"codex, unknown":    {"codex", put(auth, strings.Replace(good, "{", `{"agent":1,`, 1)), "has not the members", "use a jig that knows this codex"},
		"codex, the token":  {"codex", put(auth, codexLogin("a.b", "acct")), "token is not one that this jig knows", "Run codex login; if it stays so"},
		"codex, account":    {"codex", put(auth, codexLogin(token(hour.Unix(), "other"), "acct")), "not of the account", "codex logout"},
		"codex, ended":      {"codex", put(auth, codexLogin(token(now.Add(-time.Second).Unix(), "acct"), "acct")), "the login has ended", "if that asks for one, run codex login"},
		"codex, ending":     {"codex", put(auth, codexLogin(token(now.Add(time.Minute).Unix(), "acct"), "acct")), "ends within five minutes", "Run codex once, which renews the login"},
		"codex, keyring":    {"codex", put(config, `cli_auth_credentials_store = "keyring"`), "elsewhere than in a file", "run codex login, which writes the file"},
		"codex, no toml":    {"codex", put(config, `x`), "is not TOML", "names the line"},
		"codex, config":     {"codex", func(o *operator) { require.NoError(o, os.Mkdir(o.at(config), 0o700)) }, "config.toml cannot be read", "Let the user who runs jig read"},
		"codex, a place":    {"codex", set("CODEX_HOME", "relative"), "CODEX_HOME is not an absolute path", "unset it to use ~/.codex"},
		"codex, no home":    {"codex", set("HOME", "relative"), "HOME is not an absolute path", "Set HOME to an absolute path"},
		"pi, missing":       {"pi", func(o *operator) { require.NoError(o, os.Remove(o.at(pi))) }, "there is no login file auth.json", "Run pi and sign in to anthropic with /login"},
		"pi, mode":          {"pi", func(o *operator) { require.NoError(o, os.Chmod(o.at(pi), 0o604)) }, "0600", `chmod 600 "${PI_CODING_AGENT_DIR:-$HOME/.pi/agent}/auth.json"`},
		"pi, damaged":       {"pi", put(pi, "{"), "is damaged", "Move"},
		"pi, no entry":      {"pi", put(pi, piLogin("openai-codex", hour)), "no login of anthropic", "or set PI_PROVIDER"},
		"pi, a key":         {"pi", entry(`"type":"api_key","key":"` + canary + `"`), "holds an API key", "or set PI_API_KEY to the key"},
		"pi, unknown":       {"pi", entry(`"type":"oauth"`), "has not the members", "use a jig that knows this pi"},
		"pi, ended":         {"pi", put(pi, piLogin("anthropic", now.Add(-time.Second))), "the login has ended", "Run pi once"},
		"pi, no end":        {"pi", entry(`"type":"oauth","access":"a","refresh":"r","expires":"soon"`), "does not say when it ends", "sign in to anthropic with /login anew"},
		"pi, a place":       {"pi", set("PI_CODING_AGENT_DIR", "relative"), "PI_CODING_AGENT_DIR is not an absolute path", "unset it to use ~/.pi/agent"},
		"pi, a provider":    {"pi", set("PI_PROVIDER", "mistral"), "anthropic and openai-codex only", "set PI_API_KEY to a key of mistral"},
		"claude, missing":   {"claude", set("CLAUDE_CODE_OAUTH_TOKEN", ""), "is missing or blank", "Run claude setup-token"},
		"claude, space":     {"claude", set("CLAUDE_CODE_OAUTH_TOKEN", canary+"\n"), "has white space around it", "to the token alone"},
	} {
		o := newOperator(t).install().subscribe()
		o.opened(c.client, "")
		c.spoil(o)
		_, err := o.open(c.client, "")
		require.Equal(t, "PROJECT_ACP_"+strings.ToUpper(c.client)+"_LOGIN", o.codeOf(err), name)
		var r *project.Refusal
		require.ErrorAs(t, err, &r)
		d := r.Diagnostics[0]
		require.Contains(t, d.Message, c.client+" cannot be used: ", name)
		require.Contains(t, d.Message, c.says, name)
		require.Contains(t, d.Hint, c.fix, name)
		said[d.Message], hinted[d.Hint] = name, name
	}
	require.GreaterOrEqual(t, len(hinted), 25, "one correction for all says nothing")
	require.GreaterOrEqual(t, len(said), 30)
}

// A pipe is not waited for, and somebody else's file not used.
func TestALoginFileOfAnotherKindOrOwnerIsNamed(t *testing.T) {
	o := newOperator(t).install().subscribe()
	path := o.at("home/.codex/auth.json")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(path, 65534, 0))
		_, err := o.open("codex", "")
		require.ErrorContains(t, err, "belongs to another user")
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := o.open("codex", "")
	require.ErrorContains(t, err, "is no regular file")
}

func TestEveryCauseHasItsWords(t *testing.T) {
	said := map[string]cause{}
	for c := causeMissing; c <= causeProvider; c++ {
		for _, p := range []Profile{{Client: "codex"}, {Client: "pi", Provider: "anthropic"}} {
			text := fmt.Sprint(p.login(c))
			require.NotContains(t, text, "the login cannot be used", c)
			if other, there := said[text]; there {
				require.Equal(t, other, c, text)
			}
			said[text] = c
		}
	}
}
