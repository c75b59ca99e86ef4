package pi

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

var (
	errCredential = errors.New("pi: the credential is not of a kind that Pi has")
	errLaunch     = errors.New("pi: the launch names no folder, provider or model")
)

// settings switch off what has no argument, and the retries that would be a
// request of their own (finite-acp 4).
const settings = `{"compaction":{"enabled":false},"defaultProjectTrust":"never","enableAnalytics":false,"enableInstallTelemetry":false,` +
	`"enableSkillCommands":false,"extensions":[],"images":{"blockImages":true},"packages":[],"prompts":[],` +
	`"retry":{"enabled":false,"maxRetries":0,"provider":{"maxRetries":0}},"skills":[],"themes":[],"transport":"sse"}`

// Prepare makes Pi's own folder, with the credential and the settings in it.
func (c *Client) Prepare(f *launch.Frame) ([]string, error) {
	folder := f.Env[folderVariable]
	provider, model := argument(f.Argv, "--provider"), argument(f.Argv, "--model")
	if !path.IsAbs(folder) || provider == "" || model == "" {
		return nil, errLaunch
	}
	c.model = provider + "/" + model
	auth, err := authFile(f.Credential, provider)
	if err != nil {
		return nil, err
	}
	defer clear(auth)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(folder, "auth.json"), auth); err != nil {
		return nil, err
	}
	return nil, write(filepath.Join(folder, "settings.json"), []byte(settings))
}

// entry is what auth.json holds for one provider.
type entry struct {
	Type    *string `json:"type"`
	Key     *string `json:"key,omitzero"`
	Access  *string `json:"access,omitzero"`
	Refresh *string `json:"refresh,omitzero"`
	Expires *int64  `json:"expires,omitzero"`
}

// authFile is the content of auth.json: the credential of the reviewed provider,
// and of no other.
func authFile(credential []byte, provider string) ([]byte, error) {
	var all map[string]entry
	if json.Unmarshal(credential, &all, json.RejectUnknownMembers(true)) != nil || len(all) != 1 {
		return nil, errCredential
	}
	e, ok := all[provider]
	if !ok || e.Type == nil {
		return nil, errCredential
	}
	switch {
	case *e.Type == "api_key" && text(e.Key) && e.Access == nil && e.Refresh == nil && e.Expires == nil:
		key := literal(*e.Key)
		e.Key = &key
	case *e.Type == "oauth" && text(e.Access) && e.Refresh != nil && *e.Refresh == "" && e.Expires != nil && e.Key == nil:
	default:
		return nil, errCredential
	}
	b, err := json.Marshal(map[string]entry{provider: e})
	if err != nil {
		return nil, errCredential
	}
	return b, nil
}

// text says whether s is there and could be sent.
func text(s *string) bool {
	return s != nil && *s != "" && !strings.ContainsFunc(*s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// literal writes a key so that Pi takes it as it is: in auth.json a leading
// exclamation mark is a command, and a dollar sign a variable.
func literal(key string) string {
	key = strings.ReplaceAll(key, "$", "$$")
	if strings.HasPrefix(key, "!") {
		key = "$" + key
	}
	return key
}

// write makes one file that nobody else may read and nobody made before.
func write(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// argument is the one behind name, or "".
func argument(argv []string, name string) string {
	for i, a := range argv[:max(len(argv)-1, 0)] {
		if a == name {
			return argv[i+1]
		}
	}
	return ""
}
