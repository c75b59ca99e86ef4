package catalog

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// rule: M-047
func TestTheThreeToolsAreOffered(t *testing.T) {
	offered := New(Config{}).Tools()
	var names []string
	for _, tool := range offered {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Description)
		var schema struct {
			Type       string                    `json:"type"`
			Additional bool                      `json:"additionalProperties"`
			Properties map[string]map[string]any `json:"properties"`
			Required   []string                  `json:"required"`
		}
		require.NoError(t, json.Unmarshal(tool.InputSchema, &schema, json.RejectUnknownMembers(true)))
		require.Equal(t, "object", schema.Type)
		require.False(t, schema.Additional)
		var properties []string
		for name, p := range schema.Properties {
			kind := map[string]string{"path": "string", "text": "string", "offset": "integer", "limit": "integer"}[name]
			require.Equal(t, kind, p["type"])
			properties = append(properties, name)
		}
		require.ElementsMatch(t, map[string][]string{
			ToolReadFile: {"path", "offset", "limit"}, ToolListFiles: {"path"}, ToolFindText: {"text", "path"},
		}[tool.Name], properties)
		require.Equal(t, map[string][]string{ToolReadFile: {"path"}, ToolListFiles: {}, ToolFindText: {"text"}}[tool.Name], schema.Required)
	}
	require.Equal(t, []string{ToolFindText, ToolListFiles, ToolReadFile}, names)
}

func TestADisabledToolIsNeitherOfferedNorRun(t *testing.T) {
	c := New(Config{DisabledTools: []string{"Read_File", "web_search"}, DisabledSkills: []string{ToolListFiles}})
	require.Len(t, c.Tools(), 2)
	require.False(t, c.Has(ToolReadFile))
	require.True(t, c.Has(ToolListFiles), "a disabled skill disables no tool")
	require.False(t, c.Has(ToolDelegate))
	require.False(t, c.Has(""))
	for _, name := range []string{ToolReadFile, ToolDelegate, "nothing"} {
		_, err := c.Run(context.Background(), t.TempDir(), name, jsontext.Value(`{"path":"x"}`))
		require.Equal(t, CodeInvalidArguments, err.Code)
		require.Equal(t, CodeInvalidArguments, c.CheckArguments(name, jsontext.Value(`{"path":"x"}`)).Code)
	}
}

// rule: M-057, M-058, M-060
func TestReservedNames(t *testing.T) {
	c := New(Config{DisabledTools: []string{"Web_Search"}, DisabledSkills: []string{"review"}})
	for name, want := range map[string]bool{
		"read_file": true, "list_files": true, "find_text": true, "delegate": true, "READ_FILE": true, "read_files": false,
		"mcp_": true, "mcp_x": true, "MCP_x": true, "mcp": false, "mcpx": false, "x_mcp_": false,
		"web_search": true, "WEB_SEARCH": true, "web_searc": false,
		"review": true, "Review": true, "reviews": false, "deploy": false, "": false,
	} {
		require.Equal(t, want, c.Reserved(name), name)
	}
	c = New(Config{DisabledTools: []string{"read_file"}})
	require.True(t, c.Reserved("read_file"), "disabled or not")
}

