package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// complaint: B5.50 agentic-hil/agentic-hil#391 - a copy of the login spent the refresh token and signed the operator out
//
// rule: P-001, F-188, F-189, P-083, P-135
func TestComplaintB5_50AgenticHil391TheRefreshTokenNeverLeaves(t *testing.T) {
	o := newOperator(t).install().subscribe()
	access := token(now.Add(time.Hour).Unix(), "acct")
	for name, place := range map[string]struct{ home, file string }{
		"the default":        {"", "home/.codex/auth.json"},
		"empty is the same":  {"empty", "home/.codex/auth.json"},
		"CODEX_HOME":         {o.at("elsewhere"), "elsewhere/auth.json"},
		"with a slash after": {o.at("elsewhere") + "/", "elsewhere/auth.json"},
	} {
		o.unset("CODEX_HOME")
		switch place.home {
		case "":
		case "empty":
			o.set("CODEX_HOME", "")
		default:
			o.set("CODEX_HOME", place.home)
		}
		file := o.file(place.file, codexLogin(access, "acct"), 0o600)
		before, err := os.Stat(file)
		require.NoError(t, err)
		p := o.prepared("codex", "")
		require.JSONEq(t, fmt.Sprintf(`{"type":"chatgptAuthTokens","accessToken":%q,"chatgptAccountId":"acct","chatgptPlanType":"plus"}`, access), string(p.Credential.JSON()), name)
		require.Equal(t, []string{access, "acct"}, p.Credential.Values(), "what of the tokens goes over")
		require.Equal(t, now.Add(time.Hour), p.Credential.Expires().UTC())
		after, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, before.ModTime(), after.ModTime())
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, codexLogin(access, "acct"), string(content))
		for _, b := range p.Plan.Binds {
			require.False(t, strings.HasPrefix(b.Source, filepath.Dir(file)), "the operator's folder is bound")
		}
	}
	// Four minutes are too few, and the hint says what renews it.
	o.unset("CODEX_HOME").file("home/.codex/auth.json", codexLogin(token(now.Add(4*time.Minute).Unix(), "acct"), "acct"), 0o600)
	require.Equal(t, "PROJECT_ACP_CODEX_LOGIN", o.code("codex", ""))
	_, err := o.open("codex", "")
	require.ErrorContains(t, err, "within five minutes")
	require.Contains(t, correction("codex", StageLogin), "run codex once")
}

