package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Alone unpacks the published zip of a module, and builds, vets and tests what
// was in it, with its siblings from the proxy. It does not run the tests of
// packages called live.
func (r *Rehearsal) Alone(ctx context.Context, m workspace.Module, tests bool) error {
	version := module.Version{Path: m.Path, Version: r.Versions.Modules[m.Name]}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dir := r.path("alone", m.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := modzip.Unzip(dir, version, r.path("proxy", filepath.FromSlash(escaped), "@v", version.Version+".zip")); err != nil {
		return err
	}
	for _, verb := range []string{"build", "vet"} {
		if _, err := workspace.Go(ctx, dir, r.env(), verb, "-trimpath", "./..."); err != nil {
			return err
		}
	}
	if !tests {
		return nil
	}
	packages, err := workspace.List(ctx, dir, r.env(), "./...")
	if err != nil {
		return err
	}
	patterns := []string{"./..."}
	if slices.ContainsFunc(packages, live) {
		patterns = nil
		for _, p := range packages {
			if !live(p) {
				patterns = append(patterns, p.ImportPath)
			}
		}
	}
	args := append([]string{"test", "-trimpath"}, patterns...)
	_, err = workspace.Go(ctx, dir, r.env("JIG_TEST_NATIVE="+filepath.Join(r.Work.Root, "tools", "native", "installed")), args...)
	return err
}

// live tells a package whose tests bring real agents and commands of the module
// tools together: they need the repository around them, which a module that stands
// alone does not have. Other tests find the programs of tools/native by
// JIG_TEST_NATIVE.
func live(p workspace.Package) bool { return strings.HasSuffix(p.ImportPath, "/live") }

// Install installs every command at its version, as a stranger would, and runs
// the version command of the programs. It returns the commands' names.
func (r *Rehearsal) Install(ctx context.Context) ([]string, error) {
	// What go.sum pins was checked when the modules were built; install does
	// not read go.sum of the module it installs.
	env := r.env("GOBIN="+r.path("bin"), "GOSUMDB=off")
	var names []string
	for _, m := range r.Order {
		commands, err := commandsOf(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, command := range commands {
			if _, err := workspace.Go(ctx, r.Dir, env, "install", "-trimpath", command+"@"+r.Versions.Modules[m.Name]); err != nil {
				return nil, err
			}
			names = append(names, path.Base(command))
		}
	}
	for _, name := range r.Versions.Programs {
		out, err := workspace.Run(ctx, r.Dir, nil, r.path("bin", name), "version")
		if err != nil {
			return names, err
		}
		if want := r.Versions.Modules[name]; !says(out, want) {
			return names, fmt.Errorf("%s version, installed at %s, says %q", name, want, strings.TrimSpace(out))
		}
	}
	return names, nil
}

// says whether the text has the version as a word, with or without its v.
func says(text, version string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		return word == version || "v"+word == version
	})
}

func commandsOf(ctx context.Context, m workspace.Module) ([]string, error) {
	packages, err := workspace.List(ctx, m.Dir, nil, "./...")
	if err != nil {
		return nil, err
	}
	var commands []string
	for _, p := range packages {
		if p.Name == "main" {
			commands = append(commands, p.ImportPath)
		}
	}
	return commands, nil
}
