package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/magid/internal/daemon"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

var race = flag.Bool("race-daemon", false, "build the program under test with the race detector; bounds of memory then do not hold")

// magid is the program under test, built once.
var magid string

func TestMain(m *testing.M) {
	if step := os.Getenv("MAGID_TEST_DIE_AT"); step != "" {
		os.Exit(mortalDaemon(step))
	}
	if bytes := os.Getenv("MAGID_TEST_ECHO"); bytes != "" {
		fmt.Fprintln(os.Stderr, echo(os.Getenv("MAGI_SOCKET"), bytes))
		os.Exit(1)
	}
	if os.Getenv(keeperVariable) != "" {
		keeper(os.Stdin)
		os.Exit(0)
	}
	if magid = os.Getenv(abandonedVariable); magid != "" {
		os.Exit(m.Run())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	flag.Parse()
	dir, err := os.MkdirTemp("", "magid-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = errors.Join(os.RemoveAll(dir), letGo(dir)) }()
	if err := keep(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Another user runs it in some tests.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	magid = filepath.Join(dir, "magid")
	args := []string{"build", "-o", magid}
	if *race {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, ".")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	return m.Run()
}

// mortalDaemon is a daemon that dies by SIGKILL at the given durable step, counted from 1, or, with "torn:N",
// at the first one after its Nth write was cut short. Step 0 never comes.
func mortalDaemon(at string) int {
	torn := false
	if rest, ok := cutPrefix(at, "torn:"); ok {
		torn, at = true, rest
	}
	fatal, err := strconv.Atoi(at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	steps, writes, dying := 0, 0, false
	hook := func(step journal.Step) error {
		steps++
		switch {
		case dying, !torn && steps == fatal:
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // nothing more happens
		case torn && step == journal.StepWrite:
			if writes++; writes == fatal {
				dying = true
				return journal.ShortWrite(17)
			}
		}
		return nil
	}
	err = daemon.Serve(context.Background(), daemon.Options{
		Version: "0.0.0-test", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Hook: hook,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return s, false
	}
	return s[len(prefix):], true
}