// rule: P-081, P-082, P-189
func TestALoginFileIsTheOperatorsAlone(t *testing.T) {
	for client, rest := range map[string]string{"codex": ".codex", "pi": ".pi/agent"} {
		o := newOperator(t).install().subscribe()
		name := "home/" + rest + "/auth.json"
		content, err := os.ReadFile(o.at(name))
		require.NoError(t, err)
		text := string(content)
		code := "PROJECT_ACP_" + strings.ToUpper(client) + "_LOGIN"
		fresh := func() { o.file(name, text, 0o600) }
		o.opened(client, "")
		for _, mode := range []os.FileMode{0o400, 0o700} {
			require.NoError(t, os.Chmod(o.at(name), mode))
			o.opened(client, "")
		}
		for _, mode := range []os.FileMode{0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o644, 0o660} {
			require.NoError(t, os.Chmod(o.at(name), mode))
			require.Equal(t, code, o.code(client, ""), "%o", mode)
		}
		fresh()
		require.NoError(t, os.Link(o.at(name), o.at("second")))
		require.Equal(t, code, o.code(client, ""), "a second name")
		require.NoError(t, os.Remove(o.at("second")))
		o.opened(client, "")

		require.NoError(t, os.Rename(o.at(name), o.at("real.json")))
		require.Equal(t, code, o.code(client, ""), "it is missing")
		require.NoError(t, os.Symlink(o.at("real.json"), o.at(name)))
		require.Equal(t, code, o.code(client, ""), "a link")
		require.NoError(t, os.Remove(o.at(name)))
		require.NoError(t, unix.Mkfifo(o.at(name), 0o600))
		require.Equal(t, code, o.code(client, ""), "a FIFO, for which nobody waits")
		require.NoError(t, os.Remove(o.at(name)))
		require.NoError(t, os.Mkdir(o.at(name), 0o700))
		require.Equal(t, code, o.code(client, ""), "a folder")
		require.NoError(t, os.Remove(o.at(name)))

		fresh()
		require.NoError(t, os.Rename(filepath.Dir(o.at(name)), o.at("moved")))
		require.NoError(t, os.Symlink(o.at("moved"), filepath.Dir(o.at(name))))
		require.Equal(t, code, o.code(client, ""), "a link on the way")
		require.NoError(t, os.Remove(filepath.Dir(o.at(name))))
		require.NoError(t, os.Rename(o.at("moved"), filepath.Dir(o.at(name))))
		for n, fine := range map[int]bool{64<<10 - 5: true, 64<<10 - 4: true, 64<<10 - 3: false} {
			o.file(name, text+strings.Repeat(" ", n-len(text)), 0o600)
			_, err := o.open(client, "")
			require.Equal(t, fine, err == nil, "%d bytes", n)
		}
		fresh()
		if os.Geteuid() == 0 {
			require.NoError(t, os.Chown(o.at(name), 65534, 0))
			require.Equal(t, code, o.code(client, ""), "somebody else's")
		}
		o.set("HOME", "relative")
		require.Equal(t, code, o.code(client, ""))
		o.unset("HOME")
		require.Equal(t, code, o.code(client, ""))
	}
	o := newOperator(t).install().subscribe()
	require.Equal(t, "PROJECT_ACP_CODEX_LOGIN", o.set("CODEX_HOME", "relative").code("codex", ""))
	require.Equal(t, "PROJECT_ACP_PI_LOGIN", o.set("PI_CODING_AGENT_DIR", "relative").code("pi", ""))
}

// rule: F-187, P-189
func TestCodexHasToKeepItsLoginInAFile(t *testing.T) {
	o := newOperator(t).install().subscribe()
	for config, fine := range map[string]bool{
		"":                                      true, // Codex's own choice
		"model = \"x\"\n[features]\nx = true\n": true,
		"cli_auth_credentials_store = \"file\"": true,
		"cli_auth_credentials_store = 'file' # so\nmodel = \"x\"": true,
		"cli_auth_credentials_store = \"keyring\"":                false,
		"cli_auth_credentials_store = \"auto\"":                   false,
		"cli_auth_credentials_store = \"ephemeral\"":              false,
		"cli_auth_credentials_store = \"\"":                       false,
		"cli_auth_credentials_store = 1":                          false,
		"cli_auth_credentials_store = [\"file\"]":                 false,
		"not toml": false,
		"# " + strings.Repeat("x", MaxConfigBytes-2): true,
		"# " + strings.Repeat("x", MaxConfigBytes-1): false,
	} {
		o.file("home/.codex/config.toml", config, 0o644)
		_, err := o.open("codex", "")
		require.Equal(t, fine, err == nil, "%.60q: %v", config, err)
		if !fine {
			require.Equal(t, "PROJECT_ACP_CODEX_LOGIN", o.codeOf(err))
		}
	}
	// The API needs no login, whatever is configured.
	o.set("OPENAI_API_KEY", canary, "OPENAI_MODEL", "m").opened("codex", "")
}

