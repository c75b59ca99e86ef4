// Command jig reviews a project's Flows, runs them in a sandbox, and lends them
// what their review granted.
//
// Inside a scope the same program has other first arguments; nobody calls those by
// hand.
package main

import (
	"fmt"
	"os"

	"github.com/magi-jig/magi-jig/jig/internal/cli"
	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/codex"
	"github.com/magi-jig/magi-jig/jig/internal/client/pi"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	_ "github.com/magi-jig/magi-jig/jig/internal/prefault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// natives are the native protocols that the adapter speaks.
var natives = map[string]adapter.Factory{"codex": codex.New, "claude": claude.New, "pi": pi.New}

func main() {
	args := os.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case cli.FlowCommand:
			os.Exit(engine.FlowMain(args[1:]))
		case cli.CompileCommand:
			os.Exit(engine.CompileMain(args[1:]))
		case project.DeclareCommand:
			os.Exit(engine.DeclareMain(args[1:]))
		case adapter.Command:
			os.Exit(adapter.Main(args[1:], natives))
		case sandbox.ProbeCommand:
			fmt.Println(sandbox.ProbeAnswer)
			return
		}
	}
	os.Exit(cli.Main(args, os.Stdin, os.Stdout, os.Stderr))
}
