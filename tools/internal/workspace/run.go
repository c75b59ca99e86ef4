package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Go runs the go command in dir with env added to the environment, and returns
// what it printed on standard output. An error carries everything it printed.
func Go(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	return Run(ctx, dir, env, "go", args...)
}

// Run is Go for any command.
func Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := Command(ctx, dir, env, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(stderr.String() + "\n" + stdout.String())
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said)
	}
	return stdout.String(), nil
}

// Command prepares a command that is ended with its context: the terminate
// signal first, so that it can end its own children, and the kill signal ten
// seconds later.
func Command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
