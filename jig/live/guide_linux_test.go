package live_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// guide is docs/flows.md, as a file in base.
const guide = "flows.md"

// block is a fenced block of the guide. A name right above it is that of a file.
var block = regexp.MustCompile("(?m)^(?:`([^`\\n]+)`\\n)?```(\\w+)\\n((?:[^`].*\\n|\\n)*)```$")

// A reader who does what the guide says gets what the guide shows. The model is a
// script, and the server of the http grants is here.
func TestTheGuideForAuthorsHolds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") {
		case "GET /page ":
			io.WriteString(w, "the page")
		case "POST /notes Bearer secret":
			w.WriteHeader(http.StatusCreated)
			io.Copy(w, r.Body)
		default:
			http.Error(w, "not what the grant says", http.StatusTeapot)
		}
	}))
	defer server.Close()
	text, err := os.ReadFile(filepath.Join(base, guide))
	require.NoError(t, err)

	p := emptyPlace(t, codex, "reply", `text {"primes":`, "text [2,3,5]}", "finish stop", "done")
	require.NoError(t, os.Mkdir(p.dir, 0o755))
	p.env[0] += ":" + base
	files, commands := 0, 0
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		switch name, kind, body := m[1], m[2], m[3]; {
		case name != "":
			files++
			at := filepath.Join(p.dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, os.WriteFile(at, []byte(strings.ReplaceAll(body, "https://api.example.org", server.URL)), 0o644))
		case kind == "sh":
			commands++
			p.follow(body)
		default:
			t.Fatalf("neither a file nor commands:\n%s", body)
		}
	}
	require.Equal(t, strings.Count(string(text), "```"), 2*(files+commands), "every block was understood")
	require.Len(t, p.model.posts(), 1)
}

// follow runs the commands of a block. A comment of a line says what they print, in
// order; "…" stands for anything.
func (p *place) follow(commands string) {
	p.Helper()
	cmd := exec.Command("sh", "-c", commands)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // what counts is what it prints
	o := outcome{p: p, stdout: stdout.String(), stderr: stderr.String(), exit: cmd.ProcessState.ExitCode()}
	p.clean(o)
	rest := o.stdout
	for line := range strings.Lines(commands) {
		line = strings.TrimSpace(line)
		if set, ok := strings.CutPrefix(line, "export "); ok {
			p.env = append(p.env, set)
		}
		shown, ok := strings.CutPrefix(line, "# ")
		if !ok {
			continue
		}
		for part := range strings.SplitSeq(shown, "…") {
			_, after, found := strings.Cut(rest, part)
			require.True(p, found, "%q is not in what is left of %s\nafter\n%s", part, o, commands)
			rest = after
		}
	}
	require.NotContains(p, o.stdout, `"code":"INVALID_CANDIDATE"`, "%s", o)
}
