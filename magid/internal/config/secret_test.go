package config

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
)

const canary = "sk-canary-0123456789"

// rule: M-040
func TestTheKeyVariableIsReadOnceAndTakenOut(t *testing.T) {
	t.Setenv("MAGI_CONFIG", filepath.Join(t.TempDir(), "none.toml"))
	t.Setenv("MAGI_API_KEY", " "+canary+"\n")
	c, err := Load(OSEnv())
	require.NoError(t, err)
	require.Equal(t, canary, c.Provider.APIKey.Reveal())
	_, there := os.LookupEnv("MAGI_API_KEY")
	require.False(t, there)
	out, err := exec.Command("env").Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "MAGI_API_KEY", "no child sees it")
	c, err = Load(OSEnv())
	require.NoError(t, err)
	require.True(t, c.Provider.APIKey.Empty())
	// It is out also where something else is wrong.
	t.Setenv("MAGI_API_KEY", canary)
	t.Setenv("MAGI_PROVIDER", "wrong")
	_, err = Load(OSEnv())
	require.Error(t, err)
	_, there = os.LookupEnv("MAGI_API_KEY")
	require.False(t, there)
}

func TestAKeyThatCannotBeTakenOutIsNotUsed(t *testing.T) {
	_, err := Load(Env{
		Get:   func(name string) string { return map[string]string{"MAGI_API_KEY": canary}[name] },
		Unset: func(string) error { return errors.New(canary) },
	})
	require.ErrorContains(t, err, "MAGI_API_KEY")
	require.NotContains(t, err.Error(), canary)
}

// rule: M-041
func TestTheDocumentationRecommendsTheKeyFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(doc), "//", " ")), " ")
	require.Contains(t, text, "/proc/<pid>/environ shows of the environment that the daemon was started with")
	require.Contains(t, text, "A key file, closed to others (chmod 600), is the better place")
}

func TestTheKeyFileIsReadBoundedAndTrimmed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	for _, test := range []struct {
		name, content string
		want          string
		why           string
	}{
		{"plain", "key", "key", ""},
		{"trimmed", "\n\t key \r\n", "key", ""},
		{"empty", "", "", ""},
		{"blank", " \n", "", ""},
		{"two words", canary + " x", "", "one word of printable ASCII"},
		{"two lines", canary + "\nx", "", "one word of printable ASCII"},
		{"NUL", canary + "\x00", "", "one word of printable ASCII"},
		{"no ASCII", canary + "é", "", "one word of printable ASCII"},
		{"8191", strings.Repeat("k", 8191), strings.Repeat("k", 8191), ""},
		{"8192", strings.Repeat("k", 8192), strings.Repeat("k", 8192), ""},
		{"8193", strings.Repeat("k", 8193), "", "longer than 8192"},
	} {
		path := write("key", test.content, 0o600)
		c, err := load(t, `provider.api_key_file = "`+path+`"`)
		if test.why != "" {
			require.ErrorContains(t, err, test.why, test.name)
			require.ErrorContains(t, err, "config.toml:1:25: the key file: ", test.name)
			require.NotContains(t, err.Error(), canary)
			continue
		}
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, c.Provider.APIKey.Reveal(), test.name)
		require.Empty(t, c.Warnings)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620} {
		c, err := load(t, "", "MAGI_API_KEY_FILE", write("open", canary, mode))
		require.NoError(t, err)
		require.Len(t, c.Warnings, 1, mode)
		require.Contains(t, c.Warnings[0], "chmod 600")
		require.NotContains(t, c.Warnings[0], canary)
	}
	require.Contains(t, refusal(t, "", "MAGI_API_KEY_FILE", dir+"/none"), "MAGI_API_KEY_FILE: the key file does not exist")
	require.Contains(t, refusal(t, "", "MAGI_API_KEY_FILE", dir), "no regular file")
	require.Contains(t, refusal(t, "", "MAGI_API_KEY", canary+" x"), "MAGI_API_KEY: the key is not one word")
	// The variable wins over every file, and says so.
	c, err := load(t, `provider.api_key_file = "/nowhere"`, "MAGI_API_KEY", canary)
	require.NoError(t, err)
	require.Equal(t, canary, c.Provider.APIKey.Reveal())
	require.Len(t, c.Warnings, 1)
}

func TestAKeyFileMayLieBesideTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/config.toml", []byte(`provider.api_key_file = "sub/../key"`), 0o600))
	require.NoError(t, os.WriteFile(dir+"/key", []byte("beside"), 0o600))
	e := environment{vars: map[string]string{"MAGI_CONFIG": dir + "/config.toml", "HOME": dir}}
	c, err := Load(e.env())
	require.NoError(t, err)
	require.Equal(t, "beside", c.Provider.APIKey.Reveal())
	e.vars["MAGI_API_KEY_FILE"] = "~/key"
	c, err = Load(e.env())
	require.NoError(t, err)
	require.Equal(t, "beside", c.Provider.APIKey.Reveal())
}

// complaint: 50 vllm-project/semantic-router#2132 - the provider's key showed when its configuration was printed
func TestComplaint50SemanticRouter2132ASecretPrintsAsRedacted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/key", []byte(canary), 0o600))
	c, err := load(t, `
provider = { base_url = "http://localhost", model = "m", api_key_file = "`+dir+`/key" }
mcp.x = { command = "c", env = { TOKEN = "`+canary+`" } }`)
	require.NoError(t, err)
	require.Equal(t, canary, c.Provider.APIKey.Reveal())
	require.Equal(t, canary, c.MCP["x"].Env["TOKEN"].Reveal())
	key := c.Provider.APIKey
	var printed []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		for _, v := range []any{c, &c, key, &key, c.Provider, c.MCP, []Secret{key}, map[string]any{"k": key}, struct{ K *Secret }{&key}} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
	}
	for _, marshal := range []func() ([]byte, error){
		func() ([]byte, error) { return json.Marshal(c.Provider) },
		func() ([]byte, error) { return stdjson.Marshal(c.Provider) },
		func() ([]byte, error) { return stdjson.Marshal(c.MCP) },
		func() ([]byte, error) { return toml.Marshal(c.Provider) },
		func() ([]byte, error) { return key.MarshalText() },
	} {
		out, err := marshal()
		if err == nil {
			printed = append(printed, string(out))
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "config", c, "provider", c.Provider)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "config", c, "provider", c.Provider)
	printed = append(printed, log.String(), key.String(), key.GoString(), fmt.Sprint(key), fmt.Sprintln(c))
	for _, text := range printed {
		require.NotContains(t, text, canary)
		require.NotContains(t, strings.ToLower(text), fmt.Sprintf("%x", canary))
	}
	require.Contains(t, log.String(), redacted)
	require.Equal(t, redacted, fmt.Sprintf("%v", key))
}

// complaint: 50 farion1231/cc-switch#2896 - a value that may be a key was shown by the error about it
func TestComplaint50CCSwitch2896AnErrorShowsNoValue(t *testing.T) {
	for _, text := range []string{
		`provider.base_url = "https://` + canary + `@example.org"`,
		`provider.base_url = "https://example.org/?key=` + canary + `"`,
		`provider.kind = "` + canary + `"`,
		`provider.api_key_file = ["` + canary + `"]`,
		`mcp.x.env.TOKEN = ["` + canary + `"]`,
		`mcp.x.url = "https://u:` + canary + `@example.org"`,
		`provider.max_replies = "` + canary + `"`,
		`provider.model = "` + canary + `\n"`,
	} {
		require.NotContains(t, refusal(t, text), canary, text)
	}
}
