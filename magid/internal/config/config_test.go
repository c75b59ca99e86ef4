package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// environment is a fake one; unset says what was taken out.
type environment struct {
	vars  map[string]string
	unset []string
}

func (e *environment) env() Env {
	return Env{
		Get: func(name string) string { return e.vars[name] },
		Unset: func(name string) error {
			delete(e.vars, name)
			e.unset = append(e.unset, name)
			return nil
		},
	}
}

// load reads a configuration file of this text with these variables, given as name and value by turns.
func load(t testing.TB, text string, vars ...string) (Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	e := environment{vars: map[string]string{"MAGI_CONFIG": file, "HOME": "/home/u"}}
	for i := 0; i < len(vars); i += 2 {
		e.vars[vars[i]] = vars[i+1]
	}
	return Load(e.env())
}

// refusal is what is wrong with a text, as "line:column: why".
func refusal(t testing.TB, text string, vars ...string) string {
	t.Helper()
	c, err := load(t, text, vars...)
	require.Error(t, err, text)
	require.Equal(t, Config{}, c)
	var bad *Error
	require.ErrorAs(t, err, &bad)
	require.NotContains(t, err.Error(), "\n")
	if bad.Line == 0 {
		return bad.Source + ": " + bad.Text
	}
	require.True(t, strings.HasPrefix(err.Error(), bad.Source+":"))
	require.Equal(t, "config.toml", filepath.Base(bad.Source), "the file is named")
	return fmt.Sprintf("%d:%d: %s", bad.Line, bad.Column, bad.Text)
}

// rule: M-033, M-035
func TestDefaults(t *testing.T) {
	c, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, Provider{
		MaxReplies: 64, MaxHistoryBytes: 400000,
		Timeouts: Timeouts{10 * time.Second, 60 * time.Second, 120 * time.Second, 120 * time.Second, 600 * time.Second},
	}, c.Provider)
	require.False(t, c.Provider.AllowPlainHTTP)
	require.Equal(t, 30*time.Minute, c.Daemon.IdleTimeout)
	require.Empty(t, c.Daemon.Socket)
	require.Empty(t, c.Warnings)
	require.NoError(t, c.Supported())
}

// rule: M-031, M-035, M-036
func TestEveryKeyOfTheFileIsTaken(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(" sk-canary\n"), 0o600))
	c, err := load(t, `
[provider]
kind = "openai-chat"
base_url = "https://example.org/v1/"
model = "m"
api_key_file = "`+key+`"
max_output_tokens = 4096
max_replies = 3
max_history_bytes = 1000
allow_plain_http = true
[provider.timeouts]
connect = "1s"
headers = "2s"
first_event = "3s"
idle = "4s"
total = "5m"
[tools]
disabled = ["find_text"]
[skills]
dirs = ["/a", "~/b"]
disabled = ["x"]
[daemon]
idle_timeout = "90s"
socket = "/run/x.sock"
`)
	require.NoError(t, err)
	require.Equal(t, "sk-canary", c.Provider.APIKey.Reveal())
	c.Provider.APIKey = Secret{}
	require.Equal(t, Provider{
		Kind: "openai-chat", BaseURL: "https://example.org/v1", Model: "m", MaxOutputTokens: 4096, MaxReplies: 3, MaxHistoryBytes: 1000,
		AllowPlainHTTP: true, Timeouts: Timeouts{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Minute},
	}, c.Provider)
	require.Empty(t, c.Provider.Unconfigured())
	require.Equal(t, []string{"find_text"}, c.Tools.Disabled)
	require.Equal(t, Skills{[]string{"/a", "/home/u/b"}, []string{"x"}}, c.Skills)
	require.Equal(t, Daemon{90 * time.Second, "/run/x.sock"}, c.Daemon)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "skills")
	require.NoError(t, c.Supported())
}

