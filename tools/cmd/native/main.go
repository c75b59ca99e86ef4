// Command native installs the real agents that tests run, at the versions that
// tools/native/package.json pins.
//
//	go run ./tools/cmd/native          all: Codex, Claude Code, Pi, and codex-acp
//	go run ./tools/cmd/native -demo    Codex only
//	go run ./tools/cmd/native -force   once more
//
// It is silent and quick when everything is there. What it makes, and where, is
// told by the documentation of the package:
//
//	go doc ./tools/internal/native
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/magi-jig/magi-jig/tools/internal/native"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 when everything is there, 1 when not, 2 for a
// mistake on the command line.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("native", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o := native.Options{Out: stderr}
	flags.BoolVar(&o.Demo, "demo", false, "install only what the demonstration runs: Codex")
	flags.BoolVar(&o.Force, "force", false, "install again what is there")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "native: %q is no flag\n", flags.Arg(0))
		return 2
	}
	root, err := workspace.Find(ctx, ".")
	if err == nil {
		o.Dir = filepath.Join(root, "tools", "native")
		err = native.Install(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(stderr, "native:", err)
		return 1
	}
	return 0
}
