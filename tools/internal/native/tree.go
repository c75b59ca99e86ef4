package native

import (
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
)

// tree is what npm installed: the packages of the lock file that are there.
type tree struct {
	dir      string // the folder that node_modules is in
	packages map[string]entry
}

// entry is a package of a lock file, keyed by its folder.
type entry struct {
	Name                 string            `json:"name"` // when its folder has another
	Version              string            `json:"version"`
	Bin                  map[string]string `json:"bin"`
	Dependencies         map[string]string `json:"dependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
}

func readTree(dir string) (*tree, error) {
	data, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		LockfileVersion int              `json:"lockfileVersion"`
		Packages        map[string]entry `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	if lock.LockfileVersion != 3 {
		return nil, fmt.Errorf("package-lock.json: version %d; this reads version 3", lock.LockfileVersion)
	}
	t := &tree{dir, map[string]entry{}}
	for key, e := range lock.Packages {
		if key == "" {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(key)) {
			return nil, fmt.Errorf("package-lock.json: %q is not below node_modules", key)
		}
		if _, err := os.Stat(t.path(key)); err == nil {
			t.packages[key] = e
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) path(parts ...string) string {
	return filepath.Join(t.dir, filepath.FromSlash(path.Join(parts...)))
}

// closure returns the folders of a package and of all it depends on. Optional
// ones that npm left out for this machine are not among them, and neither are
// those that without names.
func (t *tree) closure(key string, without ...string) ([]string, error) {
	found := map[string]bool{}
	var visit func(key string) error
	visit = func(key string) error {
		if found[key] {
			return nil
		}
		found[key] = true
		e := t.packages[key]
		for _, deps := range []map[string]string{e.Dependencies, e.OptionalDependencies} {
			for name := range deps {
				if slices.Contains(without, name) {
					continue
				}
				at, ok := t.resolve(key, name)
				if !ok {
					if _, optional := e.OptionalDependencies[name]; optional {
						continue
					}
					return fmt.Errorf("npm did not install %s, which %s needs", name, key)
				}
				if err := visit(at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if _, ok := t.packages[key]; !ok {
		return nil, fmt.Errorf("npm did not install %s", key)
	}
	if err := visit(key); err != nil {
		return nil, err
	}
	var keys []string
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// resolve finds a package as Node does: in the nearest node_modules.
func (t *tree) resolve(from, name string) (string, bool) {
	for {
		at := path.Join(from, "node_modules", name)
		if _, ok := t.packages[at]; ok {
			return at, true
		}
		if from == "" {
			return "", false
		}
		cut := strings.LastIndex("/"+from, "/node_modules/")
		from = strings.TrimSuffix(from[:max(cut, 0)], "/")
	}
}

// isolate gives a package and all it depends on a folder of their own, with the
// package under its own name and its commands beside it.
func (t *tree) isolate(key, to string, without ...string) error {
	keys, err := t.closure(key, without...)
	if err != nil {
		return err
	}
	root := t.packages[key]
	own := key
	if root.Name != "" {
		own = "node_modules/" + root.Name
	}
	for _, k := range keys {
		place := k
		if k == key || strings.HasPrefix(k, key+"/") {
			place = own + k[len(key):]
		}
		if err := linkTree(t.path(k), filepath.Join(to, filepath.FromSlash(place))); err != nil {
			return err
		}
	}
	bin := filepath.Join(to, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for name, file := range root.Bin {
		target := path.Join("..", strings.TrimPrefix(own, "node_modules/"), file)
		if err := os.Symlink(filepath.FromSlash(target), filepath.Join(bin, path.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// Link makes to a copy of the folder from, by links to its files. Whoever changes
// one of them changes both.
func Link(from, to string) error { return linkTree(from, to) }

// linkTree makes to a copy of the folder from, by links to its files. Packages
// nested in it are left out: they are packages of their own. With patterns, only
// files whose names match one of them are taken.
func linkTree(from, to string, patterns ...string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case rel == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular():
			if len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool {
				ok, err := path.Match(p, d.Name())
				return ok && err == nil
			}) {
				return nil
			}
			return link(name, target)
		default:
			return fmt.Errorf("%s is no regular file; a package holds nothing else", name)
		}
	})
}

// link makes to another name of a file, or a copy of it where the file system
// has no links.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}
