package project

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

type vector struct {
	Name     string `json:"name"`
	Domain   string `json:"domain"`
	Preimage string `json:"preimage"`
	Digest   string `json:"digest"`
}

// The vectors were computed by another program.
//
// rule: J-099, J-101, J-102, J-105
func TestIdentitiesAreThoseOfTheGoldenVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/identities.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(raw, &vectors, json.RejectUnknownMembers(true)))
	seen := map[string]int{}
	for _, v := range vectors {
		sum := sha256.Sum256([]byte(v.Domain + "\x00" + v.Preimage))
		require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), v.Digest, v.Name)
		var got string
		switch seen[v.Domain]++; v.Domain {
		case "jig-request/0":
			var r Request
			require.NoError(t, json0.Decode([]byte(v.Preimage), &r), v.Name)
			got, err = r.Digest()
		case "jig-provider/0":
			var p Provider
			require.NoError(t, json0.Decode([]byte(v.Preimage), &p), v.Name)
			got, err = p.Digest()
		case "jig-session-scope/0":
			var s struct {
				Project   string          `json:"project"`
				Root      tree.Ancestor   `json:"root"`
				Ancestors []tree.Ancestor `json:"ancestors"`
				Slot      string          `json:"slot"`
				Provider  string          `json:"provider"`
			}
			require.NoError(t, json.Unmarshal([]byte(strings.NewReplacer(`"target"`, `"Target"`, `"request"`, `"Request"`).Replace(v.Preimage)), &s))
			got, err = SessionScope(s.Project, append([]tree.Ancestor{s.Root}, s.Ancestors...), s.Slot, s.Provider)
		}
		require.NoError(t, err)
		require.Equal(t, v.Digest, got, v.Name)
	}
	require.Equal(t, map[string]int{"jig-request/0": 2, "jig-provider/0": 2, "jig-session-scope/0": 2}, seen)
}

func provide() Provider {
	model, endpoint, mode, digest := "m", "https://api.example.org", "read-only", "sha256:"+strings.Repeat("a", 64)
	return Provider{
		Kind: KindACP, Contract: digest, Client: &model, Model: &model, Mode: "api", Endpoint: &endpoint, Adapter: &digest,
		Executable: &ProviderExecutable{"/opt/codex", digest}, Files: []ProviderFile{{"/lib/x", "library", digest}}, Argv: []string{"codex"},
		Env: map[string]string{"HOME": "/home/agent"}, Configuration: jsontext.Value(`[]`), ModeID: &mode,
	}
}

// rule: J-106
func TestEverythingOfAProviderIsInItsDigest(t *testing.T) {
	other := "other"
	base, err := provide().Digest()
	require.NoError(t, err)
	seen := map[string]string{base: "the base"}
	for name, change := range map[string]func(*Provider){
		"kind": func(p *Provider) { p.Kind = "x" }, "contract": func(p *Provider) { p.Contract = "x" }, "client": func(p *Provider) { p.Client = &other },
		"model": func(p *Provider) { p.Model = nil }, "mode": func(p *Provider) { p.Mode = "x" }, "endpoint": func(p *Provider) { p.Endpoint = &other },
		"proxy": func(p *Provider) { p.Proxy = &other }, "adapter": func(p *Provider) { p.Adapter = &other },
		"executable path":  func(p *Provider) { p.Executable = &ProviderExecutable{"x", p.Executable.Digest} },
		"executable bytes": func(p *Provider) { p.Executable = &ProviderExecutable{p.Executable.Path, "x"} },
		"helper":           func(p *Provider) { p.Helper = p.Executable }, "file": func(p *Provider) { p.Files = nil }, "role": func(p *Provider) { p.Files = []ProviderFile{{"/lib/x", "x", p.Files[0].Digest}} },
		"argv": func(p *Provider) { p.Argv = append(p.Argv, "x") }, "env": func(p *Provider) { p.Env = map[string]string{"HOME": "/x"} },
		"configuration": func(p *Provider) { p.Configuration = jsontext.Value(`[{"configId":"model","value":"m"}]`) },
		"modeId":        func(p *Provider) { p.ModeID = nil }, "startup": func(p *Provider) { p.Startup = true }, "nestedUserns": func(p *Provider) { p.NestedUserns = true }, "ca": func(p *Provider) { p.CA = &other },
	} {
		p := provide()
		change(&p)
		d, err := p.Digest()
		require.NoError(t, err)
		require.Empty(t, seen[d], "%s has the digest of %s", name, seen[d])
		seen[d] = name
	}
}

