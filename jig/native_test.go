package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

const canary = "canary5ecret"

// installed is a folder with native clients that nobody may run: whoever runs one
// finds a folder that says so. No client may lie below /tmp, where a scope has its
// own.
type installed struct {
	t   *testing.T
	dir string
}

func install(t *testing.T) *installed {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "jig-native-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	n := &installed{t, dir}
	for _, name := range []string{"codex", "claude", "pi", "bwrap"} {
		n.program(name, name)
	}
	n.write("package.json", `{"name":"@earendil-works/pi-coding-agent","version":"0.84.4"}`)
	n.write("theme/dark.json", "{}")
	n.write("theme/light.json", "{}")
	t.Cleanup(func() { require.NoDirExists(t, n.at("ran"), "a native program was run") })
	return n
}

func (n *installed) at(name string) string { return filepath.Join(n.dir, name) }

func (n *installed) write(name, text string) {
	n.t.Helper()
	require.NoError(n.t, os.MkdirAll(filepath.Dir(n.at(name)), 0o755))
	require.NoError(n.t, os.WriteFile(n.at(name), []byte(text), 0o644))
}

// program is a native program that makes the folder ran beside it and ends. filler
// tells two of them apart.
func (n *installed) program(name, filler string) {
	n.t.Helper()
	const base = 0x400000
	code := []byte{
		0xb8, 83, 0, 0, 0, // mkdir
		0x48, 0x8d, 0x3d, 16, 0, 0, 0, // of the text after the code
		0xbe, 0xed, 1, 0, 0, 0x0f, 0x05, // 0755
		0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05, // exit 0
	}
	body := append(append(code, n.at("ran")+"\x00"...), filler...)
	b := make([]byte, 64+56, 64+56+len(body))
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)                   // EXEC
	le.PutUint16(b[18:], 62)                  // x86-64
	le.PutUint32(b[20:], 1)                   // version
	le.PutUint64(b[24:], base+uint64(len(b))) // entry
	le.PutUint64(b[32:], 64)                  // program headers
	le.PutUint16(b[52:], 64)                  // their place and sizes
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], 1) // LOAD, readable and executable
	le.PutUint32(b[68:], 5)
	le.PutUint64(b[80:], base)
	le.PutUint64(b[88:], base)
	le.PutUint64(b[96:], uint64(len(b)+len(body)))
	le.PutUint64(b[104:], uint64(len(b)+len(body)))
	le.PutUint64(b[112:], 4096)
	require.NoError(n.t, os.WriteFile(n.at(name), append(b, body...), 0o755))
}

// The trace that the other tests look for is one that a program leaves.
func TestAProgramThatIsRunLeavesItsTrace(t *testing.T) {
	n := install(t)
	require.NoError(t, exec.Command(n.at("claude")).Run())
	require.DirExists(t, n.at("ran"))
	require.NoError(t, os.Remove(n.at("ran")))
}

const lend = `import { defineBinding } from "@jigging/jig"
export default defineBinding({ package: "./flows/agent", slots: { native: %s } })
`

// agents is a project with two Bindings that are lent clients, and one Flow that is
// not.
func agents(codex, claude string) map[string]string {
	files := map[string]string{
		"flows/agent/FLOW.ts":        flow(`return { outcome: "done", output: "started" }`),
		"flows/agent/FLOW.meta.json": `{"uses":{"native":{}}}`,
		"flows/hello/FLOW.ts":        hello,
	}
	if codex != "" {
		files["bindings/one.ts"] = fmt.Sprintf(lend, codex)
	}
	if claude != "" {
		files["bindings/two.ts"] = fmt.Sprintf(lend, claude)
	}
	return files
}

// with gives p the clients of n and credentials for all of them.
func (p *place) with(n *installed, more ...string) *place {
	outer, err := exec.LookPath("bwrap")
	require.NoError(p.t, err)
	p.env = append([]string{"PATH=" + n.dir + ":/usr/bin:/bin", "JIG_BWRAP_PATH=" + outer}, p.env[1:]...)
	p.env = append(p.env, "OPENAI_API_KEY=sk-"+canary, "OPENAI_MODEL=gpt-op", "CLAUDE_CODE_OAUTH_TOKEN=oauth-"+canary, "PI_API_KEY=pi-"+canary, "PI_PROVIDER=mistral", "PI_MODEL=pi-op")
	p.env = append(p.env, more...)
	return p
}

