package client

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

func env(pairs ...string) project.Environment {
	var entries []string
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, pairs[i]+"="+pairs[i+1])
	}
	return project.NewEnvironment(entries)
}

func resolved(t *testing.T, c nativeinspect.Client, grant string, pairs ...string) Profile {
	t.Helper()
	p, err := Resolve(c, grant, env(pairs...))
	require.NoError(t, err)
	return p
}

// refused is the stage that a configuration is refused at.
func refused(t *testing.T, c nativeinspect.Client, grant string, pairs ...string) string {
	t.Helper()
	_, err := Resolve(c, grant, env(pairs...))
	var r *project.Refusal
	require.ErrorAs(t, err, &r)
	require.NotContains(t, r.Diagnostics[0].Message+r.Diagnostics[0].Hint, canary)
	return strings.TrimPrefix(r.Diagnostics[0].Code, "PROJECT_ACP_"+strings.ToUpper(string(c))+"_")
}

// rule: P-002, P-008, P-014, P-130, F-009, F-194
func TestCodexIsASubscriptionWithoutAVariableOfTheAPI(t *testing.T) {
	for name, c := range map[string]struct {
		grant, variable, model, from string
	}{
		"nothing":              {"", "", "", project.ModelFromClient},
		"the variable":         {"", "gpt-x", "gpt-x", project.ModelFromOperator},
		"the grant":            {"gpt-y", "", "gpt-y", project.ModelFromGrant},
		"the grant before all": {"gpt-y", "gpt-x", "gpt-y", project.ModelFromGrant},
	} {
		p := resolved(t, nativeinspect.Codex, c.grant, "CODEX_MODEL", c.variable, "JIG_AGENT_CLIENT", "claude", "JIG_AGENT_MODEL", "x", "ANTHROPIC_API_KEY", "k")
		require.Equal(t, Profile{Client: "codex", Mode: ModeOpenAISubscription, Model: c.model, ModelFrom: c.from}, p, name)
	}
}

// rule: P-003, P-009, P-010, P-189, P-190, F-190
func TestAnyVariableOfTheAPIMakesCodexUseIt(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL", "OPENAI_API"} {
		require.Equal(t, "MODEL", refused(t, nativeinspect.Codex, "", name, ""), "%s, set and empty", name)
	}
	require.Equal(t, "MODEL", refused(t, nativeinspect.Codex, "", "OPENAI_API_KEY", canary))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Codex, "", "OPENAI_API_KEY", "", "CODEX_MODEL", "the subscription's"))
	require.Equal(t, "API", refused(t, nativeinspect.Codex, "", "OPENAI_MODEL", "m"))
	require.Equal(t, "API", refused(t, nativeinspect.Codex, "m", "OPENAI_API", "responses"))
	ready := []string{"OPENAI_API_KEY", canary, "OPENAI_MODEL", "m"}
	require.Equal(t, Profile{Client: "codex", Mode: ModeOpenAIKey, Model: "m", ModelFrom: "operator", Endpoint: "https://api.openai.com/v1"}, resolved(t, nativeinspect.Codex, "", ready...))
	require.Equal(t, "granted", resolved(t, nativeinspect.Codex, "granted", ready...).Model)
	require.Equal(t, "granted", resolved(t, nativeinspect.Codex, "granted", "OPENAI_API_KEY", canary).Model)
	require.Equal(t, ModeOpenAIKey, resolved(t, nativeinspect.Codex, "", append(ready, "OPENAI_API", "responses")...).Mode)
	for _, api := range []string{"chat-completions", "chat", "", "Responses"} {
		require.Equal(t, "API", refused(t, nativeinspect.Codex, "", append(ready, "OPENAI_API", api)...), "%q", api)
	}
}

// rule: P-004, P-005, P-011, P-012, F-191, P-130
func TestClaudeHasOneCredentialAndOneMode(t *testing.T) {
	require.Equal(t, Profile{Client: "claude", Mode: ModeClaudeSubscription, Model: "default", ModelFrom: "client"}, resolved(t, nativeinspect.Claude, ""))
	require.Equal(t, "sonnet", resolved(t, nativeinspect.Claude, "", "CLAUDE_MODEL", "sonnet").Model)
	require.Equal(t, "opus", resolved(t, nativeinspect.Claude, "opus", "CLAUDE_MODEL", "sonnet").Model)
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL"} {
		require.Equal(t, "MODEL", refused(t, nativeinspect.Claude, "", name, "", "CLAUDE_MODEL", "the subscription's"), "%s, set and empty", name)
	}
	// Both credentials are looked at before the model, and the model before none.
	require.Equal(t, "API", refused(t, nativeinspect.Claude, "", "ANTHROPIC_API_KEY", canary, "ANTHROPIC_AUTH_TOKEN", canary))
	require.Equal(t, "API", refused(t, nativeinspect.Claude, "", "ANTHROPIC_API_KEY", canary, "ANTHROPIC_AUTH_TOKEN", canary, "ANTHROPIC_MODEL", "m"))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Claude, "", "ANTHROPIC_API_KEY", canary))
	require.Equal(t, "API", refused(t, nativeinspect.Claude, "", "ANTHROPIC_MODEL", "m"))
	require.Equal(t, "API", refused(t, nativeinspect.Claude, "m", "ANTHROPIC_API_KEY", "", "ANTHROPIC_AUTH_TOKEN", ""))
	require.Equal(t, Profile{Client: "claude", Mode: ModeAnthropicKey, Model: "m", ModelFrom: "project", Endpoint: "https://api.anthropic.com"},
		resolved(t, nativeinspect.Claude, "m", "ANTHROPIC_API_KEY", canary, "ANTHROPIC_AUTH_TOKEN", ""))
	require.Equal(t, Profile{Client: "claude", Mode: ModeAnthropicToken, Model: "m", ModelFrom: "operator", Endpoint: "https://gateway.example/v1"},
		resolved(t, nativeinspect.Claude, "", "ANTHROPIC_API_KEY", "", "ANTHROPIC_AUTH_TOKEN", canary, "ANTHROPIC_MODEL", "m", "ANTHROPIC_BASE_URL", "https://gateway.example/v1/"))
}

