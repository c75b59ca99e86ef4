// Package workspace tells the developer commands what the repository holds:
// the modules of go.work, their packages, and the files of the tree.
//
// The module list always comes from go.work, read by the go command itself, so
// that no second list can drift from it. The package refuses a go.work that
// uses a module outside the repository or below another module prefix.
//
// # Limits
//
// None of its own: the tree it reads is the developer's.
//
// # Errors
//
// An error of the go command carries what that command printed.
//
// # Concurrency
//
// A Workspace is not changed after Load and is safe for concurrent use.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/tools"
)

// Module is one module of the workspace. It is a value.
type Module struct {
	Name string // folder below the root, slash-separated
	Path string // module path
	Dir  string // absolute folder
}

// Workspace is a loaded go.work. It is safe for concurrent use.
type Workspace struct {
	Root    string   // absolute folder of go.work
	Modules []Module // sorted by name
}

// Find returns the folder of the go.work that the go command would use in dir.
func Find(ctx context.Context, dir string) (string, error) {
	out, err := Go(ctx, dir, nil, "env", "GOWORK")
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(out)
	if file == "" || file == "off" {
		return "", errors.New("no go.work here: run this inside the repository, without GOWORK=off")
	}
	return filepath.Dir(file), nil
}

// Load reads the go.work of root.
func Load(ctx context.Context, root string) (*Workspace, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	out, err := Go(ctx, root, nil, "work", "edit", "-json", filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	var work struct {
		Use []struct {
			DiskPath string
		}
	}
	if err := json.Unmarshal([]byte(out), &work); err != nil {
		return nil, fmt.Errorf("go work edit -json: %w", err)
	}
	w := &Workspace{Root: root}
	for _, use := range work.Use {
		name := path.Clean(filepath.ToSlash(use.DiskPath))
		if name == "." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
			return nil, fmt.Errorf("go.work uses %s: a module is a folder below the root", use.DiskPath)
		}
		m := Module{Name: name, Dir: filepath.Join(root, filepath.FromSlash(name))}
		if m.Path, err = modulePath(ctx, m.Dir); err != nil {
			return nil, err
		}
		if want := tools.ModulePrefix + "/" + name; m.Path != want {
			return nil, fmt.Errorf("%s/go.mod says module %s, its folder says %s", name, m.Path, want)
		}
		w.Modules = append(w.Modules, m)
	}
	slices.SortFunc(w.Modules, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	return w, nil
}

func modulePath(ctx context.Context, dir string) (string, error) {
	out, err := Go(ctx, dir, nil, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	var mod struct {
		Module struct{ Path string }
	}
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		return "", fmt.Errorf("go mod edit -json: %w", err)
	}
	return mod.Module.Path, nil
}

// Patterns returns the package patterns that name every package of every
// module, to be used with the root as working folder.
func (w *Workspace) Patterns() []string {
	var patterns []string
	for _, m := range w.Modules {
		patterns = append(patterns, "./"+m.Name+"/...")
	}
	return patterns
}

// Package is what go list says of a package; the fields are those of go list.
// It is a value.
type Package struct {
	Dir          string
	ImportPath   string
	Name         string
	Standard     bool
	Module       *struct{ Path, Version, Dir string }
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// List returns what go list says of the patterns; flags come before them.
func List(ctx context.Context, dir string, env []string, args ...string) ([]Package, error) {
	args = append([]string{"list", "-json=Dir,ImportPath,Name,Standard,Module,Imports,TestImports,XTestImports"}, args...)
	out, err := Go(ctx, dir, env, args...)
	if err != nil {
		return nil, err
	}
	var packages []Package
	dec := jsontext.NewDecoder(strings.NewReader(out))
	for {
		var p Package
		if err := json.UnmarshalDecode(dec, &p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// Files returns every file of the tree below root, as sorted slash-separated
// relative paths. It leaves out version control, what was installed from npm and
// CI's caches, and it follows no link.
func Files(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // removed while we walked: somebody else's temporary file
			}
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules":
				return fs.SkipDir
			case "installed", ".installing": // of tools/native
				if filepath.Base(filepath.Dir(name)) == "native" {
					return fs.SkipDir
				}
			}
			if rel == ".ci/cache" {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			files = append(files, rel)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// IsGo says whether the go command would look at the file when it builds or
// tests: a Go file outside testdata and outside hidden and underscored folders.
func IsGo(file string) bool {
	if !strings.HasSuffix(file, ".go") {
		return false
	}
	for part := range strings.SplitSeq(file, "/") {
		if part == "testdata" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return false
		}
	}
	return true
}

// Read returns a file of the tree.
func Read(root, file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
}