// rule: P-081, P-083, P-084, P-189
func TestACodexLoginIsExactlyOne(t *testing.T) {
	o := newOperator(t).install().subscribe()
	late := now.Add(time.Hour).Unix()
	good := codexLogin(token(late, "acct"), "acct")
	claims := func(body string) string {
		return codexLogin("h."+base64.RawURLEncoding.EncodeToString([]byte(body))+".s", "acct")
	}
	auth := `"https://api.openai.com/auth":{"chatgpt_account_id":"acct"}`
	sized := func(n int) string { // a token of n bytes
		head := strings.TrimSuffix(token(late, "acct"), canary)
		return codexLogin(head+strings.Repeat("s", n-len(head)), "acct")
	}
	long := func(n int) string {
		id := strings.Repeat("a", n)
		return codexLogin(token(late, id), id)
	}
	for name, c := range map[string]struct {
		text string
		fine bool
	}{
		"good":                       {good, true},
		"other order and space":      {"\n " + strings.ReplaceAll(good, ",", " ,\n"), true},
		"five minutes":               {codexLogin(token(now.Add(MinLifetime).Unix(), "acct"), "acct"), true},
		"more than five":             {codexLogin(token(now.Add(MinLifetime).Unix()+1, "acct"), "acct"), true},
		"less than five":             {codexLogin(token(now.Add(MinLifetime).Unix()-1, "acct"), "acct"), false},
		"over":                       {codexLogin(token(now.Add(-time.Hour).Unix(), "acct"), "acct"), false},
		"another account":            {codexLogin(token(late, "other"), "acct"), false},
		"no account":                 {codexLogin(token(late, ""), ""), false},
		"account of 1024":            {long(1024), true},
		"account of 1025":            {long(1025), false},
		"no expiry":                  {claims(`{` + auth + `}`), false},
		"an expiry in words":         {claims(`{"exp":"` + fmt.Sprint(late) + `",` + auth + `}`), false},
		"an expiry beyond all time":  {claims(`{"exp":9007199254740993,` + auth + `}`), false},
		"a broken expiry":            {claims(`{"exp":1e400,` + auth + `}`), false},
		"no claim of the account":    {claims(fmt.Sprintf(`{"exp":%d}`, late)), false},
		"a claim twice":              {claims(fmt.Sprintf(`{"exp":1,"exp":%d,%s}`, late, auth)), false},
		"claims that are no object":  {claims(`[]`), false},
		"a plan that is no word":     {claims(fmt.Sprintf(`{"exp":%d,"https://api.openai.com/auth":{"chatgpt_account_id":"acct","chatgpt_plan_type":7}}`, late)), true},
		"padded":                     {codexLogin("h."+base64.URLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d,%s}`, late, auth))+".s", "acct"), true},
		"two parts":                  {codexLogin("a.b", "acct"), false},
		"four parts":                 {codexLogin(token(late, "acct")+".x", "acct"), false},
		"an empty first part":        {codexLogin(strings.TrimPrefix(token(late, "acct"), "head"), "acct"), false},
		"an empty last part":         {codexLogin(strings.TrimSuffix(token(late, "acct"), canary), "acct"), false},
		"an empty middle":            {codexLogin("a..b", "acct"), false},
		"no base64":                  {codexLogin("a.!!!.b", "acct"), false},
		"no token":                   {codexLogin("", "acct"), false},
		"a token of 16 KiB":          {sized(16 << 10), true},
		"a token of 16 KiB less one": {sized(16<<10 - 1), true},
		"a token of 16 KiB and one":  {sized(16<<10 + 1), false},
		"an API key beside it":       {strings.Replace(good, "null", `"sk-`+canary+`"`, 1), false},
		"a login with a key":         {strings.Replace(good, "chatgpt", "apikey", 1), false},
		"one key more":               {strings.Replace(good, "{", `{"agent":1,`, 1), false},
		"one token more":             {strings.Replace(good, `"tokens":{`, `"tokens":{"x":1,`, 1), false},
		"no last_refresh":            {strings.Replace(good, `"last_refresh":"2026-11-30T11:00:00Z",`, "", 1), false},
		"no id_token":                {strings.Replace(good, `"id_token":"id-`+canary+`",`, "", 1), false},
		"tokens of null":             {`{"OPENAI_API_KEY":null,"auth_mode":"chatgpt","last_refresh":"x","tokens":null}`, false},
		"a member twice":             {strings.Replace(good, "{", `{"auth_mode":"chatgpt",`, 1), false},
		"a member in other case":     {strings.Replace(good, "auth_mode", "Auth_mode", 1), false},
		"no JSON":                    {"{", false},
		"nothing":                    {"", false},
		"an array":                   {"[]", false},
		"no UTF-8":                   {strings.Replace(good, "2026", "\xff", 1), false},
	} {
		o.file("home/.codex/auth.json", c.text, 0o600)
		_, err := o.open("codex", "")
		require.Equal(t, c.fine, err == nil, "%s: %v", name, err)
		if !c.fine {
			require.Equal(t, "PROJECT_ACP_CODEX_LOGIN", o.codeOf(err), name)
		}
	}
}

// rule: P-006, P-087, F-193, P-189
func TestAPiLoginIsTheEntryOfItsProvider(t *testing.T) {
	o := newOperator(t).install().subscribe()
	entry := func(members string) string { return `{"anthropic":{` + members + `}}` }
	at := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMilli()) }
	for name, c := range map[string]struct {
		text string
		fine bool
	}{
		"good":                   {piLogin("anthropic", now.Add(time.Hour)), true},
		"five minutes":           {entry(`"type":"oauth","access":"a","refresh":"r","expires":` + at(MinLifetime)), true},
		"a millisecond less":     {entry(`"type":"oauth","access":"a","refresh":"r","expires":` + at(MinLifetime-time.Millisecond)), false},
		"another provider":       {piLogin("openai-codex", now.Add(time.Hour)), false},
		"a key":                  {entry(`"type":"api_key","key":"k"`), false},
		"a key with all of it":   {entry(`"type":"api_key","access":"a","refresh":"r","expires":` + at(time.Hour)), false},
		"no access":              {entry(`"type":"oauth","access":"","refresh":"r","expires":` + at(time.Hour)), false},
		"an access out of bound": {entry(`"type":"oauth","access":"` + strings.Repeat("a", 16<<10+1) + `","refresh":"r","expires":` + at(time.Hour)), false},
		"an access at the bound": {entry(`"type":"oauth","access":"` + strings.Repeat("a", 16<<10) + `","refresh":"r","expires":` + at(time.Hour)), true},
		"no refresh":             {entry(`"type":"oauth","access":"a","expires":` + at(time.Hour)), false},
		"an expiry in words":     {entry(`"type":"oauth","access":"a","refresh":"r","expires":"` + at(time.Hour) + `"`), false},
		"an account of Codex's":  {entry(`"type":"oauth","access":"a","refresh":"r","accountId":"x","expires":` + at(time.Hour)), false},
		"one member more":        {entry(`"type":"oauth","access":"a","refresh":"r","x":1,"expires":` + at(time.Hour)), false},
		"no object":              {`{"anthropic":"x"}`, false},
		"no JSON":                {`{`, false},
		"nothing":                {`{}`, false},
	} {
		o.file("home/.pi/agent/auth.json", c.text, 0o600)
		_, err := o.open("pi", "")
		require.Equal(t, c.fine, err == nil, "%s: %v", name, err)
		if !c.fine {
			require.Equal(t, "PROJECT_ACP_PI_LOGIN", o.codeOf(err), name)
		}
	}
	o.file("home/.pi/agent/auth.json", piLogin("anthropic", now.Add(time.Hour)), 0o600)
	want := fmt.Sprintf(`{"anthropic":{"type":"oauth","access":"access-%s","refresh":"","expires":%s}}`, canary, at(time.Hour))
	p := o.prepared("pi", "")
	require.JSONEq(t, want, string(p.Credential.JSON()))
	require.Equal(t, []string{"access-" + canary}, p.Credential.Values())

	o.file("agent/auth.json", `{"openai-codex":{"type":"oauth","access":"a","refresh":"r","accountId":"acct","expires":`+at(time.Hour)+`}}`, 0o600)
	o.set("PI_CODING_AGENT_DIR", o.at("agent"), "PI_PROVIDER", "openai-codex")
	require.JSONEq(t, `{"openai-codex":{"type":"oauth","access":"a","refresh":"","expires":`+at(time.Hour)+`}}`, string(o.prepared("pi", "").Credential.JSON()))
}

// rule: P-004, F-191, P-189
func TestEveryModeHandsOverOneCredentialInItsForm(t *testing.T) {
	o := newOperator(t).install().subscribe()
	require.JSONEq(t, `{"variable":"CLAUDE_CODE_OAUTH_TOKEN","value":"oauth-`+canary+`"}`, string(o.prepared("claude", "").Credential.JSON()))
	for _, bad := range []string{"", " ", "x ", "a\nb", strings.Repeat("x", 16<<10+1)} {
		require.Equal(t, "PROJECT_ACP_CLAUDE_LOGIN", o.set("CLAUDE_CODE_OAUTH_TOKEN", bad).code("claude", ""), "%.10q", bad)
	}
	o.set("ANTHROPIC_API_KEY", "key-"+canary, "ANTHROPIC_MODEL", "m")
	require.JSONEq(t, `{"variable":"ANTHROPIC_API_KEY","value":"key-`+canary+`"}`, string(o.prepared("claude", "").Credential.JSON()))
	o.set("ANTHROPIC_API_KEY", "", "ANTHROPIC_AUTH_TOKEN", "bearer-"+canary)
	require.JSONEq(t, `{"variable":"ANTHROPIC_AUTH_TOKEN","value":"bearer-`+canary+`"}`, string(o.prepared("claude", "").Credential.JSON()))
	o.set("OPENAI_API_KEY", "sk-"+canary, "OPENAI_MODEL", "m")
	require.JSONEq(t, `{"type":"apiKey","apiKey":"sk-`+canary+`"}`, string(o.prepared("codex", "").Credential.JSON()))
	o.set("PI_API_KEY", "pi-"+canary, "PI_PROVIDER", "mistral")
	p := o.prepared("pi", "")
	require.JSONEq(t, `{"mistral":{"type":"api_key","key":"pi-`+canary+`"}}`, string(p.Credential.JSON()))
	require.Zero(t, p.Credential.Expires())
	require.Equal(t, []string{"pi-" + canary}, p.Credential.Values())
}

// rule: J-161
func TestACredentialDoesNotPrintAndCanBeZeroed(t *testing.T) {
	o := newOperator(t).install().subscribe()
	p := o.prepared("codex", "")
	c := p.Credential
	v1, err := json.Marshal(map[string]any{"c": c})
	require.NoError(t, err)
	v2, err := jsonv2.Marshal(map[string]any{"c": c})
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("a credential", "c", c, "p", p)
	for _, text := range []string{string(v1), string(v2), fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q %x %d", c, c, c, c, c, c, c), fmt.Sprintf("%+v", p), log.String(), c.String(), c.GoString()} {
		require.NotContains(t, text, canary)
		require.Contains(t, text, "[redacted]")
	}
	payload := c.JSON()
	require.Contains(t, string(payload), canary)
	c.Zero()
	require.Equal(t, make([]byte, len(payload)), []byte(payload))
}

func FuzzALoginIsReadOrRefusedAndNeverShown(f *testing.F) {
	late := now.Add(time.Hour).Unix()
	for _, s := range []string{
		codexLogin(token(late, "acct"), "acct"), piLogin("anthropic", now.Add(time.Hour)), "{", "[]", `{"anthropic":null}`, `{"tokens":1}`,
		codexLogin("h.e30.s", "acct"), codexLogin(token(late, "x"), "acct"), `{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":1e300}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, parse := range []func([]byte) (*Credential, error){
			func(b []byte) (*Credential, error) { return Profile{Client: "codex"}.parseCodex(b, now) },
			func(b []byte) (*Credential, error) {
				return Profile{Client: "pi", Provider: "anthropic"}.parsePi(b, now)
			},
		} {
			b := slices.Clone(raw)
			c, err := parse(b)
			if strings.Trim(string(b), "\x00") != "" {
				t.Fatal("the file's bytes are kept")
			}
			if err != nil {
				if len(raw) > 40 && strings.Contains(err.Error(), string(raw)) {
					t.Fatal("a refusal repeats the file")
				}
				continue
			}
			if !c.JSON().IsValid() || len(c.Values()) == 0 || slices.Contains(c.Values(), "") || c.Expires().Before(now.Add(MinLifetime)) || strings.Contains(string(c.JSON()), "refresh-") {
				t.Fatalf("%s", c.JSON())
			}
		}
	})
}
