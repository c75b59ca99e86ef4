package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Search says where bubblewrap is looked for.
type Search struct {
	Path     string // the operator's PATH
	Override string // JIG_BWRAP_PATH; it leaves no other choice
	Set      bool   // that Override is set
	Project  string // folder of the project, absolute; nothing of it is ever run
}

// Rejected is a place where bubblewrap could have been and why it was not taken.
type Rejected struct {
	Path   string
	Reason string
}

// maxLinks bounds the links of one path.
const maxLinks = 40

// FindBwrap finds the outer bubblewrap (finite-acp 5a, jig.md 6). Named by
// Override it is that file or an error; else it is the first in Path that is not
// of the project, nor of a node_modules folder above it. Links are followed one
// by one, and each place on the way is looked at. A set-id file is refused, and
// nothing is tried instead of it: it would run with powers of its own.
func FindBwrap(s Search) (string, []Rejected, error) {
	x := newExclusion(s.Project)
	if s.Set {
		path, err := override(s.Override, x)
		return path, nil, err
	}
	var rejected []Rejected
	reject := func(path, reason string) { rejected = append(rejected, Rejected{path, reason}) }
	for _, entry := range filepath.SplitList(s.Path) {
		if !filepath.IsAbs(entry) || strings.ContainsRune(entry, 0) {
			if entry != "" {
				reject(entry, "the entry of PATH is not absolute")
			}
			continue
		}
		candidate := strings.TrimSuffix(entry, "/") + "/bwrap"
		real, why, err := x.resolve(candidate)
		switch {
		case err != nil:
			return "", rejected, &UnavailableError{Reason: "looking for bwrap in PATH: " + err.Error()}
		case why == absent:
			continue
		case why != "":
			reject(candidate, why)
			continue
		}
		info, err := os.Lstat(real)
		switch {
		case err != nil:
			continue
		case !info.Mode().IsRegular():
			reject(candidate, "it is not a plain file")
			continue
		case info.Mode().Perm()&0o111 == 0 || !executable(real):
			reject(candidate, "it is not executable")
			continue
		case !program(real):
			reject(candidate, "it is not a program file")
			continue
		case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			return "", rejected, &UnavailableError{Reason: candidate + " is a set-id program", Fix: "remove its set-id bits: chmod u-s,g-s " + real}
		}
		return real, rejected, nil
	}
	return "", rejected, &UnavailableError{Reason: "there is no bwrap in PATH", Fix: "install bubblewrap 0.8.0 or later, for example: apt-get install bubblewrap"}
}

func override(path string, x *exclusion) (string, error) {
	refuse := func(reason string) (string, error) {
		return "", &UnavailableError{Reason: "JIG_BWRAP_PATH " + reason, Fix: "name an absolute path of bwrap, or unset JIG_BWRAP_PATH"}
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return refuse("is not an absolute path")
	}
	real, why, err := x.resolve(path)
	switch {
	case err != nil:
		return refuse("cannot be followed: " + err.Error())
	case why == absent:
		return refuse("names nothing")
	case why != "":
		return refuse("is not allowed: " + why)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return refuse("names nothing")
	case !info.Mode().IsRegular():
		return refuse("is not a plain file")
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return refuse("is a set-id program")
	case info.Mode().Perm()&0o111 == 0 || !executable(real):
		return refuse("is not executable")
	case !program(real):
		return refuse("is not a program file")
	}
	return real, nil
}

// program says whether path is a binary: a script would run something else.
func program(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = f.Read(magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// exclusion are the places nothing may be run from: the project, and the
// node_modules folders of all folders above it, each as named and as resolved.
type exclusion struct{ roots []excluded }

type excluded struct {
	path   string
	reason string
}

func newExclusion(project string) *exclusion {
	x := &exclusion{}
	if project == "" {
		return x
	}
	add := func(p, reason string) {
		if !slices.ContainsFunc(x.roots, func(e excluded) bool { return e.path == p }) {
			x.roots = append(x.roots, excluded{p, reason})
		}
	}
	const inside, modular = "it lies in the project", "it lies in a node_modules folder of the project or above it"
	starts := []string{filepath.Clean(project)}
	if real, err := filepath.EvalSymlinks(project); err == nil {
		starts = append(starts, real)
	}
	for _, start := range starts {
		add(start, inside)
		for dir := start; ; dir = filepath.Dir(dir) {
			modules := filepath.Join(dir, "node_modules")
			add(modules, modular)
			if real, err := filepath.EvalSymlinks(modules); err == nil {
				add(real, modular)
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return x
}

func (x *exclusion) holds(path string) string {
	for _, root := range x.roots {
		if path == root.path || root.path != "/" && strings.HasPrefix(path, root.path+"/") {
			return root.reason
		}
	}
	return ""
}

// absent is the reason of a file that is not there or cannot be reached.
const absent = "absent"

// resolve follows path link by link. reason is not empty where it is not to be
// used; an error is a path that nobody could follow.
func (x *exclusion) resolve(path string) (real, reason string, err error) {
	at, rest, hops := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if reason := x.holds(next); reason != "" {
			return "", reason, nil
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isNotDirectory(err):
			return "", absent, nil
		case err != nil:
			return "", "", fmt.Errorf("%s cannot be examined", path)
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if hops++; hops > maxLinks {
			return "", "", fmt.Errorf("%s leads over more than %d links", path, maxLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", absent, nil
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if reason := x.holds(at); reason != "" {
		return "", reason, nil
	}
	return at, "", nil
}
