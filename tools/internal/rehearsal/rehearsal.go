// Package rehearsal makes the release that versions.yaml describes, in a folder
// of its own: module zips in a module proxy made of files, each module then
// built alone from there, and the commands installed at their versions.
//
// The go.mod files of the repository do not require their siblings before those
// are released; in the workspace their imports resolve without. Publish
// therefore works on copies: it goes through the modules so that each comes
// after those it imports, adds the requirements, lets "go mod tidy" complete
// go.mod and go.sum, and zips the result. What tidy says about all other
// modules must be what the repository holds; Drift compares.
//
// Third-party modules come from the module cache of the user where it has them,
// and from the user's proxy where not; they are checked against go.sum. Nothing
// is written outside the folder of the rehearsal, apart from the build cache.
//
// # Limits
//
// Those of module zips: 500 MiB a module, 16 MiB for go.mod and LICENSE.
//
// # Errors
//
// An error names the module and carries what the go command printed.
//
// # Concurrency
//
// A Rehearsal is not safe for concurrent use.
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/magi-jig/magi-jig/tools"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Rehearsal is a release in a folder. It is not safe for concurrent use.
type Rehearsal struct {
	Work     *workspace.Workspace
	Versions *Versions
	Dir      string             // where everything lies
	Order    []workspace.Module // each after those it imports

	proxy string // GOPROXY
	flags string // GOFLAGS
}

