package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// layout changes whenever this package makes something else of the same pins.
const layout = "1"

// Options say what to install, and where. It is a value.
type Options struct {
	// Dir is the folder of package.json: tools/native of the repository.
	Dir string
	// Demo installs Codex only, which is what the demonstration runs.
	Demo bool
	// Force installs what is there already once more.
	Force bool
	// Out is told what is done. Nothing is written when all is there.
	Out io.Writer
}

// Folder is where the agents of dir lie.
func Folder(dir string) string { return filepath.Join(dir, "installed") }

// Install installs what the pins of o.Dir name. It does nothing when that is
// there.
func Install(ctx context.Context, o Options) error {
	want, err := digest(o.Dir)
	if err != nil {
		return err
	}
	if !o.Force && there(o.Dir, want, o.Demo) {
		return nil
	}
	unlock, err := lock(ctx, o.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	if !o.Force && there(o.Dir, want, o.Demo) {
		return nil // somebody else has just done it
	}
	stage := filepath.Join(o.Dir, ".installing")
	if err := os.RemoveAll(stage); err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := fetch(ctx, o, stage); err != nil {
		return err
	}
	if err := arrange(ctx, o, stage); err != nil {
		return err
	}
	return put(o, stage, want)
}

// digest identifies the pins and what is made of them.
func digest(dir string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s/%s\n", layout, runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("the pins of the native agents: %w", err)
		}
		fmt.Fprintf(sum, "%d\n", len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Stamps of an installation: what the demonstration needs, and all.
const (
	stampAll  = ".stamp"
	stampDemo = ".stamp-demo"
)

func there(dir, want string, demo bool) bool {
	names := []string{stampAll}
	if demo {
		names = append(names, stampDemo)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(Folder(dir), name))
		if err == nil && string(data) == want+"\n" {
			// The packages are a folder of their own and may have been removed.
			_, err = os.Stat(filepath.Join(dir, "node_modules"))
			return err == nil
		}
	}
	return false
}

// lock waits until no other process installs here.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock of the native agents: %w", err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// fetch has npm install the pinned packages below stage.
func fetch(ctx context.Context, o Options, stage string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is needed to install the native agents and is not on PATH; on Debian: apt-get install npm")
	}
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(stage, name), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(o.Out, "native: fetching the pinned agents with npm")
	// Scripts of packages are not run: what they would do that is needed,
	// arrange does.
	args := []string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}
	if o.Demo {
		args = append(args, "--omit=dev")
	}
	if _, err := run(ctx, 15*time.Minute, stage, os.Environ(), npm, args...); err != nil {
		return fmt.Errorf("npm could not install what tools/native/package.json pins; the registry must be reachable and have it: %w", err)
	}
	return nil
}

// put moves what was made to its places. The stamp goes in with the agents, and
// those last, so that a stamp is never there without what it stands for.
func put(o Options, stage, want string) error {
	name := stampAll
	if o.Demo {
		name = stampDemo
	}
	if err := os.WriteFile(filepath.Join(stage, "installed", name), []byte(want+"\n"), 0o644); err != nil {
		return err
	}
	old := filepath.Join(stage, "old")
	if err := os.Mkdir(old, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"installed", "node_modules"} {
		if err := os.Rename(filepath.Join(o.Dir, name), filepath.Join(old, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range []string{"node_modules", "installed"} {
		if err := os.Rename(filepath.Join(stage, name), filepath.Join(o.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}
