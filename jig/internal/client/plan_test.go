package client

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

var common = map[string]string{
	"HOME": "/home/agent", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
}

// rule: J-197, J-198, J-199, J-200, J-201, J-202, J-183, F-182, J-209
func TestAClientsEnvironmentIsTheListedVariablesAndNoOther(t *testing.T) {
	o := newOperator(t).install().subscribe()
	o.set("HTTPS_PROXY", "http://ambient:1", "https_proxy", "http://ambient:1", "LD_LIBRARY_PATH", "/x", "LD_PRELOAD", "/x", "BUN_OPTIONS", "x", "NODE_OPTIONS", "x",
		"BUN_CONFIG_FILE", "x", "CODEX_SQLITE_HOME", "x", "EDITOR", "vi", "JIG_NO_PROXY", "alone.example")
	own := map[string]map[string]string{
		"codex":  {"CODEX_HOME": "/codex", "PATH": o.at("bin")},
		"claude": {"CLAUDE_CONFIG_DIR": "/home/agent/claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "PATH": "/nonexistent"},
		"pi":     {"PI_CODING_AGENT_DIR": "/home/agent/pi", "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1", "PATH": "/nonexistent"},
	}
	// Claude Code has switches of its own that keep it to one request a turn.
	pinned := []string{
		"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "CLAUDE_CODE_DISABLE_REFUSAL_RETRY",
		"CLAUDE_CODE_NO_MODEL_FALLBACK", "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP", "DISABLE_COMPACT",
	}
	check := func(client string, more map[string]string) {
		t.Helper()
		p := o.prepared(client, "")
		want := map[string]string{}
		for _, m := range []map[string]string{common, own[client], more} {
			maps.Copy(want, m)
		}
		got := map[string]string{}
		for k, v := range p.Plan.Env {
			if client != "claude" || !slices.Contains(pinned, k) {
				got[k] = v
			}
		}
		require.Equal(t, want, got)
		require.Equal(t, p.Plan.Env, p.Plan.Provider.Env)
		for k, v := range p.Plan.Env {
			require.NotContains(t, k+v, canary)
			require.False(t, strings.HasPrefix(v, "/tmp/"), "%s lies below /tmp", k)
		}
	}
	for client := range own {
		check(client, nil)
	}
	o.set("JIG_HTTPS_PROXY", "http://proxy.example:3128", "ANTHROPIC_API_KEY", "k-"+canary, "ANTHROPIC_MODEL", "m", "ANTHROPIC_BASE_URL", "https://gateway.example/")
	proxy := map[string]string{"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "alone.example"}
	check("codex", proxy)
	check("pi", proxy)
	proxy["ANTHROPIC_BASE_URL"] = "https://gateway.example"
	check("claude", proxy)

	// The installation's own helper stays off PATH.
	require.NoError(t, os.Remove(o.at("bin/bwrap")))
	o.file("bin/codex-resources/bwrap", elf("bundled"), 0o755)
	p := o.prepared("codex", "")
	require.Equal(t, "/nonexistent", p.Plan.Env["PATH"])
	require.Equal(t, o.at("bin/codex-resources/bwrap"), p.Plan.Provider.Helper.Path)
}

// rule: J-203, J-204, J-136, J-184, F-197, F-189
func TestAScopeHoldsTheClientItsOwnFilesAndNothingElse(t *testing.T) {
	o := newOperator(t).install().subscribe()
	for client, files := range map[string][]string{
		"codex":  {"bin/codex", "bin/bwrap"},
		"claude": {"bin/claude"},
		"pi":     {"bin/pi", "bin/package.json", "bin/theme/dark.json", "bin/theme/light.json"},
	} {
		p := o.prepared(client, "").Plan
		want := []sandbox.Bind{{Source: "/agent/of/this/test", Dest: "/agent/jig"}}
		for _, f := range files {
			want = append(want, sandbox.Bind{Source: o.at(f), Dest: o.at(f)})
		}
		require.Equal(t, want[0], p.Binds[0])
		require.ElementsMatch(t, want, p.Binds)
		require.Equal(t, o.at("bin/"+client), p.Native)

		tmpfs := []sandbox.Tmpfs{{Dest: "/tmp", Bytes: 256 << 20}, {Dest: "/home/agent", Bytes: 256 << 20}, {Dest: "/work", Bytes: 256 << 20}}
		if client == "codex" {
			tmpfs = append(tmpfs, sandbox.Tmpfs{Dest: "/codex", Bytes: 256 << 20}, sandbox.Tmpfs{Dest: "/codex/sessions", Bytes: 16 << 20})
		}
		require.Equal(t, tmpfs, p.Tmpfs)
		require.Equal(t, client == "codex", p.NestedUserns)

		data := map[string]string{}
		for _, d := range p.Data {
			data[d.Dest] = string(d.Content)
			require.NotContains(t, string(d.Content), canary)
		}
		require.Contains(t, data["/etc/nsswitch.conf"], "hosts: files dns\n")
		require.Equal(t, "agent:x:1000:1000:agent:/home/agent:/nonexistent\n", data["/etc/passwd"])
		require.Equal(t, "agent:x:1000:\n", data["/etc/group"])
		require.True(t, strings.HasPrefix(data["/etc/hosts"], "127.0.0.1 localhost jig\n"))
		require.Contains(t, data, "/etc/resolv.conf")
		require.Contains(t, data, "/etc/ssl/certs/ca-certificates.crt")
		require.Equal(t, client == "codex", data["/etc/codex/requirements.toml"] != "")
		require.Len(t, data, map[string]int{"codex": 7, "claude": 6, "pi": 6}[client])
		if client == "codex" {
			var r map[string]any
			require.NoError(t, toml.Unmarshal([]byte(data["/etc/codex/requirements.toml"]), &r))
			require.Equal(t, map[string]any{"allowed_approval_policies": []any{"on-request"}, "allowed_sandbox_modes": []any{"read-only", "workspace-write"}}, r)
			sum := sha256.Sum256([]byte(data["/etc/codex/requirements.toml"]))
			require.Contains(t, p.Provider.Files, project.ProviderFile{Path: "/etc/codex/requirements.toml", Role: "requirements", Digest: fmt.Sprintf("sha256:%x", sum)})
		}
	}
}

// rule: J-178, J-193, N-027, N-038, F-010, F-029
func TestEachClientIsStartedInItsOwnWay(t *testing.T) {
	o := newOperator(t).install().subscribe()
	p := o.prepared("codex", "").Plan
	require.Equal(t, []string{"app-server"}, p.Argv)
	require.Empty(t, p.Configuration)
	require.JSONEq(t, `[]`, string(p.Provider.Configuration))
	require.Equal(t, "read-only", p.ModeID)
	require.Nil(t, p.Provider.Model)
	require.Nil(t, p.Provider.Endpoint)
	p = o.prepared("codex", "gpt-x").Plan
	require.Equal(t, []acpprofile.Setting{{ID: "model", Value: "gpt-x"}}, p.Configuration)
	require.JSONEq(t, `[{"configId":"model","value":"gpt-x"}]`, string(p.Provider.Configuration))
	require.Contains(t, strings.Join(p.Argv, " "), `model="gpt-x"`)
	other := o.prepared("codex", "gpt-y").Plan
	require.NotEqual(t, p.Digest, other.Digest)
	require.NotEqual(t, p.Configuration, other.Configuration)
	o.set("OPENAI_API_KEY", canary, "OPENAI_MODEL", "m", "OPENAI_BASE_URL", "https://gateway.example/v1")
	p = o.prepared("codex", "").Plan
	require.Contains(t, strings.Join(p.Argv, " "), "https://gateway.example/v1")
	require.Equal(t, "https://gateway.example/v1", *p.Provider.Endpoint)

	p = o.prepared("claude", "").Plan
	require.Empty(t, p.Configuration)
	require.Equal(t, "default", p.ModeID)
	require.Equal(t, "default", *p.Provider.Model)
	argv := strings.Join(p.Argv, "\x00") + "\x00"
	for _, part := range []string{
		"-p\x00", "--input-format\x00stream-json\x00", "--output-format\x00stream-json\x00", "--verbose\x00", "--include-partial-messages\x00", "--model\x00default\x00",
		"--strict-mcp-config\x00", "--setting-sources\x00\x00", "--tools\x00\x00", "--disable-slash-commands\x00", "--no-session-persistence\x00",
	} {
		require.Contains(t, argv, part)
	}

	p = o.prepared("pi", "").Plan
	require.Equal(t, []acpprofile.Setting{{ID: "model", Value: "anthropic/m1"}}, p.Configuration)
	require.Empty(t, p.ModeID)
	require.Nil(t, p.Provider.ModeID)
	require.Equal(t, []string{
		"--mode", "rpc", "--no-session", "--no-tools", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files", "--no-approve",
		"--offline", "--provider", "anthropic", "--model", "m1",
	}, p.Argv)
	require.Equal(t, "anthropic/m1", *p.Provider.Model)
}

// rule: F-195, P-130
func TestAProviderIsEverythingThatWasDecidedAndNoSecret(t *testing.T) {
	o := newOperator(t).install().subscribe()
	own, err := contract.Bundle(contract.FiniteACP)
	require.NoError(t, err)
	modes := map[string]bool{}
	see := func(client string) {
		t.Helper()
		c := o.opened(client, "")
		p := c.Provider
		modes[p.Mode] = true
		require.Equal(t, p.Mode, c.Authentication)
		require.Equal(t, project.KindACP, p.Kind)
		require.Equal(t, own.Identity.Digest, p.Contract)
		require.Equal(t, nativeinspect.Client(client).Identity(), *p.Client)
		require.Equal(t, jigDigest, *p.Adapter)
		require.Equal(t, o.at("bin/"+client), p.Executable.Path)
		sum := sha256.Sum256([]byte(elf(client)))
		require.Equal(t, fmt.Sprintf("sha256:%x", sum), p.Executable.Digest)
		require.Equal(t, client == "codex", p.Helper != nil)
		require.True(t, p.Startup)
		require.Equal(t, client == "codex", o.prepared(client, "").Plan.Login)
		raw, err := json.Marshal(c)
		require.NoError(t, err)
		require.NotContains(t, string(raw), canary)
		ready := o.prepared(client, "")
		raw, err = json.Marshal(ready.Plan)
		require.NoError(t, err)
		require.NotContains(t, string(raw), canary)
		require.NotContains(t, fmt.Sprintf("%+v", ready), canary)
		digest, err := p.Digest()
		require.NoError(t, err)
		require.Equal(t, digest, ready.Plan.Digest, "a run comes to the identity that the review did")
	}
	see("codex")
	see("claude")
	see("pi")
	o.set("PI_API_KEY", canary, "OPENAI_API_KEY", canary, "OPENAI_MODEL", "m", "ANTHROPIC_API_KEY", canary, "ANTHROPIC_MODEL", "m")
	see("codex")
	see("claude")
	see("pi")
	o.unset("ANTHROPIC_API_KEY").set("ANTHROPIC_AUTH_TOKEN", canary)
	see("claude")
	require.Equal(t, map[string]bool{
		"openai-subscription": true, "openai-responses-api-key": true, "claude-subscription": true, "anthropic-api-key": true, "anthropic-auth-token": true,
		"pi-subscription": true, "pi-api-key": true,
	}, modes)
}

// rule: F-196
func TestRotatingACredentialKeepsTheIdentity(t *testing.T) {
	o := newOperator(t).install().subscribe()
	for client, rotate := range map[string]func(){
		"codex": func() {
			o.file("home/.codex/auth.json", codexLogin(token(now.Add(2*time.Hour).Unix(), "other"), "other"), 0o600)
		},
		"claude": func() { o.set("CLAUDE_CODE_OAUTH_TOKEN", "another-"+canary) },
		"pi":     func() { o.file("home/.pi/agent/auth.json", piLogin("anthropic", now.Add(2*time.Hour)), 0o600) },
	} {
		admitted := o.opened(client, "")
		rotate()
		o.set("TERM", "x", "LANG", "y", "HOME", o.home)
		p, err := o.prepare(client, "", admitted, time.Time{})
		require.NoError(t, err, client)
		require.NotEmpty(t, p.Credential.JSON())
		require.Equal(t, admitted.Provider, o.opened(client, "").Provider)
	}
	o.set("OPENAI_API_KEY", "one-"+canary, "OPENAI_MODEL", "m")
	admitted := o.opened("codex", "")
	o.set("OPENAI_API_KEY", "two-"+canary)
	_, err := o.prepare("codex", "", admitted, time.Time{})
	require.NoError(t, err)
}

// rule: J-093, J-092
func TestAClientAtAProtectedPathIsAnInstallationFault(t *testing.T) {
	tmp := t.TempDir() // below /tmp, where the scope has memory of its own
	if !strings.HasPrefix(tmp, "/tmp/") {
		tmp = "/tmp/jig-client-test"
		require.NoError(t, os.MkdirAll(tmp, 0o755))
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(tmp)) })
	}
	o := newOperator(t).install().subscribe()
	for _, name := range []string{"codex", "claude", "pi", "bwrap"} {
		require.NoError(t, os.WriteFile(tmp+"/"+name, []byte(elf(name)), 0o755))
	}
	bin := o.env["PATH"]
	o.set("PATH", tmp+":"+bin)
	for _, c := range everyClient {
		code := o.code(string(c), "")
		require.Equal(t, Code(c, StageInstallation), code)
	}
	// The helper alone is one too.
	o.set("CODEX_PATH", o.at("bin/codex"))
	require.Equal(t, "PROJECT_ACP_CODEX_INSTALLATION", o.code("codex", ""))
	for _, p := range Protected() {
		require.True(t, strings.HasPrefix(p, "/"), p)
	}
	for _, p := range []string{"/proc", "/dev", "/tmp", "/work", "/codex", "/home/agent", "/agent", "/etc/codex", "/etc/ssl/certs/ca-certificates.crt", "/etc/hosts"} {
		require.Contains(t, Protected(), p)
	}
}

