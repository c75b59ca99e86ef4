package client

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// now is the time of these tests.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// canary is in every secret of these tests, and may be in nothing else.
const canary = "canary5ecret"

const jigDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// operator is a machine of somebody: folders, an environment, and a project.
type operator struct {
	testing.TB
	root, home, project string
	env                 map[string]string
}

func newOperator(t testing.TB) *operator {
	t.Helper()
	// Below /tmp no client may lie: the scope has a /tmp of its own.
	root, err := os.MkdirTemp("/var/tmp", "jig-client-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	root, err = filepath.EvalSymlinks(root)
	require.NoError(t, err)
	o := &operator{TB: t, root: root, home: filepath.Join(root, "home"), project: filepath.Join(root, "project"), env: map[string]string{}}
	o.dir("home")
	o.dir("project")
	o.env["HOME"] = o.home
	o.env["PATH"] = filepath.Join(root, "bin")
	return o
}

func (o *operator) at(path string) string { return filepath.Join(o.root, path) }

func (o *operator) dir(path string) string {
	o.Helper()
	require.NoError(o, os.MkdirAll(o.at(path), 0o755))
	return o.at(path)
}

// file writes a file with a mode, whatever was there.
func (o *operator) file(path, content string, mode os.FileMode) string {
	o.Helper()
	o.dir(filepath.Dir(path))
	if err := os.Remove(o.at(path)); !errors.Is(err, os.ErrNotExist) {
		require.NoError(o, err)
	}
	require.NoError(o, os.WriteFile(o.at(path), []byte(content), 0o600))
	require.NoError(o, os.Chmod(o.at(path), mode))
	return o.at(path)
}

// elf is a native program that needs nothing; filler tells two of them apart.
func elf(filler string) string {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], 2)  // EXEC
	binary.LittleEndian.PutUint16(b[18:], 62) // x86-64
	binary.LittleEndian.PutUint32(b[20:], 1)
	binary.LittleEndian.PutUint64(b[32:], 64) // program headers
	binary.LittleEndian.PutUint16(b[52:], 64)
	binary.LittleEndian.PutUint16(b[54:], 56)
	binary.LittleEndian.PutUint16(b[56:], 1)
	binary.LittleEndian.PutUint32(b[64:], 1) // LOAD
	binary.LittleEndian.PutUint64(b[64+32:], uint64(len(b)))
	binary.LittleEndian.PutUint64(b[64+40:], uint64(len(b)))
	return string(b) + filler
}

// install puts all three clients on PATH, and a helper.
func (o *operator) install() *operator {
	o.Helper()
	o.file("bin/codex", elf("codex"), 0o755)
	o.file("bin/bwrap", elf("bwrap"), 0o755)
	o.file("bin/claude", elf("claude"), 0o755)
	o.file("bin/pi", elf("pi"), 0o755)
	o.file("bin/package.json", `{"name":"@earendil-works/pi-coding-agent","version":"0.84.4"}`, 0o644)
	o.file("bin/theme/dark.json", "{}", 0o644)
	o.file("bin/theme/light.json", "{}", 0o644)
	return o
}

// set sets variables.
func (o *operator) set(pairs ...string) *operator {
	for i := 0; i < len(pairs); i += 2 {
		o.env[pairs[i]] = pairs[i+1]
	}
	return o
}

func (o *operator) unset(names ...string) *operator {
	for _, n := range names {
		delete(o.env, n)
	}
	return o
}

func (o *operator) environment() project.Environment {
	var entries []string
	for n, v := range o.env {
		entries = append(entries, n+"="+v)
	}
	return project.NewEnvironment(entries)
}

// token is a token that ends at a time and belongs to an account.
func token(expires int64, account string) string {
	body := fmt.Sprintf(`{"exp":%d,"aud":["x"],"https://api.openai.com/auth":{"chatgpt_account_id":%q,"chatgpt_plan_type":"plus"}}`, expires, account)
	return "head." + base64.RawURLEncoding.EncodeToString([]byte(body)) + "." + canary
}

