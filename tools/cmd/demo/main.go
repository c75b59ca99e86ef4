// Command demo shows jig at work: a project is made, reviewed and run with a real
// Codex, whose model is a script on loopback. What it claims on the way it proves,
// and it leaves nothing behind.
//
//	go run ./tools/cmd/demo
//
// It needs bubblewrap, and the Codex that tools/cmd/native installs; make demo sees
// to both.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/magi-jig/magi-jig/tools/internal/demo"
	"github.com/magi-jig/magi-jig/tools/internal/native"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := workspace.Find(ctx, ".")
	if err != nil {
		return err
	}
	return demo.Run(ctx, demo.Options{Root: root, Agents: native.Folder(filepath.Join(root, "tools", "native")), Out: os.Stdout})
}