// complaint: B3.37 gi-dellav/zerostack#115 - a resolv.conf that is a link into /run broke DNS or the start
//
// rule: J-204
func TestComplaintB3_37Zerostack115ALinkedResolvConfIsItsContent(t *testing.T) {
	o := newOperator(t).install().subscribe()
	opener := o.opener()
	look := func() (*machine, string) {
		m := opener.at.look(reach(t, o.environment()))
		var texts []string
		for _, w := range m.warnings {
			require.Equal(t, project.CodeACPUnavailable, w.Code)
			texts = append(texts, w.Message)
		}
		return m, strings.Join(texts, "|")
	}
	opener.at = places{resolv: o.at("etc/resolv.conf"), hosts: o.at("etc/hosts"), bundles: []string{o.at("etc/none.pem"), o.at("etc/bundle.pem")}}
	o.dir("etc")
	_, warned := look()
	require.Contains(t, warned, "resolv.conf is missing")
	require.Contains(t, warned, "no bundle of certificates")
	require.NotContains(t, warned, o.root)

	o.file("run/x/stub.conf", "nameserver 192.0.2.1\n", 0o644)
	require.NoError(t, os.Symlink("../run/x/stub.conf", o.at("etc/second.conf")))
	require.NoError(t, os.Symlink("second.conf", o.at("etc/resolv.conf")))
	o.file("etc/hosts", "192.0.2.9 gateway.example\n", 0o644)
	o.file("etc/bundle.pem", "certificates", 0o644)
	m, warned := look()
	require.Empty(t, warned)
	require.Equal(t, "nameserver 192.0.2.1\n", string(m.resolv))
	require.Equal(t, "127.0.0.1 localhost jig\n::1 localhost\n192.0.2.9 gateway.example\n", string(m.hosts))
	require.Equal(t, "certificates", string(m.bundle))

	for n, fine := range map[int]bool{maxResolvBytes - 1: true, maxResolvBytes: true, maxResolvBytes + 1: false} {
		o.file("run/x/stub.conf", strings.Repeat("#", n), 0o644)
		m, warned = look()
		require.Equal(t, fine, warned == "", "%d", n)
		require.Equal(t, fine, len(m.resolv) == n, "%d", n)
	}
}

