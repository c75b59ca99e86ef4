package project

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

var flowFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^FLOW\.[a-z0-9]{1,16}$`) })

// flows are the paths of the packages that a source names.
func (l *loader) flows(s *author.Source) []string {
	var found []string
	l.members(s, &found, func(dir string, e fs.DirEntry) bool {
		if !e.IsDir() {
			return false
		}
		names, err := l.files.list(path.Join(dir, e.Name()))
		return err == nil && slices.ContainsFunc(slices.Collect(maps.Keys(names)), flowFile().MatchString)
	})
	return found
}

// named are the files of a source by their LocalName.
func (l *loader) named(s *author.Source, extension, what string) map[string]string {
	var found []string
	l.members(s, &found, func(_ string, e fs.DirEntry) bool {
		return e.Type().IsRegular() && strings.HasSuffix(e.Name(), extension)
	})
	byName := map[string]string{}
	for _, p := range found {
		name := strings.TrimSuffix(path.Base(p), extension)
		switch other, double := byName[name]; {
		case !contract.LocalName(name):
			l.problems.add(Diagnostic{Code: CodeDeclarationInvalid, Path: p, Message: "the name of a " + what + " is lower-case words joined by single hyphens", Hint: "rename the file, or move it out of this folder"})
		case double && other != p:
			l.problems.declaration(p, "%s is a %s of the same name", other, what)
		default:
			byName[name] = p
		}
	}
	return byName
}

// members lists what a source names: the members it gives, or what pick picks
// below its roots. A root that is not there is empty.
func (l *loader) members(s *author.Source, found *[]string, pick func(dir string, e fs.DirEntry) bool) {
	if s == nil {
		return
	}
	for _, p := range s.Paths {
		if !s.Discover {
			if err := l.member(p); err != nil {
				l.problems.declaration(p, "%s names it: %s", l.declaration(), err.Error())
				continue
			}
			*found = append(*found, p)
			continue
		}
		names, err := l.files.list(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l.problems.declaration(p, "%s", err.Error())
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			member := path.Join(p, name)
			if strings.EqualFold(name, ".jig") || !pick(p, names[name]) {
				continue
			}
			if reason := flowpkg.CheckPath(member); reason != "" {
				l.problems.declaration(p, "an entry of it has a name that no project may hold: %s", reason)
				continue
			}
			*found = append(*found, member)
		}
	}
	slices.Sort(*found)
	*found = slices.Compact(*found)
}

// member checks that p is there under exactly this name and that no link leads to
// it.
func (l *loader) member(p string) error {
	e, err := l.files.entry(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if reason, ok := strings.CutPrefix(err.Error(), fs.ErrNotExist.Error()+": "); ok {
			return errors.New("it is not there: " + reason)
		}
		return errors.New("it is not there")
	case err != nil:
		return err
	case e.Type()&fs.ModeSymlink != 0:
		return errors.New("links are not followed")
	}
	return nil
}
