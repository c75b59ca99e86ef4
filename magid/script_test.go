package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// The scripts read like a terminal. Besides the usual commands they have
//
//	provider FILE           start a scripted model and set MAGI_BASE_URL and MAGI_MODEL
//	exits CODE magid …      run magid and expect this exit code
//	let NAME MEMBER         set a variable to a string member of the object that was just printed
//	object                  the last command printed exactly one JSON object
//	full ARGUMENT …         run magid with its output going to a full disk: it fails and says why
//
// rule: M-003, M-005, M-006, M-007, M-008, M-009, M-011, M-017, M-018, M-019, M-024, M-025, M-026
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "script"),
		Setup: setUpScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"provider": scriptProvider, "exits": scriptExits, "let": scriptLet, "object": scriptObject,
			"full": scriptFull,
		},
		RequireUniqueNames: true,
	})
}

func setUpScript(env *testscript.Env) error {
	dir, err := os.MkdirTemp("/tmp", "ms") // a socket's path is short
	if err != nil {
		return err
	}
	env.Vars = append(env.Vars,
		"PATH="+filepath.Dir(magid)+":"+os.Getenv("PATH"),
		"HOME="+env.WorkDir, "MAGI_STATE="+filepath.Join(env.WorkDir, "state"), "MAGI_SOCKET="+filepath.Join(dir, "magid.sock"),
		"MAGI_CONFIG="+filepath.Join(env.WorkDir, "config.toml"), "NO_PROXY=*", "TZ=UTC",
	)
	vars := append([]string(nil), env.Vars...)
	env.Defer(func() {
		stop := exec.Command(magid, "stop")
		stop.Env = vars
		if out, err := stop.CombinedOutput(); err != nil {
			env.T().Log(string(out), err)
		}
		if err := os.RemoveAll(dir); err != nil {
			env.T().Log(err)
		}
	})
	return os.MkdirAll(filepath.Join(env.WorkDir, "project"), 0o700)
}

func scriptProvider(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: provider FILE")
	}
	script, err := scripted.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	server, err := scripted.Start(scripted.Options{Script: script})
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Close()) })
	ts.Setenv("MAGI_BASE_URL", server.URL())
	ts.Setenv("MAGI_MODEL", "scripted")
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func scriptFull(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("sh", append([]string{"-c", `magid "$@" >/dev/full 2>said; echo $?`, "sh"}, args...)...))
	said := ts.ReadFile("said")
	if code := ts.ReadFile("stdout"); code != "1\n" || said != "magid: standard output could not be written: no space left on device\n" {
		ts.Fatalf("exit code %s%s", code, said)
	}
}

func scriptLet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: let NAME MEMBER")
	}
	var object map[string]jsontext.Value
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	var value string
	ts.Check(json.Unmarshal(object[args[1]], &value))
	ts.Setenv(args[0], value)
}

func scriptObject(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stdout")
	value := jsontext.Value(strings.TrimSuffix(text, "\n"))
	if !value.IsValid() || value.Kind() != '{' || !strings.HasSuffix(text, "\n") || strings.Contains(string(value), "\n") {
		ts.Fatalf("not one JSON object on one line:\n%s", text)
	}
}