// complaint: B3.40 anthropics/claude-code#24916 - a private authority was ignored
func TestComplaintB3_40ClaudeCode24916TheOperatorsBundleIsTheOneInTheScope(t *testing.T) {
	o := newOperator(t).install().subscribe()
	without := o.opened("claude", "")
	require.Nil(t, without.Provider.CA)
	bundle := authority(t)
	o.set("SSL_CERT_FILE", o.file("ca.pem", string(bundle), 0o644))
	with := o.opened("claude", "")
	require.NotNil(t, with.Provider.CA)
	parts, _ := o.changed("claude", "", without)
	require.Equal(t, []string{PartCA}, parts)
	i := slices.IndexFunc(o.prepared("claude", "").Plan.Data, func(d sandbox.Data) bool { return d.Dest == BundlePath })
	require.Equal(t, bundle, o.prepared("claude", "").Plan.Data[i].Content)
	require.Equal(t, BundlePath, with.Provider.Env["SSL_CERT_FILE"])
}

// rule: P-190, F-203
func TestAnErrorThatOnlyLooksLikeARefusalIsUnclassified(t *testing.T) {
	o := newOperator(t).install().subscribe()
	for _, err := range []error{
		errors.New("PROJECT_ACP_CODEX_LOGIN: " + canary),
		forged{"EXECUTABLE"},
		fmt.Errorf("disk: %w", os.ErrPermission),
		&nativeinspect.Refusal{Client: "codex", Stage: "LOGIN", Reason: nativeinspect.Reason(canary)},
		&nativeinspect.Refusal{Client: "codex", Stage: nativeinspect.StageUnavailable, Reason: nativeinspect.ReasonInputOutput},
	} {
		require.Equal(t, "PROJECT_ACP_UNAVAILABLE", o.codeOf(inspection("codex", err)), "%v", err)
	}
	_, err := Resolve("other", "", project.NewEnvironment(nil))
	require.Equal(t, "PROJECT_ACP_UNAVAILABLE", o.codeOf(err))
}

// authority is a certificate of a throw-away authority.
func authority(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// forged carries a code that it was not given by this package.
type forged struct{ Code string }

func (f forged) Error() string { return f.Code }
