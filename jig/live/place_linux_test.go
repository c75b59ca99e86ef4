package live_test

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// The clients, and what selects each with a key.
const (
	codex  = "codex"
	claude = "claude"
	pi     = "pi"
)

var clients = []string{codex, claude, pi}

// place is a project with the ordinary Agent, and a Flow that speaks the protocol
// itself, both of which are lent one client.
type place struct {
	testing.TB
	client string
	dir    string
	env    []string
	key    string // the secret
	model  *model
}

//go:embed testdata/probe.ts
var probe string

// emptyPlace is a folder without a project, and an environment with the client.
func emptyPlace(t testing.TB, client string, script ...string) *place {
	t.Helper()
	p := &place{TB: t, client: client, key: "sk-canary-" + rand.Text(), model: newModel(t, script...)}
	native := filepath.Join(base, "native")
	home := t.TempDir()
	p.dir = filepath.Join(home, "project")
	p.env = []string{
		"PATH=" + strings.Join([]string{native + "/codex/node_modules/.bin", native + "/claude/node_modules/.bin", native + "/pi", "/usr/bin", "/bin"}, ":"),
		"HOME=" + home, "LANG=C.UTF-8", "SSL_CERT_FILE=" + p.model.authority,
	}
	switch client {
	case codex:
		p.env = append(p.env, "OPENAI_API_KEY="+p.key, "OPENAI_BASE_URL="+p.model.url, "OPENAI_MODEL=gpt-5.1")
	case claude:
		p.env = append(p.env, "ANTHROPIC_API_KEY="+p.key, "ANTHROPIC_BASE_URL="+p.model.origin, "ANTHROPIC_MODEL=claude-scripted-1")
	case pi:
		p.env = append(p.env, "PI_API_KEY="+p.key, "PI_PROVIDER=openai", "PI_MODEL=gpt-5.1")
	}
	return p
}

// newPlace is a project in which the client is lent; more is members of its grant.
func newPlace(t testing.TB, client, more string) *place {
	t.Helper()
	p := emptyPlace(t, client)
	o := p.in(filepath.Dir(p.dir)).jig("init", p.dir, "--client", client)
	require.Equal(t, 0, o.exit, "%s", o)
	grant := fmt.Sprintf(`{ kind: "acp", client: %q%s }`, client, more)
	files := map[string]string{
		"flows/probe/FLOW.ts":            probe,
		"flows/probe/FLOW.meta.json":     `{"name":"probe","uses":{"native":{"contract":"./contracts/contract.json"}}}`,
		"flows/probe/FLOW.contract.json": probeContract,
		"bindings/probe.ts":              binding("probe", grant),
		"bindings/agent.ts":              binding("agent", grant),
	}
	for name, b := range contract.BundleFiles(contract.FiniteACP) {
		files["flows/probe/contracts/"+filepath.Base(name)] = string(b)
	}
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	o = p.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(t, 0, o.exit, "%s", o)
	require.Empty(t, p.model.requests(), "a review sends nothing to a model")
	return p
}

const probeContract = `{"$schema":"https://flow.jig.md/schemas/invocation-contract-0.schema.json"}`

func binding(flow, grant string) string {
	return fmt.Sprintf("import { defineBinding } from \"@jigging/jig\"\nexport default defineBinding({ package: \"flows/%s\", slots: { native: %s } })\n", flow, grant)
}

// in is the place with another working folder.
func (p *place) in(dir string) *place {
	other := *p
	other.dir = dir
	return &other
}

// outcome is how a command ended.
type outcome struct {
	p              *place
	stdout, stderr string
	exit           int
	took           time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("exit %d after %v\n%s\n%s", o.exit, o.took, o.stdout, o.stderr)
}

// member is one of the record on standard output.
func (o outcome) member(path ...string) string {
	o.p.Helper()
	v := jsontext.Value(o.stdout)
	for _, name := range path {
		if i, err := strconv.Atoi(name); err == nil {
			var list []jsontext.Value
			require.NoError(o.p, json.Unmarshal(v, &list), "%s", o)
			require.Less(o.p, i, len(list), "%s", o)
			v = list[i]
			continue
		}
		var m map[string]jsontext.Value
		require.NoError(o.p, json.Unmarshal(v, &m), "%s of %s", name, o)
		v = m[name]
	}
	return strings.TrimSpace(string(v))
}

// ends wants an exit code, and a status of the record.
func (o outcome) ends(exit int, status string) outcome {
	o.p.Helper()
	require.Equal(o.p, exit, o.exit, "%s", o)
	require.Equal(o.p, `"`+status+`"`, o.member("status"), "%s", o)
	return o
}

