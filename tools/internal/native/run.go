package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// maxSaid bounds what an error repeats of a command's output.
const maxSaid = 4 << 10

// run runs a command with exactly this environment and returns its standard
// output.
func run(ctx context.Context, limit time.Duration, dir string, env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	cmd := workspace.Command(ctx, dir, nil, name, args...)
	cmd.Env = env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	text := strings.TrimSpace(said.String() + "\n" + out.String())
	if over := len(text) - maxSaid; over > 0 {
		text = "[...]" + strings.ToValidUTF8(text[over:], "")
	}
	return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, text)
}

// version asks a program for its version, in an environment that tells it
// nothing and has it write nowhere else than to home.
func version(ctx context.Context, program, home string) (string, error) {
	env := []string{"HOME=" + home, "CODEX_HOME=" + home, "PATH=" + systemPath, "LANG=C.UTF-8", "PI_OFFLINE=1"}
	out, err := run(ctx, 2*time.Minute, home, env, program, "--version")
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(out) {
		if word[0] >= '0' && word[0] <= '9' {
			return word, nil
		}
	}
	return "", errors.New(filepath.Base(program) + " --version names no version: " + strings.TrimSpace(out))
}
