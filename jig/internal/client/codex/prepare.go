package codex

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// config is what every launch finds as config.toml: the same bytes, so that
// everything that differs stands in the reviewed arguments.
//
// Features are off that ask a server of their own (apps, plugins, suggestions), write
// secrets down (snapshots of the shell), go on without being asked (goals, retries
// without end) or open conversations beside the one that was reviewed (agents,
// pictures). With a subscription Codex also asks its service for settings, which
// would be one more address to look up: chatgpt_base_url, on which the model's own
// address does not depend, is one that nothing can listen at.
const config = `cli_auth_credentials_store = "ephemeral"
check_for_update_on_startup = false
chatgpt_base_url = "https://127.0.0.1:0"
model_provider = "jig"
approval_policy = "on-request"
sandbox_mode = "workspace-write"

[sandbox_workspace_write]
network_access = false

[history]
persistence = "none"

[analytics]
enabled = false

[features]
apps = false
goals = false
image_generation = false
multi_agent = false
plugins = false
remote_plugin = false
shell_snapshot = false
tool_suggest = false
unbounded_connection_retries = false

[shell_environment_policy]
inherit = "core"

[model_providers.jig]
name = "jig"
wire_api = "responses"
requires_openai_auth = true
request_max_retries = 0
stream_max_retries = 0
`

var (
	errHome       = errors.New("codex: CODEX_HOME is no absolute path outside /tmp")
	errCredential = errors.New("codex: the credential has no known form")
	errSession    = errors.New("codex: the session has no path of a rollout")
)

// login are the parameters of account/login/start, as the host projects them.
type login struct {
	Type    string         `json:"type"`
	Key     jsontext.Value `json:"apiKey"`
	Token   jsontext.Value `json:"accessToken"`
	Account *string        `json:"chatgptAccountId"`
	Plan    *string        `json:"chatgptPlanType"`
}

// Prepare writes the configuration and a session to restore, and keeps the login.
func (c *client) Prepare(f *launch.Frame) ([]string, error) {
	home := f.Env[homeVariable]
	// Codex makes its helpers in its home, and refuses to below /tmp.
	if !path.IsAbs(home) || path.Clean(home) != home || home == "/tmp" || strings.HasPrefix(home, "/tmp/") {
		return nil, errHome
	}
	c.retain = f.Retain
	if f.Credential != nil {
		if err := c.keep(f.Credential); err != nil {
			return nil, err
		}
	}
	if err := write(path.Join(home, "config.toml"), []byte(config)); err != nil {
		return nil, err
	}
	return nil, restore(home, f.Session)
}

// keep checks the credential and copies it.
func (c *client) keep(credential jsontext.Value) error {
	var l login
	err := json.Unmarshal(credential, &l, json.RejectUnknownMembers(true))
	defer func() { clear(l.Key); clear(l.Token) }()
	text := func(v jsontext.Value) bool { return v.Kind() == '"' && len(v) > 2 }
	switch {
	case err != nil:
		return errCredential
	case l.Type == "apiKey" && text(l.Key) && l.Token == nil && l.Account == nil && l.Plan == nil:
	case l.Type == "chatgptAuthTokens" && text(l.Token) && l.Account != nil && *l.Account != "" && l.Key == nil:
		c.experimental = true
	default:
		return errCredential
	}
	c.login = append([]byte(nil), credential...)
	return nil
}

// restore puts a rollout where Codex looks for it.
func restore(home string, s *launch.Session) error {
	if s == nil {
		return nil
	}
	rest, ok := strings.CutPrefix(s.Path, "sessions/")
	if !ok || path.Clean(rest) != rest || strings.HasPrefix(rest, "..") || path.Ext(rest) != ".jsonl" {
		return errSession
	}
	folder := path.Join(home, "sessions", path.Dir(rest))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return bare(err)
	}
	return write(path.Join(folder, path.Base(rest)), s.Content)
}

// write makes a file that was not there.
func write(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return bare(err)
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return bare(err)
}

// bare is a file error without its path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
