package claude

import (
	"os"
	"path"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// Prepare makes the program's own folder and puts the credential into the one
// variable of its mode.
func (c *Client) Prepare(f *launch.Frame) ([]string, error) {
	for _, name := range []string{varToken, varKey, varBearer} {
		if _, set := f.Env[name]; set {
			return nil, errCredential // two would be ambiguous
		}
	}
	var credential struct {
		Variable *string `json:"variable"`
		Value    *string `json:"value"`
	}
	if json.Unmarshal(f.Credential, &credential, json.RejectUnknownMembers(true)) != nil || credential.Variable == nil || credential.Value == nil {
		return nil, errCredential
	}
	name, value := *credential.Variable, *credential.Value
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errCredential
	}
	env := []string{name + "=" + value}
	switch name {
	case varToken, varKey:
	case varBearer:
		env = append(env, varKey+"=") // so that nothing else is sent beside the token
	default:
		return nil, errCredential
	}
	if model := argument(f.Argv, "--model"); full(model) {
		c.model = model
	}
	if folder := f.Env["CLAUDE_CONFIG_DIR"]; path.IsAbs(folder) {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return env, nil
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
