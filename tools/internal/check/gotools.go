package check

import (
	"context"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Everything that is built without the race detector is built with -trimpath,
// so that the build cache serves the same packages from any folder.

func vet(ctx context.Context, e *Env) (string, error) {
	_, err := workspace.Go(ctx, e.Work.Root, nil, append([]string{"vet", "-trimpath"}, e.Work.Patterns()...)...)
	return "", err
}

// darwin lets the compiler and vet see the code as on the other system that
// people develop on. Packages that are for Linux alone say so by build tags.
func darwin(ctx context.Context, e *Env) (string, error) {
	env := []string{"GOOS=darwin", "CGO_ENABLED=0"}
	_, err := workspace.Go(ctx, e.Work.Root, env, append([]string{"vet", "-trimpath"}, e.Work.Patterns()...)...)
	return "", err
}

func fix(ctx context.Context, e *Env) (string, error) {
	if e.Write {
		// Fixes that touch the same lines are made one run after another.
		for range 3 {
			if _, err := workspace.Go(ctx, e.Work.Root, nil, append([]string{"fix"}, e.Work.Patterns()...)...); err != nil {
				return "", err
			}
		}
	}
	out, err := workspace.Go(ctx, e.Work.Root, nil, append([]string{"fix", "-diff"}, e.Work.Patterns()...)...)
	if err == nil && strings.TrimSpace(out) != "" {
		err = Problems{"go fix proposes:", strings.TrimSpace(out)}
	}
	return "", err
}