func (p *place) jig(args ...string) outcome {
	p.Helper()
	return p.start(args...).wait()
}

// agent runs the ordinary Agent once.
func (p *place) agent(instructions string, more ...string) outcome {
	p.Helper()
	input, err := json.Marshal(map[string]string{"instructions": instructions})
	require.NoError(p, err)
	if len(more) == 0 {
		more = []string{"--timeout", "60s"}
	}
	return p.jig(append([]string{"run", "binding:agent", "--input", string(input)}, more...)...)
}

// probe runs the Flow that speaks the protocol itself; see testdata/probe.ts.
func (p *place) probe(input string, more ...string) outcome {
	p.Helper()
	return p.startProbe(input, more...).wait()
}

func (p *place) startProbe(input string, more ...string) *running {
	p.Helper()
	return p.start(append([]string{"run", "binding:probe", "--timeout", "60s", "--input", input}, more...)...)
}

// running is a command under way.
type running struct {
	p      *place
	cmd    *exec.Cmd
	began  time.Time
	stdout bytes.Buffer
	stderr *watched
	done   chan error
}

func (p *place) start(args ...string) *running {
	p.Helper()
	r := &running{p: p, cmd: exec.Command(filepath.Join(base, "jig"), args...), began: time.Now(), stderr: newWatched(), done: make(chan error, 1)}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = p.dir, p.env, &r.stdout, r.stderr
	require.NoError(p, r.cmd.Start())
	go func() { r.done <- r.cmd.Wait() }()
	p.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			<-r.done
		}
	})
	return r
}

// wait ends with the command, and with the checks that every command has to stand:
// nothing of it is left, and nothing that it said or kept holds the secret.
func (r *running) wait() outcome {
	r.p.Helper()
	err := <-r.done
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(r.p, err)
	}
	o := outcome{r.p, r.stdout.String(), r.stderr.String(), r.cmd.ProcessState.ExitCode(), time.Since(r.began)}
	r.p.clean(o)
	return o
}

// says waits until standard error holds text.
func (r *running) says(text string) {
	r.p.Helper()
	if !r.stderr.holds(text, time.Minute) {
		r.p.Fatalf("%q is not in %s", text, r.stderr)
	}
}

// clean looks for what a command must not leave behind.
func (p *place) clean(o outcome) {
	p.Helper()
	require.NotContains(p, o.stdout, p.key)
	require.NotContains(p, o.stderr, p.key)
	require.NotContains(p, o.stdout+o.stderr, "scripted refusal words", "the words of a provider")
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(p.key)) {
			err = errors.New(path + " holds the secret")
		}
		return err
	})
	require.NoError(p, err)
	runs, err := os.ReadDir(filepath.Join(p.dir, ".jig", "runs"))
	if !os.IsNotExist(err) {
		require.NoError(p, err)
		require.Empty(p, runs, "the folder of a run is left")
	}
	require.Empty(p, strangers(p), "processes are left")
}

// strangers are the processes below this one and in its network namespace that
// belong to jig. What loses its parent becomes a child of this process, so nobody
// escapes, and the processes of others at work on this machine do not count.
func strangers(t testing.TB) (found []string) {
	own, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		at := filepath.Join("/proc", e.Name())
		command, err := os.ReadFile(filepath.Join(at, "cmdline"))
		if err != nil || len(command) == 0 {
			continue
		}
		net, err := os.Readlink(filepath.Join(at, "ns", "net"))
		name, _, _ := strings.Cut(string(command), "\x00")
		switch {
		case err == nil && net != own, !below(e.Name()):
		case e.Name() == strconv.Itoa(os.Getpid()), strings.HasPrefix(name, base+"/model"):
		case err == nil, strings.Contains(string(command), "/agent/jig"):
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// below says whether a process has this one among its ancestors.
func below(pid string) bool {
	for range 64 {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if err != nil || len(fields) < 2 {
			return false // it has ended
		}
		switch pid = fields[1]; pid {
		case strconv.Itoa(os.Getpid()):
			return true
		case "0", "1":
			return false
		}
	}
	return false
}

// watched collects output and tells when something is there.
type watched struct {
	mu   sync.Mutex
	all  bytes.Buffer
	more chan struct{} // closed and replaced at every write
}

func newWatched() *watched { return &watched{more: make(chan struct{})} }

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.more)
	w.more = make(chan struct{})
	return w.all.Write(b)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

func (w *watched) holds(text string, within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		w.mu.Lock()
		found, more := strings.Contains(w.all.String(), text), w.more
		w.mu.Unlock()
		if found {
			return true
		}
		select {
		case <-more:
		case <-late.C:
			return false
		}
	}
}
