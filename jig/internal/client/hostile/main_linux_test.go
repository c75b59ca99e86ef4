package hostile

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/codex"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/client/pi"
)

// clients are the native protocols, as the jig binary has them.
var clients = map[string]adapter.Factory{"codex": codex.New, "claude": claude.New, "pi": pi.New}

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

const nativeCommand = "__native"

// place is where the test binary was copied to, so that everybody may run it.
var place string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case adapter.Command:
			os.Exit(adapter.Main(nil, clients))
		case nativeCommand:
			native(os.Args[2:])
		}
	}
	flag.Parse()
	var code int
	if err := func() (err error) {
		// Not below /tmp: Codex refuses a home there, and so does its adapter.
		if place, err = os.MkdirTemp("/var/tmp", "hostile-"); err != nil {
			return err
		}
		defer os.RemoveAll(place)
		if err := os.Chmod(place, 0o755); err != nil {
			return err
		}
		if err := copySelf(filepath.Join(place, "jig")); err != nil {
			return err
		}
		code = m.Run()
		return nil
	}(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func copySelf(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, self); err != nil {
		return err
	}
	return f.Close()
}

// each runs a test for every client.
func each(t *testing.T, run func(t *testing.T, client string)) {
	for _, client := range []string{"codex", "claude", "pi"} {
		t.Run(client, func(t *testing.T) { run(t, client) })
	}
}

// some runs a test whose subject is the adapter and not a protocol: for one client,
// and for every one in a long run.
func some(t *testing.T, run func(t *testing.T, client string)) {
	if *long {
		each(t, run)
		return
	}
	all := []string{"codex", "claude", "pi"}
	client := all[len(t.Name())%len(all)]
	t.Run(client, func(t *testing.T) { run(t, client) })
}

const secret = "sk-canary-4711"

var credentials = map[string]string{
	"codex":  `{"type":"apiKey","apiKey":"` + secret + `"}`,
	"claude": `{"variable":"ANTHROPIC_API_KEY","value":"` + secret + `"}`,
	"pi":     `{"openai":{"type":"api_key","key":"` + secret + `"}}`,
}

// config is what was reviewed for a client.
func config(client string) acpprofile.Config {
	c := acpprofile.Config{Client: client, MaxTurns: 8}
	switch client {
	case "codex":
		c.Configuration, c.ModeID = []acpprofile.Setting{{ID: "model", Value: "m-1"}}, "read-only"
	case "claude":
		c.ModeID = "default"
	case "pi":
		c.Configuration = []acpprofile.Setting{{ID: "model", Value: "openai/m-1"}}
	}
	return c
}

// nobody is the user that adapter and native program run as: nothing is unreadable
// to root, so what nobody may read has to be asked by somebody else.
func nobody() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// frame is a launch of the native program with one behaviour.
func frame(t *testing.T, client string, behaviour ...string) *launch.Frame {
	home, err := os.MkdirTemp(place, client+"-")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(home, "codex"), 0o700))
	if c := nobody(); c != nil {
		require.NoError(t, os.Chown(home, int(c.Uid), int(c.Gid)))
		require.NoError(t, os.Chown(filepath.Join(home, "codex"), int(c.Uid), int(c.Gid)))
	}
	return &launch.Frame{
		Client: client, Native: filepath.Join(place, "jig"),
		// The last of them are what an adapter reads of its client's arguments.
		Argv: append(append([]string{nativeCommand, client}, behaviour...), "--provider", "openai", "--model", "m-1"),
		Env: map[string]string{
			"HOME": home, "PATH": "/nonexistent", "CODEX_HOME": filepath.Join(home, "codex"),
			"CLAUDE_CONFIG_DIR": filepath.Join(home, "claude"), "PI_CODING_AGENT_DIR": filepath.Join(home, "pi"),
		},
		Credential: []byte(credentials[client]),
	}
}

// start starts an adapter with f.
func start(t *testing.T, f *launch.Frame) *adaptertest.Process {
	return adaptertest.Start(t, adaptertest.Spec{
		Command: []string{filepath.Join(place, "jig"), adapter.Command}, Frame: f, Config: config(f.Client), Dir: "/", Credential: nobody(),
	})
}

// open starts one and opens its conversation.
func open(t *testing.T, client string, behaviour ...string) *adaptertest.Process {
	p := start(t, frame(t, client, behaviour...))
	require.NoError(t, p.Open(config(client)))
	return p
}
