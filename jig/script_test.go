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
)

// The scripts read like a terminal. Besides the usual commands they have
//
//	exits CODE COMMAND …    run a command and expect this exit code
//	let NAME MEMBER         set a variable to a string member of the object that was just printed
//	object                  the last command printed exactly one JSON object
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "PATH="+filepath.Dir(jig)+":"+os.Getenv("PATH"), "HOME="+env.WorkDir, "LANG=C.UTF-8", "TZ=UTC")
			return nil
		},
		Cmds:               map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": scriptExits, "let": scriptLet, "object": scriptObject},
		RequireUniqueNames: true,
	})
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

func lastObject(ts *testscript.TestScript) map[string]jsontext.Value {
	line, ok := strings.CutSuffix(ts.ReadFile("stdout"), "\n")
	var object map[string]jsontext.Value
	if err := json.Unmarshal([]byte(line), &object); err != nil || !ok || strings.Contains(line, "\n") {
		ts.Fatalf("this is not one line with one object: %q", line)
	}
	return object
}

func scriptObject(ts *testscript.TestScript, _ bool, _ []string) { lastObject(ts) }

func scriptLet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: let NAME MEMBER")
	}
	var value string
	ts.Check(json.Unmarshal(lastObject(ts)[args[1]], &value))
	ts.Setenv(args[0], value)
}
