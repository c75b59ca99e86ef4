package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMCPServersAreReadStrictly(t *testing.T) {
	c, err := load(t, `
[mcp.files]
command = "server"
args = ["-a", ""]
env = { A = "1", B = "" }
[mcp.remote_2]
url = "https://example.org/mcp"
[mcp.dotted]
command = "x"
env.C = "2"
`)
	require.NoError(t, err)
	require.Equal(t, map[string]MCPServer{
		"files":    {Command: "server", Args: []string{"-a", ""}, Env: map[string]Secret{"A": NewSecret("1"), "B": NewSecret("")}},
		"remote_2": {URL: "https://example.org/mcp"},
		"dotted":   {Command: "x", Env: map[string]Secret{"C": NewSecret("2")}},
	}, c.MCP)
	for text, want := range map[string]string{
		"[mcp.x]\n": "1:6: an MCP server has a command or a url, and not both",
		"[mcp.x]\ncommand = \"a\"\nurl = \"http://b\"": "1:6: an MCP server has a command or a url, and not both",
		"[mcp.x]\nurl = \"http://b\"\nargs = []":       "1:6: args and env belong to a command, not to a url",
		"[mcp.x]\nurl = \"b\"":                         "2:1: url: accepted is an absolute URL of http or https without a user name",
		"[mcp.x]\ncommand = \"\"":                      "2:1: command: accepted is a path or name",
		"[mcp.x]\ncommand = 1":                         "2:1: command: accepted is a path or name",
		"[mcp.x]\nargs = \"a\"":                        "2:1: args: accepted is a list of at most 256 strings",
		"[mcp.x]\nargs = [1]":                          "2:1: args: accepted is a list of at most 256 strings",
		"[mcp.x]\nenv = 1":                             "2:1: env: accepted is a table of strings",
		"[mcp.x.env]\nA = 1":                           "2:1: env: accepted is a table of strings",
		"[mcp.x.env]\n\"A=B\" = \"1\"":                 "2:1: env: accepted is a table of strings",
		"[mcp.x.env.A]\nB = \"1\"":                     "1:12: env: accepted is a table of strings",
		"[mcp.x]\nCommand = \"a\"":                     `2:1: unknown key "Command"; accepted in [mcp.NAME] are command, args, env, url`,
		"[mcp.x]\ntype = \"a\"":                        `2:1: unknown key "type"; accepted in [mcp.NAME] are command, args, env, url`,
		"[mcp.X]\n":                                    "1:6: the name of an MCP server: accepted are 1 to 32 of a-z, 0-9 and _, beginning with a letter",
		"[mcp.\"\"]\n":                                 "1:6: the name of an MCP server: accepted are 1 to 32 of a-z, 0-9 and _, beginning with a letter",
		"mcp = 1":                                      `1:1: "mcp" is a table, not a value`,
		"mcp.x = 1":                                    `1:5: "mcp.x" is a table, not a value`,
		"[[mcp.x]]\ncommand = \"a\"":                   `1:7: "mcp.x" is no list of tables`,
	} {
		require.Equal(t, want, refusal(t, text), text)
	}
	for name, ok := range map[string]bool{
		"a": true, strings.Repeat("a", 31): true, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false, "a_1": true, "1a": false, "_a": false, "a-b": false,
	} {
		_, err := load(t, "mcp."+name+".command = \"c\"")
		require.Equal(t, ok, err == nil, name)
	}
	_, err = load(t, "[mcp]\n")
	require.NoError(t, err)
}
