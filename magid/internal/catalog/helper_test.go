package catalog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// tree makes a workspace of files; a name that ends in a slash is a folder, a content that begins with "-> " is a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch target, link := strings.CutPrefix(content, "-> "); {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case link:
			require.NoError(t, os.Symlink(target, path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
	return dir
}

func encoded(t testing.TB, v any) jsontext.Value {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	require.NoError(t, err)
	return b
}

type args map[string]any

// run calls a tool and checks what holds of every result.
func run(t testing.TB, dir, name string, a args) (jsontext.Value, *ToolError) {
	t.Helper()
	result, err := New(Config{}).Run(context.Background(), dir, name, encoded(t, a))
	if err != nil {
		require.Nil(t, result)
		require.NotContains(t, err.Message, "\n")
		require.NotContains(t, err.Message, dir)
		return nil, err
	}
	require.LessOrEqual(t, len(result), MaxResultBytes)
	require.True(t, result.IsValid(), string(result))
	require.Equal(t, jsontext.Kind('{'), result.Kind())
	return result, nil
}

// ok decodes the result of a call that has to succeed.
func ok[T any](t testing.TB, dir, name string, a args) T {
	t.Helper()
	result, toolErr := run(t, dir, name, a)
	require.Nil(t, toolErr)
	var v T
	require.NoError(t, json.Unmarshal(result, &v, json.RejectUnknownMembers(true)))
	return v
}

type readReply struct {
	Text      string `json:"text"`
	Lines     int64  `json:"lines"`
	Truncated bool   `json:"truncated"`
	Next      int64  `json:"next_offset"`
	Note      string `json:"note"`
}

type listReply struct {
	Entries []struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Bytes *int64 `json:"bytes"`
	} `json:"entries"`
	Withheld  int  `json:"withheld"`
	Truncated bool `json:"truncated"`
}

func (r listReply) names() (names []string) {
	for _, e := range r.Entries {
		names = append(names, e.Name)
	}
	return names
}

type match struct {
	Path string `json:"path"`
	Line int64  `json:"line"`
	Text string `json:"text"`
}

type findReply struct {
	Matches   []match `json:"matches"`
	Files     int     `json:"files"`
	Truncated bool    `json:"truncated"`
	Note      string  `json:"note"`
}