// rule: J-100
func TestARequestHasNoNameAndItsSettings(t *testing.T) {
	files := with(join(base, resource("flows/fetch", "web", contract.HTTPRequest)),
		"bindings/a.ts", binding("flows/fetch", `{"web":`+web+`}`),
		"bindings/renamed.ts", binding("flows/fetch", `{"web":`+web+`}`),
		"bindings/other.ts", binding("flows/fetch", `{"web":{"kind":"http","url":"https://example.org/x","method":"GET","timeoutMs":59999}}`))
	m := meaning(t, files)
	require.Equal(t, m.Targets["binding:a"].Request, m.Targets["binding:renamed"].Request)
	require.NotEqual(t, m.Targets["binding:a"].Request, m.Targets["binding:other"].Request, "the normal grant is part of it")

	set := with(base, "flows/x/FLOW.ts", code, "flows/x/settings.schema.json", `{"$schema":"https://flow.jig.md/schemas/schema-0.json"}`,
		"bindings/a.ts", `{"kind":"package","package":"flows/x","settings":{"a":1}}`,
		"bindings/b.ts", `{"kind":"package","package":"flows/x","settings":{"a":2}}`,
		"bindings/c.ts", `{"kind":"package","package":"flows/x","settings":{"a":1.0}}`)
	m = meaning(t, set)
	require.NotEqual(t, m.Targets["binding:a"].Request, m.Targets["binding:b"].Request)
	require.Equal(t, m.Targets["binding:a"].Request, m.Targets["binding:c"].Request)
}

// rule: J-094, J-095
func TestTheLockIsPortableCanonicalAndTheSameOnTwoMachines(t *testing.T) {
	files := with(join(base, caller("flows/call", "help"), provider("flows/one", "help"), resource("flows/fetch", "web", contract.HTTPRequest), map[string]string{"grants/docs.json": web}),
		"bindings/a.ts", binding("flows/fetch", `{"web":"grant:docs"}`),
		"bindings/b.ts", binding("flows/call", `{"helper":"flow:./flows/one"}`))
	dir := write(t, files)
	c, err := Load(t.Context(), options(t, dir))
	require.NoError(t, err)

	elsewhere := options(t, write(t, files))
	elsewhere.Bwrap = "/opt/other/bwrap"
	elsewhere.Environment = NewEnvironment([]string{"HOME=/other", "JIG_HTTPS_PROXY=http://proxy:1"})
	elsewhere.Reach = func() (*Reach, error) { return NewReach(elsewhere.Environment) }
	other, err := Load(t.Context(), elsewhere)
	require.NoError(t, err)
	require.Equal(t, string(c.Lock), string(other.Lock))

	lock, ends := strings.CutSuffix(string(c.Lock), "\n")
	require.True(t, ends)
	canonical, err := json0.Canonical([]byte(lock))
	require.NoError(t, err)
	require.Equal(t, string(canonical), lock)
	for _, secret := range []string{dir, "/usr/bin/bwrap", "sha256:" + strings.Repeat("0", 64), "TOKEN"} {
		require.NotContains(t, lock, secret)
	}
	var f map[string]jsontext.Value
	require.NoError(t, json0.Decode([]byte(lock), &f))
	require.Len(t, f, 4)
	require.JSONEq(t, "0", string(f["version"]))
	require.JSONEq(t, `{"flows/call":"`+c.Meaning.Packages["flows/call"]+`","flows/fetch":"`+c.Meaning.Packages["flows/fetch"]+`","flows/one":"`+c.Meaning.Packages["flows/one"]+`"}`, string(f["packages"]))
	var contracts map[string]contract.Identity
	require.NoError(t, json0.Decode(f["contracts"], &contracts))
	require.Equal(t, "https://example.org/help", contracts["binding:b#helper"].ID)
	require.Equal(t, "https://jig.md/contracts/http-request", contracts["binding:a#web"].ID)
	var bindings map[string]struct {
		Package  string                    `json:"package"`
		Settings jsontext.Value            `json:"settings"`
		Slots    map[string]jsontext.Value `json:"slots"`
	}
	require.NoError(t, json0.Decode(f["bindings"], &bindings))
	require.Equal(t, `"flow:flows/one"`, string(bindings["b"].Slots["helper"]))
	require.JSONEq(t, `{"kind":"http","url":"https://example.org/x","method":"GET","requestBytes":262144,"responseBytes":1048576,"timeoutMs":60000}`, string(bindings["a"].Slots["web"]))
}
