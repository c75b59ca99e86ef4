package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// start runs the command and returns its base URL, what it writes on standard
// error, and a function that ends it and returns its exit code.
func start(t *testing.T, stdin string, args ...string) (url string, stderr *lockedBuffer, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	stderr = &lockedBuffer{}
	go func() {
		code <- run(ctx, args, strings.NewReader(stdin), in, stderr)
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, stderr.String())
	return strings.TrimSpace(line), stderr, func() int {
		cancel()
		return <-code
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func ask(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(`{"stream":true,"messages":[]}`))
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body)
}

func TestItSaysTheSameToEverybodyWithoutAScript(t *testing.T) {
	url, stderr, end := start(t, "")
	require.True(t, strings.HasPrefix(url, "http://127.0.0.1:"), url)
	require.True(t, strings.HasSuffix(url, "/v1"), url)
	for range 2 {
		require.Contains(t, ask(t, url), "not a model. ")
	}
	require.Zero(t, end())
	require.Empty(t, stderr.String())
	_, err := http.Get(url)
	require.Error(t, err, "it no longer listens")
}

func TestItServesAScriptAndPrintsRequests(t *testing.T) {
	script := "loop\nreply\ntext from a file\nfinish stop\ndone\n"
	file := filepath.Join(t.TempDir(), "a.script")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	for _, arg := range []string{file, "-"} {
		url, stderr, end := start(t, script, "-requests", arg)
		require.Contains(t, ask(t, url), "from a file")
		want := "1 POST /v1/chat/completions 200\n{\"stream\":true,\"messages\":[]}\n"
		require.Eventually(t, func() bool { return stderr.String() == want }, 10*time.Second, time.Millisecond)
		require.Zero(t, end())
	}
}

// addresses is what -json prints.
type addresses struct {
	URL       string `json:"url"`
	Origin    string `json:"origin"`
	Authority string `json:"authority,omitzero"`
}

func TestItServesAgentsOverTLSAndLogsWhatTheyAsk(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	line, _, end := start(t, "", "-by-text", "-tls", "-json", "-log", log)
	var a addresses
	require.NoError(t, json.Unmarshal([]byte(line), &a))
	require.Equal(t, a.URL, a.Origin+"/v1")
	info, err := os.Stat(a.Authority)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "an agent of another user reads it")
	certificate, err := os.ReadFile(a.Authority)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certificate))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	for n, ask := range [][2]string{
		{a.URL + "/responses", `{"input":"ECHO first"}`},
		{a.Origin + "/v1/messages", `{"messages":[{"role":"user","content":"ECHO second"}]}`},
		{a.URL + "/chat/completions", `{"messages":[{"role":"user","content":"ECHO third"}]}`},
	} {
		res, err := (&http.Client{Transport: transport}).Post(ask[0], "application/json", strings.NewReader(ask[1]))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Contains(t, string(body), []string{"first", "second", "third"}[n])
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Contains(t, string(data), strconv.Quote(ask[1]), "it is there once the reply is")
	}
	require.Zero(t, end())
	require.NoFileExists(t, a.Authority)
	info, err = os.Stat(log)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds credentials")
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(string(data), "\n"), "each request, and each reply's end")
}

// A test that dies must not leave its server behind.
func TestItEndsWithItsStandardInput(t *testing.T) {
	in, hold := io.Pipe()
	out, say := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"-by-text", "-json", "-with-stdin"}, in, say, io.Discard)
	}()
	_, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, hold.Close())
	require.Zero(t, <-code)
}

func TestItSaysWhatIsWrong(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.script")
	require.NoError(t, os.WriteFile(bad, []byte("reply\nsing\n"), 0o600))
	for _, c := range []struct {
		args  []string
		stdin string
		code  int
		want  string
	}{
		{[]string{bad}, "", 1, `line 2: "sing" is no instruction`},
		{[]string{"-"}, "", 1, "no reply"},
		{[]string{"-"}, strings.Repeat("#", scripted.MaxScriptBytes+1), 1, "longer than"},
		{[]string{bad + "x"}, "", 1, "no such file"},
		{[]string{bad, bad}, "", 2, "usage: scriptedprovider"},
		{[]string{"-by-text", bad}, "", 2, "usage: scriptedprovider"},
		{[]string{"-with-stdin", "-"}, "", 2, "usage: scriptedprovider"},
		{[]string{"-by-text", "-log", filepath.Join(bad, "log")}, "", 1, "not a directory"},
		{[]string{"-loud"}, "", 2, "-loud"},
		{[]string{"-h"}, "", 0, "usage: scriptedprovider"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, strings.NewReader(c.stdin), &out, &errs), c.want)
		require.Contains(t, errs.String(), c.want)
		require.Empty(t, out.String())
	}
}

// rule: M-027
func TestItIsAThinMainOverThePublicPackage(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, 0)
	require.NoError(t, err)
	var imports []string
	for _, i := range parsed.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		imports = append(imports, path)
	}
	require.Contains(t, imports, "github.com/magi-jig/magi-jig/magid/scripted")
	// What serves, parses and plays scripts is the package: nothing here speaks HTTP or JSON.
	for _, path := range imports {
		require.NotContains(t, path, "http")
		require.NotContains(t, path, "json")
		require.NotContains(t, path, "/internal/")
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasSuffix(e.Name(), ".go") && !strings.HasPrefix(e.Name(), "main"), "%s: the main is one file", e.Name())
	}
}