// rule: M-030, M-031
func TestAnUnknownKeyNamesItsPlaceAndWhatIsAccepted(t *testing.T) {
	const provider = "kind, base_url, model, api_key_file, max_output_tokens, max_replies, max_history_bytes, allow_plain_http, timeouts"
	for text, want := range map[string]string{
		"[provider]\nkind = \"openai-chat\"\n  modell = \"x\"\n": `3:3: unknown key "provider.modell"; accepted in [provider] are ` + provider,
		"modell = 1":                             `1:1: unknown key "modell"; accepted at the top are provider, tools, skills, daemon, mcp`,
		"[provider]\nKind = \"openai-chat\"":     `2:1: unknown key "provider.Kind"; accepted in [provider] are ` + provider,
		"[Provider]\n":                           `1:2: unknown key "Provider"; accepted at the top are provider, tools, skills, daemon, mcp`,
		"[provider.time]\n":                      `1:11: unknown key "provider.time"; accepted in [provider] are ` + provider,
		"[provider.timeouts]\nread = \"1s\"":     `2:1: unknown key "provider.timeouts.read"; accepted in [provider.timeouts] are connect, headers, first_event, idle, total`,
		"provider.timeouts.read = \"1s\"":        `1:19: unknown key "provider.timeouts.read"; accepted in [provider.timeouts] are connect, headers, first_event, idle, total`,
		"provider = { timeouts = { a.b = 1 } }":  `1:29: unknown key "provider.timeouts.a.b"; accepted in [provider.timeouts] are connect, headers, first_event, idle, total`,
		"[tools]\nenabled = []":                  `2:1: unknown key "tools.enabled"; accepted in [tools] are disabled`,
		"[skills]\ndir = []":                     `2:1: unknown key "skills.dir"; accepted in [skills] are dirs, disabled`,
		"[daemon]\nlog = 1":                      `2:1: unknown key "daemon.log"; accepted in [daemon] are idle_timeout, socket`,
		"[\"provider.timeouts\"]\nidle = \"1s\"": `1:2: unknown key "provider.timeouts"; accepted at the top are provider, tools, skills, daemon, mcp`,
		"[provider.kind]\n":                      `1:11: "provider.kind" is a value, not a table`,
		"[provider.kind.x]\n":                    `1:16: unknown key "provider.kind.x"; accepted in [provider] are ` + provider,
		"provider = 1":                           `1:1: "provider" is a table, not a value`,
		"[[provider]]\n":                         `1:3: "provider" is no list of tables`,
		"[provider]\nkind = {}":                  `2:8: kind: accepted are "openai-chat", "openai-responses" and "anthropic"`,
		"x" + strings.Repeat("y", 100) + " = 1":  `1:1: unknown key "x` + strings.Repeat("y", 63) + `…"; accepted at the top are provider, tools, skills, daemon, mcp`,
	} {
		require.Equal(t, want, refusal(t, text), text)
	}
}

func TestWhatIsNoTOMLNamesItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[provider]\nmodel = \n":                         "2:9: not TOML: ",
		"[provider]\nmodel = \"a\"\nmodel = \"b\"":       "3:1: not TOML: ",
		"[provider]\n[provider]\n":                       "2:2: not TOML: ",
		"[provider]\nmax_replies = 99999999999999999999": "2:15: not TOML: ",
		"a = \"\xff\"":                                   "1:6: not TOML: ",
	} {
		require.Contains(t, refusal(t, text), want, text)
	}
}

// rule: M-032
func TestAnotherKindNamesTheAcceptedOnes(t *testing.T) {
	for _, kind := range []Kind{KindOpenAIChat, KindOpenAIResponses, KindAnthropic} {
		c, err := load(t, `provider.kind = "`+string(kind)+`"`)
		require.NoError(t, err)
		require.Equal(t, kind, c.Provider.Kind)
		c, err = load(t, "", "MAGI_PROVIDER", string(kind))
		require.NoError(t, err)
		require.Equal(t, kind, c.Provider.Kind)
	}
	const accepted = `accepted are "openai-chat", "openai-responses" and "anthropic"`
	for _, value := range []string{`"openai"`, `""`, `"OpenAI-Chat"`, `1`, `true`, `{}`} {
		require.Equal(t, "2:8: kind: "+accepted, refusal(t, "[provider]\nkind = "+value), value)
	}
	require.Equal(t, "MAGI_PROVIDER: kind: "+accepted, refusal(t, "", "MAGI_PROVIDER", "gemini"))
}

func TestWhatThisVersionCannotDoIsRefusedBeforeServing(t *testing.T) {
	for _, kind := range []Kind{KindOpenAIResponses, KindAnthropic} {
		c, err := load(t, "\n[provider]\nkind = \""+string(kind)+`"`)
		require.NoError(t, err)
		require.ErrorContains(t, c.Supported(), "config.toml:3:8: provider kind "+string(kind)+" is not in this version yet; openai-chat is")
	}
	c, err := load(t, "[mcp.files]\ncommand = \"x\"")
	require.NoError(t, err)
	require.ErrorContains(t, c.Supported(), "config.toml:1:6: MCP servers are not in this version yet")
}

