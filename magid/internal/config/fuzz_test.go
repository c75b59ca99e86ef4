package config

import (
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
)

// FuzzParse: any file is either taken or refused with a place in it; what is taken is TOML, and within the documented
// limits.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "# c\n", "[provider]\nkind = \"openai-chat\"\nbase_url = \"http://localhost/v1\"\nmodel = 'm'\n",
		"provider = { timeouts = { connect = \"1s\", idle = \"2m\" }, max_replies = 3 }",
		"[provider.timeouts]\ntotal = \"1h\"\n[tools]\ndisabled = [\"a\", 'b']\n[skills]\ndirs = [\"/x\"]",
		"[daemon]\nidle_timeout = \"0s\"\nsocket = \"/s\"", "[mcp.a]\ncommand = \"c\"\nargs = [\"\"]\n[mcp.a.env]\nA = \"\"\"x\ny\"\"\"",
		"\"provider\".'kind' = \"anthropic\"", "[[provider]]", "provider.kind.x = 1", "a = 2020-01-01T00:00:00Z", "a = [{b = 1}]", "\"\" = 1",
		"[mcp]\nx = {url = \"https://h\"}", "provider.max_replies = 0b11", "[provider]\r\nmodel = \"m\"\r\n", "\ufeffa = 1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loader{home: "/home/u", config: defaults()}
		l.config.File = "/c/config.toml"
		err := l.parse(data)
		if err != nil {
			var bad *Error
			require.ErrorAs(t, err, &bad)
			require.NotContains(t, err.Error(), "\n")
			require.Positive(t, bad.Line)
			require.Positive(t, bad.Column)
			return
		}
		var values map[string]any
		require.NoError(t, toml.Unmarshal(data, &values))
		p := l.config.Provider
		require.True(t, p.MaxReplies >= 1 && p.MaxReplies <= 64)
		require.Positive(t, p.MaxHistoryBytes)
		for _, d := range []int64{int64(p.Timeouts.Connect), int64(p.Timeouts.Headers), int64(p.Timeouts.FirstEvent), int64(p.Timeouts.Idle), int64(p.Timeouts.Total)} {
			require.Positive(t, d)
		}
		for _, s := range l.config.MCP {
			require.NotEqual(t, s.Command == "", s.URL == "")
		}
	})
}