// New prepares a rehearsal in a new temporary folder.
func New(ctx context.Context, w *workspace.Workspace) (*Rehearsal, error) {
	data, err := workspace.Read(w.Root, VersionsFile)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range w.Modules {
		names = append(names, m.Name)
	}
	versions, err := ParseVersions(data, names)
	if err != nil {
		return nil, err
	}
	set := map[string]string{}
	for _, name := range []string{"GOMODCACHE", "GOPROXY", "GOFLAGS"} {
		out, err := workspace.Go(ctx, w.Root, nil, "env", name)
		if err != nil {
			return nil, err
		}
		set[name] = strings.TrimSpace(out)
	}
	order, err := inOrder(w)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{Work: w, Versions: versions, Dir: dir, Order: order}
	r.flags = strings.TrimSpace(set["GOFLAGS"] + " -modcacherw")
	r.proxy = fileURL(r.path("proxy")) + "," + fileURL(filepath.Join(set["GOMODCACHE"], "cache", "download"))
	if set["GOPROXY"] != "" {
		r.proxy += "," + set["GOPROXY"]
	}
	return r, nil
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Close removes the folder of the rehearsal.
func (r *Rehearsal) Close() error { return os.RemoveAll(r.Dir) }

func (r *Rehearsal) path(parts ...string) string {
	return filepath.Join(append([]string{r.Dir}, parts...)...)
}

// env is the environment of every go command of the rehearsal: no workspace, a
// module cache of its own, and no checksum database for modules that nobody has
// published yet.
func (r *Rehearsal) env(more ...string) []string {
	return append([]string{
		"GOWORK=off",
		"GOMODCACHE=" + r.path("cache"),
		"GOPROXY=" + r.proxy,
		"GOFLAGS=" + r.flags, // the cache must be removable
		"GONOSUMDB=" + tools.ModulePrefix + "/*",
		"GONOPROXY=none",
		"GOPRIVATE=",
	}, more...)
}

// inOrder sorts the modules so that each comes after the siblings it imports.
func inOrder(w *workspace.Workspace) ([]workspace.Module, error) {
	var order []workspace.Module
	state := map[string]int{} // 1 on the way, 2 placed
	var place func(m workspace.Module) error
	place = func(m workspace.Module) error {
		switch state[m.Name] {
		case 1:
			return fmt.Errorf("modules import each other in a circle that %s is part of", m.Name)
		case 2:
			return nil
		}
		state[m.Name] = 1
		names, err := siblings(m)
		if err != nil {
			return err
		}
		for _, name := range names {
			at := slices.IndexFunc(w.Modules, func(o workspace.Module) bool { return o.Name == name })
			if at < 0 {
				return fmt.Errorf("%s imports %s/%s, which go.work does not use", m.Name, tools.ModulePrefix, name)
			}
			if err := place(w.Modules[at]); err != nil {
				return err
			}
		}
		state[m.Name] = 2
		order = append(order, m)
		return nil
	}
	for _, m := range w.Modules {
		if err := place(m); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// siblings returns the sorted names of the modules of the repository whose
// packages m imports, tests and every build tag included.
func siblings(m workspace.Module) ([]string, error) {
	files, err := workspace.Files(m.Dir)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, file := range files {
		if !workspace.IsGo(file) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.Dir, file), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			if rest, ok := strings.CutPrefix(path, tools.ModulePrefix+"/"); ok {
				name, _, _ := strings.Cut(rest, "/")
				found[name] = true
			}
		}
	}
	delete(found, m.Name)
	return slices.Sorted(maps.Keys(found)), nil
}

// Publish copies, completes and zips every module into the proxy of files.
func (r *Rehearsal) Publish(ctx context.Context) error {
	for _, m := range r.Order {
		if err := r.publish(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

func (r *Rehearsal) publish(ctx context.Context, m workspace.Module) error {
	dir := r.path("copy", m.Name)
	if err := copyModule(m.Dir, dir); err != nil {
		return err
	}
	// A module zip of a folder carries the license of the root.
	license, err := os.ReadFile(filepath.Join(r.Work.Root, "LICENSE"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "LICENSE"), license, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.require(m, dir); err != nil {
		return err
	}
	if _, err := workspace.Go(ctx, dir, r.env(), "mod", "tidy"); err != nil {
		return err
	}
	return r.upload(m, dir)
}

// copyModule copies the files that belong to the module: those of the folder,
// without nested modules. What a module zip cannot hold is refused when it is made.
func copyModule(from, to string) error {
	files, err := workspace.Files(from)
	if err != nil {
		return err
	}
	nested := map[string]bool{}
	for _, file := range files {
		if dir, base := path.Split(file); base == "go.mod" && dir != "" {
			nested[dir] = true
		}
	}
	for _, file := range files {
		if within(file, nested) {
			continue
		}
		name := filepath.Join(from, filepath.FromSlash(file))
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, info.Mode().Perm()|0o200); err != nil {
			return err
		}
	}
	return nil
}

// within says whether a file is in one of these folders, which end with a slash.
func within(file string, folders map[string]bool) bool {
	for i, c := range file {
		if c == '/' && folders[file[:i+1]] {
			return true
		}
	}
	return false
}

// require writes the siblings that m imports into the copy's go.mod.
func (r *Rehearsal) require(m workspace.Module, dir string) error {
	names, err := siblings(m)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return err
	}
	if len(file.Replace) > 0 || len(file.Exclude) > 0 {
		return errors.New("go.mod: replace and exclude keep others from installing the module")
	}
	for _, sibling := range names {
		if err := file.AddRequire(tools.ModulePrefix+"/"+sibling, r.Versions.Modules[sibling]); err != nil {
			return err
		}
	}
	if data, err = file.Format(); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// upload lays a zip of the copy, its go.mod and its facts into the proxy.
func (r *Rehearsal) upload(m workspace.Module, dir string) error {
	version := module.Version{Path: m.Path, Version: r.Versions.Modules[m.Name]}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	folder := r.path("proxy", filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	base := filepath.Join(folder, version.Version)
	for name, text := range map[string]string{
		base + ".mod":                 string(mod),
		base + ".info":                fmt.Sprintf("{\"Version\":%q,\"Time\":\"2000-01-01T00:00:00Z\"}\n", version.Version),
		filepath.Join(folder, "list"): version.Version + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	zip, err := os.Create(base + ".zip")
	if err != nil {
		return err
	}
	if err := modzip.CreateFromDir(zip, version, dir); err != nil {
		return errors.Join(err, zip.Close())
	}
	return zip.Close()
}