// rule: M-143
func TestMaxRepliesIsFrom1To64(t *testing.T) {
	const accepted = "1:24: max_replies: accepted are whole numbers from 1 to 64"
	for value, ok := range map[string]bool{
		"0": false, "1": true, "2": true, "63": true, "64": true, "65": false, "-1": false, "1.0": false, `"3"`: false, "0x10": true,
	} {
		text := "provider.max_replies = " + value
		if ok {
			c, err := load(t, text)
			require.NoError(t, err, value)
			require.NotZero(t, c.Provider.MaxReplies)
			continue
		}
		require.Equal(t, accepted, refusal(t, text), value)
	}
}

func TestValuesAreAcceptedWithinTheirLimits(t *testing.T) {
	x := strings.Repeat
	list := func(n int) string { return "[" + strings.TrimSuffix(x(`"n",`, n), ",") + "]" }
	for _, test := range []struct {
		key, value string
		ok         bool
	}{
		{"provider.max_output_tokens", "0", false},
		{"provider.max_output_tokens", "1", true},
		{"provider.max_output_tokens", "10000000", true},
		{"provider.max_output_tokens", "10000001", false},
		{"provider.max_history_bytes", "0", false},
		{"provider.max_history_bytes", "1", true},
		{"provider.max_history_bytes", "67108864", true},
		{"provider.max_history_bytes", "67108865", false},
		{"provider.allow_plain_http", `"yes"`, false},
		{"provider.allow_plain_http", "1", false},
		{"provider.model", `""`, false},
		{"provider.model", `"` + x("m", 256) + `"`, true},
		{"provider.model", `"` + x("m", 257) + `"`, false},
		{"provider.model", `"a\nb"`, false},
		{"provider.model", `"a\u007f"`, false},
		{"provider.model", "3", false},
		{"provider.timeouts.connect", `"999us"`, false},
		{"provider.timeouts.connect", `"1ms"`, true},
		{"provider.timeouts.headers", `"24h"`, true},
		{"provider.timeouts.headers", `"24h0m0.001s"`, false},
		{"provider.timeouts.idle", `"0s"`, false},
		{"provider.timeouts.total", `"-1s"`, false},
		{"provider.timeouts.total", `"10"`, false},
		{"provider.timeouts.total", "10", false},
		{"daemon.idle_timeout", `"0s"`, true},
		{"daemon.idle_timeout", `"999ms"`, false},
		{"daemon.idle_timeout", `"1s"`, true},
		{"daemon.idle_timeout", `"8760h"`, true},
		{"daemon.idle_timeout", `"8761h"`, false},
		{"daemon.socket", `"relative.sock"`, false},
		{"daemon.socket", `"/x\u0000"`, false},
		{"daemon.socket", `"/` + x("x", 4095) + `"`, true},
		{"daemon.socket", `"/` + x("x", 4096) + `"`, false},
		{"tools.disabled", list(256), true},
		{"tools.disabled", list(257), false},
		{"tools.disabled", `[""]`, false},
		{"tools.disabled", `[1]`, false},
		{"tools.disabled", `"read_file"`, false},
		{"skills.disabled", list(1), true},
		{"skills.dirs", `["/a", "~/b"]`, true},
		{"skills.dirs", `["a"]`, false},
		{"skills.dirs", `"/a"`, false},
		{"provider.base_url", `"http://localhost:11434/v1"`, true},
		{"provider.base_url", `"https://example.org"`, true},
		{"provider.base_url", `"example.org/v1"`, false},
		{"provider.base_url", `"/v1"`, false},
		{"provider.base_url", `"ftp://example.org"`, false},
		{"provider.base_url", `"https:///v1"`, false},
		{"provider.base_url", `"https://example.org/v1?x=1"`, false},
		{"provider.base_url", `"https://example.org/v1?"`, false},
		{"provider.base_url", `"https://example.org/v1#f"`, false},
		{"provider.base_url", `"https://user@example.org/v1"`, false},
		{"provider.base_url", `"https://exa mple.org"`, false},
		{"provider.base_url", `""`, false},
		{"provider.api_key_file", `""`, false},
		{"provider.api_key_file", `"~other/key"`, false},
		{"provider.api_key_file", "1", false},
	} {
		text := test.key + " = " + test.value
		if test.ok {
			_, err := load(t, text)
			require.NoError(t, err, text)
			continue
		}
		got := refusal(t, text)
		column := len(test.key) + 4
		if test.value[0] == '[' { // a list is found by its key
			column = strings.LastIndexByte(test.key, '.') + 2
		}
		require.True(t, strings.HasPrefix(got, fmt.Sprintf("1:%d: ", column)), got)
		if !strings.Contains(test.value, "user@") {
			require.Contains(t, got, "accepted", text)
		}
	}
}