// clean looks for a secret in everything that jig wrote.
func (p *place) clean(outcomes ...outcome) {
	p.t.Helper()
	for _, o := range outcomes {
		require.NotContains(p.t, o.String(), canary)
	}
	require.NoError(p.t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/bin/") {
			return err
		}
		b, err := os.ReadFile(path)
		require.NotContains(p.t, string(b), canary, path)
		return err
	}))
}

func grants(o outcome) []map[string]any {
	o.t.Helper()
	var list []map[string]any
	require.NoError(o.t, json0.Decode(o.record()["grants"], &list))
	return list
}

// rule: F-004, J-042, F-195
func TestAReviewShowsWhoIsLentWhichClient(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents(`{ kind: "acp", client: "codex", model: "gpt-x", maxTurns: 3, retainSessions: true }`, `{ kind: "acp", client: "claude" }`)).with(n)
	o := p.jig("review", "--yes")
	o.is(2, "status", `"approval-required"`)
	require.Contains(t, o.stdout, "JIG_AUTHORITY_APPROVAL_REQUIRED")
	plan := p.jig("review", "--plan")
	o = p.approve()
	require.Equal(t, []map[string]any{
		{"binding": "one", "slot": "native", "client": "codex", "model": "gpt-x", "authentication": "openai-responses-api-key", "executable": n.at("codex"), "maxTurns": 3.0,
			"retainSessions": true, "origin": map[string]any{"client": "project", "model": "project"}},
		{"binding": "two", "slot": "native", "client": "claude", "model": "default", "authentication": "claude-subscription", "executable": n.at("claude"), "maxTurns": 1.0,
			"retainSessions": false, "origin": map[string]any{"client": "project", "model": "client"}},
	}, grants(o))
	require.Equal(t, grants(o), grants(plan))
	for _, text := range []string{
		"! + grant       binding:one#native", "binding:one#native is lent codex client codex, from the project model gpt-x, from the project sign-in openai-responses-api-key",
		"executable " + n.at("codex"), "endpoint https://api.openai.com/v1 prompts 3 at most in a conversation sessions may be kept",
		"binding:two#native is lent claude client claude, from the project model default, its own choice",
	} {
		require.Contains(t, strings.Join(strings.Fields(o.stderr), " "), strings.Join(strings.Fields(text), " "))
	}
	p.jig("review").is(0, "status", `"unchanged"`)
	details := p.jig("review", "--details")
	for _, text := range []string{
		"executable " + n.at("codex") + " sha256:", "helper " + n.at("bwrap") + " sha256:", "file requirements /etc/codex/requirements.toml sha256:", "jig's adapter sha256:",
		`argument "app-server"`, "variable CODEX_HOME=/codex", "variable CLAUDE_CONFIG_DIR=/home/agent/claude",
	} {
		require.Contains(t, strings.Join(strings.Fields(details.stderr), " "), text)
	}
	p.clean(o, plan, details, p.jig("status"), p.jig("inspect", "codex"), p.jig("doctor", "pi"))
}

// rule: F-011, F-025
func TestAChangedModelOrAllowanceNeedsApprovalAgain(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents(`{ kind: "acp", client: "claude" }`, "")).with(n)
	p.approve()
	for _, grant := range []string{
		`{ kind: "acp", client: "claude", model: "opus" }`, `{ kind: "acp", client: "claude", model: "sonnet" }`, `{ kind: "acp", client: "claude" }`,
		`{ kind: "acp", client: "claude", maxTurns: 2 }`, `{ kind: "acp", client: "claude", retainSessions: true }`,
	} {
		p.write(agents(grant, ""))
		o := p.jig("review", "--yes").is(2, "status", `"approval-required"`)
		require.Contains(t, o.stdout, "JIG_AUTHORITY_APPROVAL_REQUIRED")
		p.approve()
	}
}