func TestArgumentsAreReadStrictly(t *testing.T) {
	c := New(Config{})
	x := strings.Repeat
	for _, test := range []struct {
		tool, args string
		why        string // "" passes
	}{
		{ToolReadFile, `{"path":"a"}`, ""},
		{ToolReadFile, ` { "path" : "a" , "offset" : 1 , "limit" : 9007199254740991 } `, ""},
		{ToolReadFile, `{"p\u0061th":"a"}`, ""},
		{ToolReadFile, ``, "no JSON object"},
		{ToolReadFile, `null`, "no JSON object"},
		{ToolReadFile, `[]`, "no JSON object"},
		{ToolReadFile, `"x"`, "no JSON object"},
		{ToolReadFile, `{}`, "path is missing"},
		{ToolReadFile, `{"path":"a"}{"path":"b"}`, "something follows"},
		{ToolReadFile, `{"path":"a"} x`, "something follows"},
		{ToolReadFile, `{"path":"a",}`, "strict JSON"},
		{ToolReadFile, `{"path":"a"`, "strict JSON"},
		{ToolReadFile, `{"path":"a","path":"b"}`, "strict JSON"},
		{ToolReadFile, `{"path":"a","p\u0061th":"b"}`, "strict JSON"},
		{ToolReadFile, "{\"path\":\"\xff\"}", "strict JSON"},
		{ToolReadFile, `{"path":"\ud800"}`, "strict JSON"},
		{ToolReadFile, `{"Path":"a"}`, `takes no argument "Path"`},
		{ToolReadFile, `{"path":"a","x":1}`, `takes no argument "x"`},
		{ToolReadFile, `{"` + x("n", 100) + `":1}`, `takes no argument "` + x("n", 48) + `"`},
		{ToolReadFile, `{"path":null}`, "path is no string"},
		{ToolReadFile, `{"path":1}`, "path is no string"},
		{ToolReadFile, `{"path":"a","offset":null}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":0}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":-1}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":-0}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":1.0}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":1e2}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","offset":"1"}`, "offset is no integer"},
		{ToolReadFile, `{"path":"a","limit":9007199254740992}`, "limit is no integer"},
		{ToolReadFile, `{"path":"a","limit":839e89}`, "limit is no integer"},
		{ToolReadFile, `{"path":"a","limit":99999999999999999999}`, "limit is no integer"},
		{ToolReadFile, `{"path":"` + x("p", 4095) + `"}`, ""},
		{ToolReadFile, `{"path":"` + x("p", 4096) + `"}`, ""},
		{ToolReadFile, `{"path":"` + x("p", 4097) + `"}`, "longer than 4096"},
		{ToolReadFile, `{"path":"a"` + x(" ", 16384-12) + `}`, ""},
		{ToolReadFile, `{"path":"a"` + x(" ", 16384-11) + `}`, "longer than 16384"},
		{ToolListFiles, `{}`, ""},
		{ToolListFiles, `{"path":""}`, ""},
		{ToolListFiles, `{"text":"a"}`, "takes no argument"},
		{ToolFindText, `{}`, "text is missing"},
		{ToolFindText, `{"text":""}`, "empty"},
		{ToolFindText, `{"text":"a\nb"}`, "single line"},
		{ToolFindText, `{"text":"a\u0000"}`, "single line"},
		{ToolFindText, `{"text":"` + x("t", 1023) + `"}`, ""},
		{ToolFindText, `{"text":"` + x("t", 1024) + `"}`, ""},
		{ToolFindText, `{"text":"` + x("t", 1025) + `"}`, "longer than 1024"},
		{ToolFindText, x(`{"a":`, 10000), "strict JSON"},
	} {
		err := c.CheckArguments(test.tool, jsontext.Value(test.args))
		if test.why == "" {
			require.Nil(t, err, test.args)
			continue
		}
		require.NotNil(t, err, test.args)
		require.Equal(t, CodeInvalidArguments, err.Code)
		if len(test.args) <= 16384 {
			require.Contains(t, err.Message, test.why, test.args)
		}
		_, runErr := c.Run(context.Background(), t.TempDir(), test.tool, jsontext.Value(test.args))
		require.Equal(t, err, runErr, "Run refuses the same")
	}
}

func TestAWorkspaceThatIsGoneIsAToolError(t *testing.T) {
	dir := t.TempDir() + "/gone"
	for _, name := range []string{ToolReadFile, ToolListFiles, ToolFindText} {
		a := args{"path": "x"}
		if name == ToolFindText {
			a["text"] = "x"
		}
		_, err := run(t, dir, name, a)
		require.Equal(t, &ToolError{CodeExecutionFailed, "the workspace cannot be opened"}, err)
	}
}

// FuzzArguments: what is taken is one strict JSON object, and none of it makes a call do more than read.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"path":"a","offset":1,"limit":2}`, `{"text":"x","path":"."}`, `{"path":"../x"}`, `{"path":"\u0000"}`, ` {"path":""} `,
		`{"path":"a","path":"b"}`, `{"path":"a"}x`, `{"offset":1e2}`, `null`, `[]`, `{"path":"/etc/passwd"}`, `{"path":"a/./b//c/"}`,
	} {
		f.Add(s)
	}
	c := New(Config{})
	dir := tree(f, map[string]string{"a": "one\ntwo\n", "sub/b": "x\n", "out": "-> /etc/passwd"})
	f.Fuzz(func(t *testing.T, s string) {
		for _, tool := range c.Tools() {
			args := jsontext.Value(s)
			err := c.CheckArguments(tool.Name, args)
			result, runErr := c.Run(context.Background(), dir, tool.Name, args)
			if err != nil {
				require.Equal(t, err, runErr)
				require.NotContains(t, err.Message, "\n")
				continue
			}
			require.True(t, args.IsValid())
			require.Equal(t, jsontext.Kind('{'), args.Kind())
			if runErr != nil {
				require.NotEqual(t, CodeInvalidArguments, runErr.Code)
				require.NotContains(t, runErr.Message, dir)
				continue
			}
			require.LessOrEqual(t, len(result), MaxResultBytes)
			require.True(t, result.IsValid())
			require.NotContains(t, string(result), "root:")
		}
	})
}
