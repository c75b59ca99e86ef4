package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a folder of commands that is all the script finds, and a
// repository around the script.
type machine struct {
	t         *testing.T
	bin, root string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t, t.TempDir(), t.TempDir()}
	for _, name := range []string{"bash", "dirname", "cat"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(m.bin, name)))
	}
	script, err := os.ReadFile("setup")
	require.NoError(t, err)
	m.file("tools/setup", string(script))
	for _, name := range []string{"make", "gcc", "bwrap", "node", "npm"} {
		m.command(name, "exit 0")
	}
	m.command("go", "echo go1.26.0")
	m.command("id", "echo 0")
	m.command("apt-get", `echo "apt-get $*" >> "$LOG"`)
	return m
}

func (m *machine) command(name, body string) {
	m.t.Helper()
	file := filepath.Join(m.bin, name)
	require.NoError(m.t, os.WriteFile(file, []byte("#!"+filepath.Join(m.bin, "bash")+"\n"+body+"\n"), 0o700))
}

func (m *machine) lacks(name string) {
	m.t.Helper()
	require.NoError(m.t, os.Remove(filepath.Join(m.bin, name)))
}

func (m *machine) file(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.root, filepath.FromSlash(name))
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o700))
}

// setup runs the script and returns what it said, and what it had installed.
func (m *machine) setup(what string) (said, did string, err error) {
	m.t.Helper()
	log := filepath.Join(m.t.TempDir(), "log")
	cmd := exec.Command(filepath.Join(m.bin, "bash"), filepath.Join(m.root, "tools", "setup"), what)
	cmd.Env = []string{"PATH=" + m.bin, "LOG=" + log}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	data, readErr := os.ReadFile(log)
	if !os.IsNotExist(readErr) {
		require.NoError(m.t, readErr)
	}
	return out.String(), string(data), err
}

func TestSetupIsSilentWhereEverythingIsThere(t *testing.T) {
	for _, what := range []string{"demo", "test"} {
		said, did, err := newMachine(t).setup(what)
		require.NoError(t, err)
		// The headers and the certificates are the machine's that runs this test.
		if did == "" {
			require.Empty(t, said)
		}
	}
}

func TestSetupInstallsWhatIsMissingAsRoot(t *testing.T) {
	m := newMachine(t)
	m.lacks("gcc")
	m.lacks("bwrap")
	m.lacks("npm")
	said, did, err := m.setup("test")
	require.NoError(t, err)
	require.Contains(t, said, "setup: installing gcc")
	require.Contains(t, did, "apt-get update\napt-get install -y --no-install-recommends gcc")
	require.NotContains(t, did, "bubblewrap", "nothing here runs in a sandbox")
	require.NotContains(t, did, "npm", "nothing here is of npm")

	_, did, err = m.setup("demo")
	require.NoError(t, err)
	require.NotContains(t, did, "gcc", "the demo needs no compiler but Go's")

	m.file("jig/internal/sandbox/doc.go", "package sandbox")
	_, did, err = m.setup("test")
	require.NoError(t, err)
	require.Contains(t, did, "bubblewrap gcc")
	_, did, err = m.setup("demo")
	require.NoError(t, err)
	require.Contains(t, did, "bubblewrap")
}

func TestSetupInstallsNodeForTheExampleOfIt(t *testing.T) {
	m := newMachine(t)
	m.lacks("node")
	m.lacks("npm")
	_, did, err := m.setup("test")
	require.NoError(t, err)
	require.NotContains(t, did, "nodejs", "nothing here is of Node")

	m.file("magid/examples/companion-node/companion.mjs", "")
	_, did, err = m.setup("test")
	require.NoError(t, err)
	require.Contains(t, did, "nodejs")
	require.NotContains(t, did, "npm", "it has no dependencies")
	_, did, err = m.setup("demo")
	require.NoError(t, err)
	require.NotContains(t, did, "nodejs")
}

func TestSetupTellsOthersWhatToInstall(t *testing.T) {
	m := newMachine(t)
	m.lacks("gcc")
	m.command("id", "echo 1000")
	said, did, err := m.setup("test")
	require.Error(t, err)
	require.Contains(t, said, "setup: install first: gcc")
	require.Contains(t, said, "sudo apt-get install gcc")
	require.Empty(t, did)
}

func TestSetupShowsWhyInstallingFailed(t *testing.T) {
	m := newMachine(t)
	m.lacks("gcc")
	m.command("apt-get", "echo no such package; exit 100")
	said, _, err := m.setup("test")
	require.Error(t, err)
	require.Contains(t, said, "apt-get failed\nno such package")
}

func TestSetupAsksForGo(t *testing.T) {
	m := newMachine(t)
	m.command("go", "echo 'go.work requires go >= 1.26.0' >&2; exit 1")
	said, _, err := m.setup("demo")
	require.Error(t, err)
	require.Contains(t, said, "this Go is too old for the repository; Go 1.26 or newer is needed\ngo.work requires go >= 1.26.0")
	m.lacks("go")
	said, _, err = m.setup("demo")
	require.Error(t, err)
	require.Contains(t, said, "Go 1.26 or newer is needed")
}

func TestSetupHasTheNativeAgentsInstalled(t *testing.T) {
	m := newMachine(t)
	m.file("tools/native/package.json", "{}")
	m.lacks("node")
	m.command("go", `case $1 in run) echo "go $*" >> "$LOG";; *) echo go1.26.0;; esac`)
	_, did, err := m.setup("test")
	require.NoError(t, err)
	require.Contains(t, did, "nodejs")
	require.Contains(t, did, "go run ./tools/cmd/native\n")

	m.command("node", "exit 0")
	_, did, err = m.setup("demo")
	require.NoError(t, err)
	require.Contains(t, did, "go run ./tools/cmd/native -demo\n", "the demonstration needs one of them")

	m.command("go", `case $1 in run) echo "native: npm is needed" >&2; exit 1;; *) echo go1.26.0;; esac`)
	said, _, err := m.setup("test")
	require.Error(t, err)
	require.Contains(t, said, "native: npm is needed")
}