// rule: P-006, P-007, P-013, P-088, F-192, F-193, P-130
func TestPiNeedsAProviderAndAModelInEitherMode(t *testing.T) {
	require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, ""))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "m"))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "", "PI_PROVIDER", "anthropic"))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "", "PI_PROVIDER", "anthropic", "PI_API_KEY", canary))
	require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "", "PI_MODEL", "m", "PI_API_KEY", canary))
	require.Equal(t, Profile{Client: "pi", Mode: ModePiSubscription, Provider: "openai-codex", Model: "m", ModelFrom: "operator"},
		resolved(t, nativeinspect.Pi, "", "PI_PROVIDER", "openai-codex", "PI_MODEL", "m"))
	require.Equal(t, "granted", resolved(t, nativeinspect.Pi, "granted", "PI_PROVIDER", "anthropic", "PI_MODEL", "m").Model)
	require.Equal(t, "LOGIN", refused(t, nativeinspect.Pi, "", "PI_PROVIDER", "openai", "PI_MODEL", "m"), "no subscription of Pi's")
	require.Equal(t, Profile{Client: "pi", Mode: ModePiKey, Provider: "openai", Model: "m", ModelFrom: "operator"},
		resolved(t, nativeinspect.Pi, "", "PI_PROVIDER", "openai", "PI_MODEL", "m", "PI_API_KEY", canary))
	require.Equal(t, "API", refused(t, nativeinspect.Pi, "", "PI_PROVIDER", "anthropic", "PI_MODEL", "m", "PI_API_KEY", ""), "set and empty selects the API")
	require.Equal(t, "API", refused(t, nativeinspect.Pi, "", "PI_PROVIDER", "anthropic", "PI_MODEL", "m", "PI_API_KEY", "!cat "+canary), "a command is no key")

	provider := func(s string) []string { return []string{"PI_PROVIDER", s, "PI_MODEL", "m", "PI_API_KEY", canary} }
	for _, fine := range []string{"a", "a1", "a.b_c-d", strings.Repeat("p", 127), strings.Repeat("p", 128)} {
		require.Equal(t, fine, resolved(t, nativeinspect.Pi, "", provider(fine)...).Provider)
	}
	for _, bad := range []string{"A", "a b", "a/b", "ä", strings.Repeat("p", 129)} {
		require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "", provider(bad)...), bad)
	}
	for n, fine := range map[int]bool{254: true, 255: true, 256: false} { // with "a/" one more than 256 at the last
		_, err := Resolve(nativeinspect.Pi, strings.Repeat("m", n-1), env("PI_PROVIDER", "a", "PI_API_KEY", canary))
		require.Equal(t, fine, err == nil, n)
	}
}

// rule: P-189
func TestAModelOfAVariableHasTheFormOfAGrants(t *testing.T) {
	for _, bad := range []string{".m", "m m", "-m", "mö", "m\n", strings.Repeat("m", 257)} {
		require.Equal(t, "MODEL", refused(t, nativeinspect.Codex, "", "CODEX_MODEL", bad), "%q", bad)
		require.Equal(t, "MODEL", refused(t, nativeinspect.Claude, "", "ANTHROPIC_MODEL", bad, "ANTHROPIC_API_KEY", canary), "%q", bad)
		require.Equal(t, "MODEL", refused(t, nativeinspect.Pi, "", "PI_MODEL", bad, "PI_PROVIDER", "anthropic"), "%q", bad)
	}
	for _, fine := range []string{"m", "0", "a._:/+-", strings.Repeat("m", 255), strings.Repeat("m", 256)} {
		require.Equal(t, fine, resolved(t, nativeinspect.Codex, "", "CODEX_MODEL", fine).Model)
	}
}

