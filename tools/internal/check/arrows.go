package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/tools"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func arrows(ctx context.Context, e *Env) (string, error) {
	var p Problems
	if _, err := os.Stat(filepath.Join(e.Work.Root, "internal")); !errors.Is(err, fs.ErrNotExist) {
		p.add("internal: the root has no internal folder; code lives in a module")
	}
	for _, m := range e.Work.Modules {
		if _, ok := table[m.Name]; !ok && m.Name != toolsModule {
			p.add("%s: not in the table of the architecture page (tools/internal/check/table.go)", m.Name)
		}
	}
	packages, err := workspace.List(ctx, e.Work.Root, nil, e.Work.Patterns()...)
	if err != nil {
		return "", err
	}
	more, counted := Arrows(packages)
	p = append(p, more...)
	p = append(p, bannedImports(e, packages)...)
	return fmt.Sprintf("%d packages, %d imports", len(packages), counted), append(p, e.Except.stale("arrows")...).Err()
}

// Arrows compares the imports of the packages with the table and returns what
// the table does not allow, and how many imports there were.
func Arrows(packages []workspace.Package) (p Problems, imports int) {
	for _, pkg := range packages {
		from := moduleOf(pkg.ImportPath)
		if from == "" {
			continue
		}
		tests := slices.Concat(pkg.TestImports, pkg.XTestImports)
		for _, path := range pkg.Imports {
			imports++
			if why := refuse(from, path, table[from].deps); why != "" {
				p.add("%s: imports %s: %s", pkg.ImportPath, path, why)
			}
		}
		for _, path := range tests {
			imports++
			if why := refuse(from, path, slices.Concat(table[from].deps, testDeps)); why != "" {
				p.add("%s: its tests import %s: %s", pkg.ImportPath, path, why)
			}
		}
	}
	return p, imports
}

// refuse says why a package of module from may not import path; "" means it may.
func refuse(from, path string, deps []string) string {
	if standard(path) {
		return ""
	}
	if to := moduleOf(path); to != "" {
		switch {
		case to == from || from == toolsModule:
			return ""
		case !slices.Contains(table[from].modules, to):
			return fmt.Sprintf("the table has no arrow from %s to %s", from, to)
		}
		return ""
	}
	if from == toolsModule || slices.ContainsFunc(deps, func(dep string) bool { return below(path, dep) }) {
		return ""
	}
	return fmt.Sprintf("the table does not give it to %s", from)
}

// moduleOf returns the folder of the repository's module that holds the import
// path, or "".
func moduleOf(path string) string {
	rest, ok := strings.CutPrefix(path, tools.ModulePrefix+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// standard says whether path is of the standard library: its first element has
// no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func below(path, dep string) bool {
	return path == dep || strings.HasPrefix(path, dep+"/")
}

// bannedImports looks at every package for imports that nobody may have. The
// exceptions name the package's folder.
func bannedImports(e *Env, packages []workspace.Package) (p Problems) {
	for _, pkg := range packages {
		name := moduleOf(pkg.ImportPath)
		if name == "" {
			continue
		}
		folder := strings.TrimPrefix(pkg.ImportPath, tools.ModulePrefix+"/")
		list := bans
		if folder == name && table[name].pure {
			list = slices.Concat(bans, pureBans)
		}
		for _, b := range list {
			if slices.Contains(pkg.Imports, b.path) && !e.Except.excuse("arrows", folder) {
				p.add("%s: imports %s: %s", folder, b.path, b.reason)
			}
		}
	}
	return p
}
