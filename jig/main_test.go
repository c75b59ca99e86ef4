package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// jig is the program under test, built once; scripts the folder of its scripts.
var (
	jig     string
	scripts = filepath.Join("testdata", "script")
)

const nobody = 65534

// TestMain builds the program and runs the tests as whoever it is, and where that
// is root once more as an ordinary user: the two ways into a scope differ.
func TestMain(m *testing.M) {
	flag.Parse()
	if jig = os.Getenv("JIG_TEST_PROGRAM"); jig != "" {
		scripts = os.Getenv("JIG_TEST_SCRIPTS")
		os.Exit(m.Run())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "jig-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	jig = filepath.Join(dir, "jig")
	build := exec.Command("go", "build", "-trimpath", "-o", jig, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// A benchmark compares with what it measures beside itself, whoever that is.
	benchmark := flag.Lookup("test.bench").Value.String() != ""
	if code := m.Run(); code != 0 || os.Geteuid() != 0 || benchmark {
		return code
	}
	if err := asNobody(dir); err != nil {
		fmt.Fprintln(os.Stderr, "as an ordinary user:", err)
		return 1
	}
	return 0
}

// asNobody runs the tests of this very program as an ordinary user.
func asNobody(dir string) error {
	self, home, copied := filepath.Join(dir, "jig.test"), filepath.Join(dir, "home"), filepath.Join(dir, "script")
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.WriteFile(self, b, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(copied, os.DirFS(scripts)); err != nil {
		return err
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		return err
	}
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile") && !strings.HasPrefix(a, "-test.coverprofile") && !strings.HasPrefix(a, "-test.gocoverdir") &&
			!strings.HasPrefix(a, "-test.outputdir") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "JIG_TEST_PROGRAM="+jig, "JIG_TEST_SCRIPTS="+copied, "HOME="+home, "TMPDIR="+home)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd.Run()
}

// place is a project on disk.
type place struct {
	t   testing.TB
	dir string
	env []string
}

const (
	// data is a project as data: nothing has to be evaluated for it.
	data  = `{"flows":{"kind":"discover","roots":["flows"]},"bindings":{"kind":"discover","roots":["bindings"]}}`
	hello = "import { handle } from \"@jigging/flow\"\nawait handle(async (run) => ({ outcome: \"done\", output: `Hello, ${typeof run.input === \"string\" ? run.input : \"world\"}!` }))\n"
)

// flow is the text of a Flow whose handler has this body.
func flow(body string) string {
	return "import { handle, OperationError } from \"@jigging/flow\"\nawait handle(async (run) => {\n" + body + "\n})\n"
}

func newPlace(t testing.TB, files map[string]string) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := &place{t: t, dir: filepath.Join(dir, "project"), env: []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LANG=C.UTF-8"}}
	p.write(map[string]string{"jig.json": data})
	p.write(files)
	return p
}

// reviewed is a project that has been approved.
func reviewed(t testing.TB, files map[string]string) *place {
	t.Helper()
	p := newPlace(t, files)
	p.approve()
	return p
}

func (p *place) write(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(p.t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (p *place) approve() outcome {
	p.t.Helper()
	o := p.jig("review", "--yes", "--allow-authority-changes")
	require.Equal(p.t, 0, o.exit, "%s", o)
	return o
}

// outcome is how a command ended.
type outcome struct {
	t      testing.TB
	stdout string
	stderr string
	exit   int
	took   time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("exit %d\n%s\n%s", o.exit, o.stdout, o.stderr)
}

// record is the one line on standard output.
func (o outcome) record() map[string]jsontext.Value {
	o.t.Helper()
	line, ok := strings.CutSuffix(o.stdout, "\n")
	require.True(o.t, ok && !strings.Contains(line, "\n"), "one line: %q", o.stdout)
	return record(o.t, line)
}

func record(t testing.TB, line string) map[string]jsontext.Value {
	t.Helper()
	var r map[string]jsontext.Value
	require.NoError(t, json0.Decode([]byte(line), &r), "%q", line)
	canonical, err := json0.Canonical([]byte(line))
	require.NoError(t, err)
	require.Equal(t, string(canonical), line, "canonical")
	return r
}

// is checks members of the record: name, JSON, name, JSON, …
func (o outcome) is(exit int, members ...string) outcome {
	o.t.Helper()
	require.Equal(o.t, exit, o.exit, "%s", o)
	r := o.record()
	for i := 0; i < len(members); i += 2 {
		require.Equal(o.t, members[i+1], string(r[members[i]]), "%s of %s", members[i], o)
	}
	return o
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(jig, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

func (p *place) jig(args ...string) outcome { return p.start(p.command(args...)).wait() }

// running is a command that is under way.
type running struct {
	p              *place
	cmd            *exec.Cmd
	began          time.Time
	stdout, stderr *watched
	ended          bool
}

func (p *place) start(cmd *exec.Cmd) *running {
	p.t.Helper()
	r := &running{p: p, cmd: cmd, stdout: newWatched(), stderr: newWatched(), began: time.Now()}
	if cmd.Stdout == nil {
		cmd.Stdout = r.stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = r.stderr
	}
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() {
		if !r.ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return r
}

func (r *running) wait() outcome {
	r.p.t.Helper()
	err := r.cmd.Wait()
	r.ended = true
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		require.NoError(r.p.t, err)
	}
	o := outcome{r.p.t, r.stdout.String(), r.stderr.String(), r.cmd.ProcessState.ExitCode(), time.Since(r.began)}
	if r.cmd.Stdout == io.Writer(r.stdout) {
		validate(r.p.t, r.cmd.Args[1:], o.stdout)
	}
	return o
}

// says waits until standard error holds text.
func (r *running) says(text string) {
	r.p.t.Helper()
	require.True(r.p.t, r.stderr.holds(text, 30*time.Second), "%q in %q", text, r.stderr.String())
}

// watched collects output and tells when something is there.
type watched struct {
	mu   sync.Mutex
	all  bytes.Buffer  // guarded by mu
	more chan struct{} // replaced and closed at every write; guarded by mu
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

// eventuallyExists waits until a file is there.
func eventuallyExists(path string) bool {
	for range 3000 {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
