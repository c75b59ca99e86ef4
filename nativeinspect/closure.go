package nativeinspect

import (
	"path/filepath"
	"strings"
)

// searchDir is a folder that may hold a library, and how it got into the search.
type searchDir struct{ path, found string }

// systemDirs are the folders that the loader searches last.
var systemDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// dependencies visits what an ELF executable needs: its interpreter, whose own libraries
// have names of their own, and its libraries (finite-acp 5c).
func (w *walk) dependencies(v *visit) error {
	o := v.loaded.object
	if o.interpreter == "" {
		if len(o.needed) > 0 {
			return w.explain(because(ReasonMalformed), v.file.Role, v.file.Path, v.link)
		}
		return nil // static, or static-pie: complete as it is
	}
	loader, err := w.add(o.interpreter, RoleInterpreter, asProgram, Link{From: v.file.Path, Entry: "PT_INTERP", Found: "absolute path"})
	if err != nil {
		return err
	}
	if err := w.libraries(loader, nil, newProgram()); err != nil {
		return err
	}
	return w.libraries(v, nil, newProgram())
}

// program is what one run of the loader has loaded.
type program struct {
	names  map[string]bool // as they were asked for
	walked map[string]bool // destinations whose own libraries are resolved
}

func newProgram() *program { return &program{map[string]bool{}, map[string]bool{}} }

// libraries resolves all direct dependencies of an object, then theirs.
func (w *walk) libraries(v *visit, inherited []searchDir, p *program) error {
	if p.walked[v.file.Path] {
		return nil
	}
	p.walked[v.file.Path] = true
	o := v.loaded.object
	search, handed, err := w.searchOf(v, inherited)
	if err != nil {
		return err
	}
	var next []*visit
	for _, name := range o.needed {
		if p.names[name] {
			continue
		}
		p.names[name] = true
		child, err := w.library(v, name, search)
		if err != nil {
			return err
		}
		next = append(next, child)
	}
	for _, child := range next {
		if err := w.libraries(child, handed, p); err != nil {
			return err
		}
	}
	return nil
}

// searchOf returns where an object's libraries are searched, and what its libraries
// inherit. RUNPATH replaces RPATH, is not inherited, and switches the inherited
// RPATH off for the object itself, as the loader does.
func (w *walk) searchOf(v *visit, inherited []searchDir) (search, handed []searchDir, err error) {
	o, path := v.loaded.object, v.file.Path
	bad := func(err error) error { return w.explain(err, v.file.Role, path, v.link) }
	if o.hasRunpath {
		own, err := expand(o.runpath, dirOf(path), "RUNPATH")
		if err != nil {
			return nil, nil, bad(err)
		}
		search, handed = own, inherited
	} else {
		own, err := expand(o.rpath, dirOf(path), "RPATH")
		if err != nil {
			return nil, nil, bad(err)
		}
		handed = append(own, inherited...)
		search = handed
	}
	search = append([]searchDir(nil), search...)
	if o.interpreter != "" {
		if !normalised(o.interpreter) {
			return nil, nil, bad(because(ReasonDestination))
		}
		search = append(search, searchDir{dirOf(o.interpreter), "the interpreter's folder"})
		real, err := resolve(o.interpreter, w.in.outside)
		if err == nil {
			search = append(search, searchDir{dirOf(real), "the interpreter's real folder"})
		} else if !missing(err) {
			return nil, nil, bad(needFault(err))
		}
	}
	for _, dir := range systemDirs {
		search = append(search, searchDir{dir, "system folder " + dir})
	}
	return search, handed, nil
}

// expand reads a search value. The folder of the destination, not of a link's
// target, is $ORIGIN.
func expand(value, origin, tag string) ([]searchDir, error) {
	if value == "" {
		return nil, nil
	}
	var dirs []searchDir
	for entry := range strings.SplitSeq(value, ":") {
		dir := strings.ReplaceAll(strings.ReplaceAll(entry, "${ORIGIN}", origin), "$ORIGIN", origin)
		if strings.HasPrefix(entry, "$ORIGIN/") || strings.HasPrefix(entry, "${ORIGIN}/") {
			dir = filepath.Clean(dir)
		}
		if !normalised(dir) || strings.Contains(dir, "$") {
			return nil, because(ReasonSearch)
		}
		dirs = append(dirs, searchDir{dir, tag + " " + entry})
	}
	return dirs, nil
}

// library finds one library and visits it. The first entry of its name decides.
func (w *walk) library(v *visit, name string, search []searchDir) (*visit, error) {
	link := Link{From: v.file.Path, Entry: "DT_NEEDED " + name}
	if strings.Contains(name, "/") {
		link.Found = "absolute path"
		return w.add(name, RoleLibrary, asProgram, link)
	}
	if name == "." || name == ".." || strings.ContainsRune(name, 0) {
		return nil, w.explain(because(ReasonDestination), RoleLibrary, name, link)
	}
	for _, dir := range search {
		path := join(dir.path, name)
		there, err := w.look(path)
		if err != nil {
			return nil, w.explain(needFault(err), RoleLibrary, path, link)
		}
		if there {
			link.Found = dir.found
			return w.add(path, RoleLibrary, asProgram, link)
		}
	}
	return nil, w.explain(because(ReasonMissing), RoleLibrary, name, link)
}