// codexLogin is the text of a login file.
func codexLogin(access, account string) string {
	return fmt.Sprintf(`{"OPENAI_API_KEY":null,"auth_mode":"chatgpt","last_refresh":"2026-11-30T11:00:00Z","tokens":{"access_token":%q,"account_id":%q,"id_token":"id-%s","refresh_token":"refresh-%s"}}`,
		access, account, canary, canary)
}

func piLogin(provider string, expires time.Time) string {
	return fmt.Sprintf(`{"other":{"type":"api_key","key":"other-%s"},%q:{"type":"oauth","access":"access-%s","refresh":"refresh-%s","expires":%d}}`, canary, provider, canary, canary, expires.UnixMilli())
}

// subscribe signs in to all three clients.
func (o *operator) subscribe() *operator {
	o.Helper()
	o.file("home/.codex/auth.json", codexLogin(token(now.Add(time.Hour).Unix(), "acct"), "acct"), 0o600)
	o.file("home/.pi/agent/auth.json", piLogin("anthropic", now.Add(time.Hour)), 0o600)
	return o.set("CLAUDE_CODE_OAUTH_TOKEN", "oauth-"+canary, "PI_PROVIDER", "anthropic", "PI_MODEL", "m1")
}

func (o *operator) opener() *Opener {
	o.Helper()
	opener, err := New(Options{JigPath: "/agent/of/this/test", JigDigest: jigDigest, UID: 1000, GID: 1000, Now: func() time.Time { return now }})
	require.NoError(o, err)
	return opener
}

func reach(t testing.TB, e project.Environment) *project.Reach {
	t.Helper()
	r, err := project.NewReach(e)
	require.NoError(t, err)
	return r
}

func (o *operator) open(client, model string) (*project.Client, error) {
	o.Helper()
	e := o.environment()
	return o.opener().Open(o.Context(), project.ClientRequest{
		Client: client, Model: model, Project: o.project, Path: "flows/agent/FLOW.ts", Environment: e, Reach: reach(o.TB, e),
	})
}

func (o *operator) opened(client, model string) *project.Client {
	o.Helper()
	c, err := o.open(client, model)
	require.NoError(o, err)
	return c
}

// code is the code of a refusal, whose form is checked by the way.
func (o *operator) code(client, model string) string {
	o.Helper()
	_, err := o.open(client, model)
	return o.codeOf(err)
}

func (o *operator) codeOf(err error) string {
	o.Helper()
	var r *project.Refusal
	require.True(o, errors.As(err, &r), "%v", err)
	require.Len(o, r.Diagnostics, 1)
	d := r.Diagnostics[0]
	require.True(o, strings.HasSuffix(d.Hint, "; then retry review; no Flow was started"), d.Hint)
	for _, text := range []string{d.Message, d.Hint, err.Error()} {
		require.NotContains(o, text, canary)
		require.NotContains(o, text, o.root)
	}
	return d.Code
}

// prepare opens what was admitted again.
func (o *operator) prepare(client, model string, admitted *project.Client, deadline time.Time) (*Prepared, error) {
	o.Helper()
	digest, err := admitted.Provider.Digest()
	require.NoError(o, err)
	e := o.environment()
	return o.opener().Prepare(o.Context(), PrepareRequest{
		Client: client, Model: model, Project: o.project, Digest: digest, Admitted: admitted.Provider, Environment: e, Reach: reach(o.TB, e), Deadline: deadline,
	})
}

func (o *operator) prepared(client, model string) *Prepared {
	o.Helper()
	c := o.opened(client, model)
	p, err := o.prepare(client, model, c, time.Time{})
	require.NoError(o, err)
	return p
}

// changed are the parts that Prepare names.
func (o *operator) changed(client, model string, admitted *project.Client) (parts []string, why string) {
	o.Helper()
	_, err := o.prepare(client, model, admitted, time.Time{})
	var c *ChangedError
	require.True(o, errors.As(err, &c), "%v", err)
	require.NotContains(o, err.Error(), o.root)
	require.NotContains(o, err.Error(), canary)
	return c.Parts, c.Why
}

var everyClient = []nativeinspect.Client{nativeinspect.Codex, nativeinspect.Claude, nativeinspect.Pi}