// rule: J-207, P-086, P-003
func TestABaseURLIsHTTPSAndNothingButAnAddress(t *testing.T) {
	clients := map[nativeinspect.Client][]string{
		nativeinspect.Codex:  {"OPENAI_API_KEY", canary, "OPENAI_MODEL", "m", "OPENAI_BASE_URL"},
		nativeinspect.Claude: {"ANTHROPIC_API_KEY", canary, "ANTHROPIC_MODEL", "m", "ANTHROPIC_BASE_URL"},
	}
	long := func(n int) string { return "https://x.example/" + strings.Repeat("p", n-len("https://x.example/")) }
	for client, pairs := range clients {
		for raw, want := range map[string]string{
			"https://x.example":           "https://x.example",
			"https://x.example/":          "https://x.example",
			"https://x.example/v1/":       "https://x.example/v1",
			"https://x.example//":         "https://x.example/",
			"https://x.example:8443/a/b":  "https://x.example:8443/a/b",
			"https://[::1]:8443/v1":       "https://[::1]:8443/v1",
			long(4095):                    long(4095),
			long(4096):                    long(4096),
			"https://127.0.0.1:8443/v1/x": "https://127.0.0.1:8443/v1/x",
		} {
			require.Equal(t, want, resolved(t, client, "", append(pairs, raw)...).Endpoint)
		}
		for _, bad := range []string{
			"", "x.example", "//x.example", "http://x.example", "http://127.0.0.1:1", "HTTP://x.example", "ftp://x.example", "https:x.example", "https://", "https:///v1",
			"https://" + canary + "@x.example", "https://u:p@x.example", "https://x.example?a=" + canary, "https://x.example/?", "https://x.example/#" + canary, "https://x.example#",
			"https://x.example/ a", "https://x.example/\n", "https://exämple.org/", long(4097), "https://x.example/%zz",
		} {
			require.Equal(t, "API", refused(t, client, "", append(pairs, bad)...), "%q", bad)
		}
	}
}

// rule: P-085
func TestAKeyCanBeSent(t *testing.T) {
	for _, c := range []struct {
		client   nativeinspect.Client
		variable string
		pairs    []string
	}{
		{nativeinspect.Codex, "OPENAI_API_KEY", []string{"OPENAI_MODEL", "m"}},
		{nativeinspect.Claude, "ANTHROPIC_API_KEY", []string{"ANTHROPIC_MODEL", "m"}},
		{nativeinspect.Claude, "ANTHROPIC_AUTH_TOKEN", []string{"ANTHROPIC_MODEL", "m"}},
		{nativeinspect.Pi, "PI_API_KEY", []string{"PI_MODEL", "m", "PI_PROVIDER", "p"}},
	} {
		for _, fine := range []string{"k", strings.Repeat("k", 16<<10-1), strings.Repeat("k", 16<<10)} {
			resolved(t, c.client, "", append(c.pairs, c.variable, fine)...)
		}
		for _, bad := range []string{"", " ", "\t\n", "k\x00k", " k", "k\n", "k\x7fk", "\xff", strings.Repeat("k", 16<<10+1)} {
			require.Equal(t, "API", refused(t, c.client, "", append(c.pairs, c.variable, bad)...), "%s %q", c.variable, bad[:min(len(bad), 10)])
		}
	}
}

// rule: F-008
func TestAGrantsModelReplacesNothingButTheModel(t *testing.T) {
	for client, pairs := range map[nativeinspect.Client][]string{
		nativeinspect.Codex:  {"OPENAI_API_KEY", canary, "OPENAI_MODEL", "m", "OPENAI_BASE_URL", "https://x.example/v1"},
		nativeinspect.Claude: {"ANTHROPIC_AUTH_TOKEN", canary, "ANTHROPIC_MODEL", "m"},
		nativeinspect.Pi:     {"PI_PROVIDER", "anthropic", "PI_MODEL", "m"},
	} {
		with, without := resolved(t, client, "granted", pairs...), resolved(t, client, "", pairs...)
		require.Equal(t, "granted", with.Model)
		with.Model, with.ModelFrom = without.Model, without.ModelFrom
		require.Equal(t, without, with)
	}
}

func FuzzResolveNeverPanicsAndNeverSaysASecret(f *testing.F) {
	f.Add("codex", "m", "OPENAI_API_KEY", canary, "OPENAI_BASE_URL", "https://x.example")
	f.Add("claude", "", "ANTHROPIC_AUTH_TOKEN", canary, "ANTHROPIC_BASE_URL", "http://u:p@x")
	f.Add("pi", "a/b", "PI_PROVIDER", "p", "PI_API_KEY", "!")
	f.Fuzz(func(t *testing.T, client, grant, name1, value1, name2, value2 string) {
		p, err := Resolve(nativeinspect.Client(client), grant, env(name1, value1, name2, value2))
		if err == nil {
			if p.Mode == "" || p.Model != "" && !validModel(p.Model) || p.Endpoint != "" && !strings.HasPrefix(p.Endpoint, "https://") {
				t.Fatalf("%+v", p)
			}
			return
		}
		var r *project.Refusal
		require.ErrorAs(t, err, &r)
		for _, secret := range []string{value1, value2} {
			if len(secret) > 12 && strings.Contains(r.Diagnostics[0].Message, secret) {
				t.Fatal("a refusal repeats a value")
			}
		}
	})
}