// rule: F-201, F-202, F-204, P-188, P-192
func TestOneBrokenClientRefusesTheReviewAndLeavesWhatWasApproved(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents(`{ kind: "acp", client: "codex" }`, "")).with(n)
	p.approve()
	before := p.jig("status").is(0).record()["generation"]

	p.write(agents("", `{ kind: "acp", client: "claude" }`))
	p.write(map[string]string{"flows/hello/FLOW.ts": flow(`return { outcome: "done", output: "later" }`)})
	require.NoError(t, os.Remove(n.at("claude")))
	for _, args := range [][]string{{"review", "--yes", "--allow-authority-changes"}, {"review", "--plan"}, {"review"}} {
		o := p.jig(args...).is(1, "status", `"failed"`)
		require.Contains(t, o.stdout, `"code":"PROJECT_ACP_CLAUDE_EXECUTABLE"`)
		require.Contains(t, o.stdout, `"path":"flows/agent/FLOW.ts"`)
		require.Contains(t, o.stdout, `; then retry review; no Flow was started"`)
		require.NotContains(t, o.stdout, "INTERNAL")
	}
	require.Equal(t, string(before), string(p.jig("status").is(0).record()["generation"]))
	p.jig("run", "flow:flows/hello").is(0, "output", `"Hello, world!"`)

	// An unchanged project is refused too, while its client is broken.
	p = newPlace(t, agents(`{ kind: "acp", client: "pi" }`, "")).with(n)
	p.approve()
	n.write("theme/dark.json", "x")
	require.NoError(t, os.Remove(n.at("theme/dark.json")))
	o := p.jig("review").is(1, "status", `"failed"`)
	require.Equal(t, 1, strings.Count(o.stdout, `"code":"PROJECT_ACP_PI_INSTALLATION"`), "once, with its place and its correction: %s", o.stdout)
	require.Contains(t, o.stdout, "; jig inspect pi shows where the file is; ")
	// A Flow that is lent nothing does not care.
	p.jig("run", "flow:flows/hello").is(0)
	o = p.jig("run", "binding:one").is(2, "code", `"REVIEW_REQUIRED"`)
	require.Contains(t, o.stdout, `"changed":["support files"]`)
}

// rule: J-089, J-090, P-180, P-218
func TestARunIsRefusedWhereAClientIsNotAsItWasReviewed(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents(`{ kind: "acp", client: "codex" }`, `{ kind: "acp", client: "claude" }`)).with(n)
	p.approve()
	plain := slices.Clone(p.env)
	refused := func(target string, parts string) {
		t.Helper()
		o := p.jig("run", target).is(2, "code", `"REVIEW_REQUIRED"`)
		require.Equal(t, `{"changed":[`+parts+`],"flowStarted":false,"reason":"EXECUTION_ENVIRONMENT_CHANGED"}`, string(o.record()["details"]))
		p.jig("run", "flow:flows/hello").is(0)
		p.clean(o)
	}
	for variable, part := range map[string]string{
		"OPENAI_MODEL=other": `"model"`, "OPENAI_BASE_URL=https://x.example/v1": `"endpoint"`,
	} {
		p.env = append(slices.Clone(plain), variable)
		refused("binding:one", part)
	}
	p.env = append(slices.Clone(plain), "ANTHROPIC_AUTH_TOKEN=x", "ANTHROPIC_MODEL=default", "ANTHROPIC_BASE_URL=https://api.anthropic.com")
	refused("binding:two", `"endpoint","mode"`)
	p.env = append(slices.Clone(plain), "JIG_HTTPS_PROXY=http://p.example:1")
	refused("binding:one", `"proxy"`)
	p.env = append(slices.Clone(plain), "OPENAI_API_KEY=", "TERM=x")
	o := p.jig("run", "binding:one").is(1, "code", `"PROJECT_ACP_CODEX_API"`)
	require.Contains(t, o.stdout, "no Flow was started")
	p.env = plain

	n.program("codex", "c0dex")
	refused("binding:one", `"executable"`)
	n.program("codex", "codex")
	n.program("bwrap", "another")
	refused("binding:one", `"helper"`)
	require.NoError(t, os.Remove(n.at("claude")))
	refused("binding:two", `"executable"`)
	p.jig("runs").is(0)
	require.NotContains(t, p.jig("runs").stdout, "binding:")
}