// rule: M-028
func TestTheFileIsTheNamedOneOrTheDefault(t *testing.T) {
	dir := t.TempDir()
	write := func(path, model string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(`provider.model = "`+model+`"`), 0o600))
	}
	write(dir+"/named.toml", "named")
	write(dir+"/xdg/magi/config.toml", "xdg")
	write(dir+"/home/.config/magi/config.toml", "home")
	e := environment{vars: map[string]string{"MAGI_CONFIG": dir + "/named.toml", "XDG_CONFIG_HOME": dir + "/xdg", "HOME": dir + "/home"}}
	for _, want := range []struct{ model, file, drop string }{
		{"named", "/named.toml", "MAGI_CONFIG"},
		{"xdg", "/xdg/magi/config.toml", "XDG_CONFIG_HOME"},
		{"home", "/home/.config/magi/config.toml", "HOME"},
	} {
		c, err := Load(e.env())
		require.NoError(t, err)
		require.Equal(t, want.model, c.Provider.Model)
		require.Equal(t, dir+want.file, c.File)
		delete(e.vars, want.drop)
	}
	c, err := Load(e.env())
	require.NoError(t, err)
	require.Empty(t, c.File)
	e.vars["XDG_CONFIG_HOME"] = "relative"
	_, err = Load(e.env())
	require.NoError(t, err)
	e.vars["MAGI_CONFIG"] = "relative.toml"
	_, err = Load(e.env())
	require.ErrorContains(t, err, "MAGI_CONFIG: the path of the configuration file is not absolute")
}

