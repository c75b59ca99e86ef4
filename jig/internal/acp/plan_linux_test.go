package acp_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

const account = "7a1f6c52-9d3e-4b08-8c55-0e2f4d9b6a11"

// prepared are the three clients as somebody has them installed, and pays for them
// with a key, and for Codex with a subscription too.
func prepared(t *testing.T) map[string]*client.Prepared {
	program, err := adapterProgram()
	require.NoError(t, err)
	native, err := os.ReadFile(program)
	require.NoError(t, err)
	// Below /tmp no client may lie: the scope has a /tmp of its own.
	root, err := os.MkdirTemp("/var/tmp", "acp-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	require.NoError(t, os.Mkdir(filepath.Join(root, "theme"), 0o755))
	for name, content := range map[string][]byte{
		"codex": native, "bwrap": native, "claude": native, "pi": native, "theme/dark.json": []byte("{}"), "theme/light.json": []byte("{}"),
		"package.json": []byte(`{"name":"@earendil-works/pi-coding-agent","version":"0.84.4"}`),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), content, 0o755))
	}
	claims := fmt.Sprintf(`{"exp":%d,"https://api.openai.com/auth":{"chatgpt_account_id":%q,"chatgpt_plan_type":"plus"}}`, time.Now().Add(time.Hour).Unix(), account)
	access := "head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".tail"
	login := fmt.Sprintf(`{"OPENAI_API_KEY":null,"auth_mode":"chatgpt","last_refresh":"","tokens":{"access_token":%q,"account_id":%q,"id_token":"id","refresh_token":"refresh"}}`, access, account)
	require.NoError(t, os.WriteFile(filepath.Join(root, "auth.json"), []byte(login), 0o600))
	opener, err := client.New(client.Options{JigPath: program, JigDigest: "sha256:1111111111111111111111111111111111111111111111111111111111111111", UID: 65534, GID: 65534})
	require.NoError(t, err)
	dir, all := t.TempDir(), map[string]*client.Prepared{}
	for mode, variables := range map[string][]string{
		"codex":              {"OPENAI_API_KEY=key", "OPENAI_MODEL=m"},
		"codex subscription": {"CODEX_HOME=" + root},
		"claude":             {"ANTHROPIC_API_KEY=key", "ANTHROPIC_MODEL=m"},
		"pi":                 {"PI_PROVIDER=anthropic", "PI_MODEL=m", "PI_API_KEY=key"},
	} {
		name, _, _ := strings.Cut(mode, " ")
		e := project.NewEnvironment(append(variables, "HOME="+root, "PATH="+root))
		reach, err := project.NewReach(e)
		require.NoError(t, err)
		admitted, err := opener.Open(t.Context(), project.ClientRequest{Client: name, Project: dir, Path: "flows/agent/FLOW.ts", Environment: e, Reach: reach})
		require.NoError(t, err)
		digest, err := admitted.Provider.Digest()
		require.NoError(t, err)
		p, err := opener.Prepare(t.Context(), client.PrepareRequest{Client: name, Project: dir, Digest: digest, Admitted: admitted.Provider, Environment: e, Reach: reach})
		require.NoError(t, err)
		all[mode] = p
	}
	return all
}

func TestOnlyAClientThatLogsInHasTimeForIt(t *testing.T) {
	// rule: J-215
	clients := prepared(t)
	for name, want := range map[string]time.Duration{"codex": 30 * time.Second, "codex subscription": 30 * time.Second, "claude": 20 * time.Second, "pi": 20 * time.Second} {
		bubble(t, func(r *rig) {
			r.plan, r.peer = *clients[name].Plan, silent
			r.start()
			r.next()
			r.send(request(1, "initialize", initialize))
			began := time.Now()
			require.Equal(t, fault.Disconnected, r.lost())
			require.Equal(t, want, time.Since(began), name)
			require.Contains(t, r.fails(fault.Uncertain).Message, "in time")
		})
	}
}

// What the client was told is what its history is searched for.
func TestAHistoryIsSearchedForAllThatTheClientWasTold(t *testing.T) {
	// rule: P-135
	clients := prepared(t)
	for mode, members := range map[string][]string{"codex": {"apiKey"}, "codex subscription": {"accessToken", "chatgptAccountId"}} {
		bubble(t, func(r *rig) {
			k := &keeper{}
			r.retaining(retain, k)
			r.login = clients[mode].Credential
			r.oneTurn()
			r.succeeds(exited + `,"session":{"status":"retained","reference":"` + given + `"}`)
			var told map[string]string
			require.NoError(t, json.Unmarshal(r.scope.frame.Credential, &told))
			var want []string
			for _, m := range members {
				require.NotEmpty(t, told[m])
				want = append(want, told[m])
			}
			require.ElementsMatch(t, want, k.secrets)
		})
	}
}