// complaint: B6.53 openclaw/openclaw#124858 - what was replaced while an approval was pending ran with it
//
// rule: P-218
func TestComplaintB6_53Openclaw124858AClientThatWasReplacedIsAnotherPlan(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents("", `{ kind: "acp", client: "claude" }`)).with(n)
	digest := func() string {
		return strings.Trim(string(p.jig("review", "--plan").is(0).record()["digest"]), `"`)
	}
	shown := digest()
	require.Equal(t, shown, digest())
	n.program("claude", "replaced")
	o := p.jig("review", "--approve", shown).is(1)
	require.Contains(t, o.stdout, `"code":"STALE_PLAN"`)
	p.jig("run", "binding:two").is(2, "code", `"ADMISSION_MISSING"`)
	p.jig("review", "--approve", digest()).is(0, "status", `"approved"`)
	n.program("claude", "replaced again")
	p.jig("run", "binding:two").is(2, "code", `"REVIEW_REQUIRED"`)
}

// rule: J-091
func TestAnUpgradeOfJigAsksForAReviewOfItsClients(t *testing.T) {
	n := install(t)
	p := newPlace(t, agents(`{ kind: "acp", client: "claude" }`, "")).with(n)
	p.approve()
	b, err := os.ReadFile(jig)
	require.NoError(t, err)
	later := filepath.Join(t.TempDir(), "jig")
	require.NoError(t, os.WriteFile(later, append(b, "a later one"...), 0o755))
	cmd := exec.Command(later, "run", "binding:one")
	cmd.Dir, cmd.Env = p.dir, p.env
	o := p.start(cmd).wait().is(2, "code", `"REVIEW_REQUIRED"`)
	require.Contains(t, o.stdout, "a jig upgrade does this")
	require.Contains(t, o.stdout, `"changed":["adapter"]`)
	cmd = exec.Command(later, "review", "--plan")
	cmd.Dir, cmd.Env = p.dir, p.env
	o = p.start(cmd).wait().is(0)
	require.Contains(t, o.stdout, `"kind":"provider"`)
	require.Contains(t, o.stdout, `"after":{"adapter":"sha256:`)
}

// rule: J-083, J-084, J-086, J-087, J-055, F-005
func TestAReviewMayChooseAnotherClient(t *testing.T) {
	n := install(t)
	files := agents(`{ kind: "acp", client: "codex", model: "gpt-x", maxTurns: 3 }`, `{ kind: "acp", client: "claude", model: "opus" }`)
	files["jig.json"] = strings.TrimSuffix(data, "}") + `,"agents":["claude","codex"]}`
	p := newPlace(t, files).with(n)
	p.approve()
	o := p.jig("review", "--agent", "claude", "--yes", "--allow-authority-changes").is(0, "status", `"approved"`)
	list := grants(o)
	require.Equal(t, "claude", list[0]["client"])
	require.Equal(t, "default", list[0]["model"])
	require.Equal(t, 3.0, list[0]["maxTurns"])
	require.Equal(t, map[string]any{"client": "argument", "model": "client"}, list[0]["origin"])
	require.Equal(t, "opus", list[1]["model"], "kept for the client it was written for")
	require.Equal(t, map[string]any{"client": "argument", "model": "project"}, list[1]["origin"])
	require.Contains(t, strings.Join(strings.Fields(o.stderr), " "), "is lent claude client claude, from --agent; the project has codex with model gpt-x, which is dropped model default, its own choice")
	require.Contains(t, o.stdout, "the model gpt-x was written for codex and is not used with claude")
	require.Contains(t, o.stdout, `"kind":"grant"`)
	require.NotContains(t, o.stdout, `"kind":"lock"`)

	// Without the argument the project's own client comes back, as a change.
	o = p.jig("review", "--plan").is(0, "status", `"approval-required"`)
	require.Equal(t, "codex", grants(o)[0]["client"])
	p.approve()
	p.jig("review").is(0, "status", `"unchanged"`)

	require.Contains(t, newPlace(t, nil).jig("review", "--agent", "pi", "--plan").is(0).stderr, "--agent changes nothing")
	p.jig("review", "--agent", "pi").is(2, "status", `"failed"`)
	require.Contains(t, p.jig("review", "--agent", "pi").stdout, "JIG_USAGE")
	for _, args := range [][]string{{"review", "--agent", "gemini"}, {"review", "--agent", ""}, {"review", "--agent"}, {"run", "binding:one", "--agent", "claude"}, {"review", "--agent", "claude", "--agent", "claude"}} {
		o := p.jig(args...)
		require.Equal(t, 2, o.exit, args)
		require.Contains(t, o.stdout, `"code":"JIG_USAGE"`, args)
	}
}