// rule: M-029
func TestAMissingFileIsAnEmptyConfiguration(t *testing.T) {
	dir := t.TempDir()
	for _, vars := range []map[string]string{
		{"MAGI_CONFIG": dir + "/none.toml"},
		{"MAGI_CONFIG": dir + "/no/folder/none.toml"},
		{"XDG_CONFIG_HOME": dir},
		{"HOME": dir},
	} {
		e := environment{vars: vars}
		c, err := Load(e.env())
		require.NoError(t, err)
		require.Equal(t, defaults().Provider, c.Provider)
		require.Equal(t, vars["MAGI_CONFIG"] != "", len(c.Warnings) == 1, "a file that was named is missed")
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	fifo := dir + "/fifo"
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	for path, want := range map[string]string{dir: "no regular file", fifo: "no regular file", dir + "/x/": ""} {
		e := environment{vars: map[string]string{"MAGI_CONFIG": path}}
		_, err := Load(e.env())
		if want != "" {
			require.ErrorContains(t, err, want)
		}
	}
	comment := func(n int) string { return "#" + strings.Repeat("c", n-1) }
	for n, ok := range map[int]bool{maxFileBytes - 1: true, maxFileBytes: true, maxFileBytes + 1: false} {
		_, err := load(t, comment(n))
		require.Equal(t, ok, err == nil, n)
	}
}

// rule: M-034
func TestPlainHTTPIsForLoopback(t *testing.T) {
	const refused = `plain http is for loopback only: use https, or set allow_plain_http = true under [provider]`
	for url, ok := range map[string]bool{
		"http://localhost:1/v1": true, "http://LOCALHOST": true, "http://localhost.": true, "http://127.0.0.1": true, "http://127.9.9.9:80": true,
		"http://[::1]:8080": true, "http://[::ffff:127.0.0.1]": true, "https://example.org": true,
		"http://example.org": false, "http://192.168.0.1": false, "http://0.0.0.0": false, "http://localhost.example.org": false,
		"http://127.0.0.1.example.org": false, "http://[::]": false, "http://128.0.0.1": false, "http://x.localhost": false,
	} {
		text := `provider.base_url = "` + url + `"`
		if ok {
			_, err := load(t, text)
			require.NoError(t, err, url)
		} else {
			require.Equal(t, "1:21: "+refused, refusal(t, text), url)
			require.Equal(t, "MAGI_BASE_URL: "+refused, refusal(t, "", "MAGI_BASE_URL", url), url)
		}
		_, err := load(t, "provider.allow_plain_http = true\n"+text)
		require.NoError(t, err, url)
	}
	// It is the URL that counts in the end which is judged.
	_, err := load(t, `provider.base_url = "http://example.org"`, "MAGI_BASE_URL", "https://example.org")
	require.NoError(t, err)
}

// rule: M-038, M-039, M-142
func TestTheEnvironmentAloneConfiguresAndWinsOverTheFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/key", []byte("file-key"), 0o600))
	require.NoError(t, os.WriteFile(dir+"/other", []byte("other-key"), 0o600))
	env := []string{
		"MAGI_BASE_URL", "http://localhost:9/v1", "MAGI_MODEL", "env-model", "MAGI_API_KEY_FILE", dir + "/key", "MAGI_SOCKET", "/env.sock",
	}
	file := `
provider = { kind = "anthropic", base_url = "https://example.org", model = "file-model", api_key_file = "` + dir + `/other" }
daemon.socket = "/file.sock"`
	alone, err := load(t, "", env...)
	require.NoError(t, err)
	require.Equal(t, KindOpenAIChat, alone.Provider.Kind, "the default where a base URL is set")
	require.Empty(t, alone.Provider.Unconfigured())
	both, err := load(t, file, append(env, "MAGI_PROVIDER", "openai-responses")...)
	require.NoError(t, err)
	require.Equal(t, KindOpenAIResponses, both.Provider.Kind)
	for _, c := range []Config{alone, both} {
		require.Equal(t, "http://localhost:9/v1", c.Provider.BaseURL)
		require.Equal(t, "env-model", c.Provider.Model)
		require.Equal(t, "file-key", c.Provider.APIKey.Reveal())
		require.Equal(t, "/env.sock", c.Daemon.Socket)
	}
	withoutEnv, err := load(t, file)
	require.NoError(t, err)
	require.Equal(t, "/file.sock", withoutEnv.Daemon.Socket)
	require.Equal(t, "other-key", withoutEnv.Provider.APIKey.Reveal())
	// One by one: what the environment does not name stays the file's.
	one, err := load(t, file, "MAGI_MODEL", "env-model")
	require.NoError(t, err)
	require.Equal(t, "https://example.org", one.Provider.BaseURL)
	require.Equal(t, KindAnthropic, one.Provider.Kind)
	// A bad file stays an error also where the environment replaces what is bad.
	require.Contains(t, refusal(t, `provider.kind = "x"`, "MAGI_PROVIDER", "anthropic"), "1:17")
	require.Contains(t, refusal(t, "", "MAGI_SOCKET", "x.sock"), "MAGI_SOCKET: socket: accepted is an absolute path")
	nothing, err := load(t, "", "MAGI_MODEL", "m")
	require.NoError(t, err)
	require.Empty(t, nothing.Provider.Kind, "no kind without a base URL")
}

func TestUnconfiguredSaysWhatToSet(t *testing.T) {
	for _, test := range []struct {
		vars []string
		want []string
	}{
		{nil, []string{"MAGI_BASE_URL", "MAGI_MODEL", "base_url and model under [provider]"}},
		{[]string{"MAGI_MODEL", "m"}, []string{"MAGI_BASE_URL", "base_url under [provider]"}},
		{[]string{"MAGI_BASE_URL", "http://localhost"}, []string{"MAGI_MODEL", "model under [provider]"}},
	} {
		c, err := load(t, "", test.vars...)
		require.NoError(t, err)
		text := c.Provider.Unconfigured()
		for _, want := range test.want {
			require.Contains(t, text, want)
		}
		require.NotContains(t, text, "/", "it is sent over the wire: no path")
		require.NotContains(t, text, "\n")
	}
}

// rule: M-045
func TestALocalServerNeedsBaseURLAndModelOnly(t *testing.T) {
	c, err := load(t, "", "MAGI_BASE_URL", "http://127.0.0.1:11434/v1", "MAGI_MODEL", "llama")
	require.NoError(t, err)
	require.Empty(t, c.Provider.Unconfigured())
	require.NoError(t, c.Supported())
	require.True(t, c.Provider.APIKey.Empty())
}
