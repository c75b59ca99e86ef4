package nativeinspect

import (
	"path/filepath"
	"strings"
)

// images visits the libraries of a Mach-O executable. Those of the system's shared
// cache belong to the system; every other one is a file that is kept (finite-acp
// 5g).
func (w *walk) images(v *visit) error {
	if !v.loaded.image.executable {
		return w.explain(because(ReasonFormat), v.file.Role, v.file.Path, v.link)
	}
	return w.image(v, nil, dirOf(v.file.Path), map[string]bool{})
}

// image resolves an image's libraries, then theirs. The run paths of the images that
// led to it are searched after its own.
func (w *walk) image(v *visit, inherited []searchDir, main string, walked map[string]bool) error {
	if walked[v.file.Path] {
		return nil
	}
	walked[v.file.Path] = true
	var own []searchDir
	for _, entry := range v.loaded.image.rpaths {
		dir, err := machPath(entry, dirOf(v.file.Path), main)
		if err != nil {
			return w.explain(err, v.file.Role, v.file.Path, v.link)
		}
		own = append(own, searchDir{dir, "LC_RPATH " + entry})
	}
	stack := append(own, inherited...)
	var next []*visit
	for _, d := range v.loaded.image.dylibs {
		child, err := w.dylib(v, d, stack, main)
		if err != nil {
			return err
		}
		if child != nil {
			next = append(next, child)
		}
	}
	for _, child := range next {
		if err := w.image(child, stack, main, walked); err != nil {
			return err
		}
	}
	return nil
}

// dylib finds one library. It returns nil for one of the system, and for a weak one
// that is missing.
func (w *walk) dylib(v *visit, d dylib, stack []searchDir, main string) (*visit, error) {
	link := Link{From: v.file.Path, Entry: "dylib " + d.name}
	fail := func(err error) (*visit, error) { return nil, w.explain(err, RoleLibrary, d.name, link) }
	places := []searchDir{{"", "named path"}}
	name, atRpath := strings.CutPrefix(d.name, "@rpath/")
	if atRpath {
		places = stack
	}
	for _, place := range places {
		var path string
		var err error
		if atRpath {
			path, err = tidy(place.path + "/" + name)
		} else {
			path, err = machPath(d.name, dirOf(v.file.Path), main)
		}
		if err != nil {
			return fail(err)
		}
		if system, err := w.system(path); err != nil {
			return fail(err)
		} else if system {
			return nil, nil
		}
		there, err := w.look(path)
		if err != nil {
			return fail(needFault(err))
		}
		if there {
			link.Found = place.found
			child, err := w.add(path, RoleLibrary, asProgram, link)
			if err == nil && child.loaded.image.executable {
				err = w.explain(because(ReasonFormat), RoleLibrary, path, link)
			}
			return child, err
		}
	}
	if d.weak {
		return nil, nil
	}
	return fail(because(ReasonMissing))
}

// system asks whether a path of the system is in its shared cache.
func (w *walk) system(path string) (bool, error) {
	if !below(path, "/usr/lib") && !below(path, "/System/Library") {
		return false, nil
	}
	if w.in.cached == nil {
		return false, because(ReasonSharedCache)
	}
	// Counted like a look: the number of questions is bounded too.
	if w.looks++; w.looks > maxLooks {
		return false, because(ReasonSearch)
	}
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	held, err := w.in.cached(path)
	if err != nil {
		return false, &fault{reason: ReasonSharedCache, cause: err}
	}
	return held, nil
}

// machPath expands a path of a Mach-O file. Only whole leading parts are tokens.
func machPath(path, loader, main string) (string, error) {
	for token, dir := range map[string]string{"@loader_path": loader, "@executable_path": main} {
		if path == token {
			return dir, nil
		}
		if rest, ok := strings.CutPrefix(path, token+"/"); ok {
			return tidy(dir + "/" + rest)
		}
	}
	if !normalised(path) {
		return "", because(ReasonSearch)
	}
	return path, nil
}

// tidy normalises an expanded path. Here the file system itself follows it, so the
// shorter spelling has to mean the same file.
func tidy(path string) (string, error) {
	short := filepath.Clean(path)
	if short == path {
		return path, nil
	}
	a, errA := resolve(path, nil)
	b, errB := resolve(short, nil)
	if a != b || (errA == nil) != (errB == nil) {
		return "", because(ReasonSearch)
	}
	return short, nil
}
