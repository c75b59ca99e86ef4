package nativeinspect

import (
	"context"
	"path/filepath"
	"slices"
)

const bwrap = "bwrap"

// helper finds the bubblewrap that Codex uses inside its scope, and what it needs:
// the first eligible one of the wrapper's folders and PATH, else the installation's
// own (finite-acp 5e). JIG_BWRAP_PATH has no say here. Every failure is the
// sandbox's.
func (in *inspector) helper(ctx context.Context, executable string, prefix, entries []string) (*Helper, *walk, error) {
	c, err := search(ctx, append(slices.Clone(prefix), entries...), bwrap, in.outside)
	if err != nil {
		return nil, nil, passed(err, c.rejected)
	}
	if c.real != "" {
		// Codex looks for the name bwrap in the folder that enters its PATH.
		dir, err := resolve(dirOf(c.selected), in.outside)
		if err != nil {
			return nil, nil, err
		}
		return in.visitHelper(ctx, join(dir, bwrap), c.real, RoutePath, c.rejected)
	}
	path, err := in.bundledHelper(executable)
	if err != nil {
		return nil, nil, passed(err, c.rejected)
	}
	return in.visitHelper(ctx, path, path, RouteBundled, c.rejected)
}

// bundledHelper returns the installation's own helper.
func (in *inspector) bundledHelper(executable string) (string, error) {
	dir := dirOf(executable)
	places := []string{dir, dirOf(dir)}
	if filepath.Base(dir) == "bin" {
		slices.Reverse(places)
	}
	for _, place := range places {
		path := filepath.Join(place, "codex-resources", bwrap)
		real, err := usable(path, in.outside)
		switch {
		case err == nil && real != path:
			return "", &fault{reason: ReasonNotCanonical, role: RoleHelper, subject: path}
		case err == nil:
			return path, nil
		case reasonOf(err) != ReasonDoesNotExist:
			return "", faultOf(needFault(err), RoleHelper, path)
		}
	}
	return "", &fault{reason: ReasonNoHelper, role: RoleHelper}
}

// visitHelper walks a helper's files as those of a program of its own.
func (in *inspector) visitHelper(ctx context.Context, path, source string, route Route, rejected []Rejection) (*Helper, *walk, error) {
	w := in.newWalk(ctx)
	entry := pathVariable
	if route == RouteBundled {
		entry = "codex-resources"
	}
	v, err := w.start(path, source, RoleHelper, Link{Entry: entry, Found: string(route)})
	if err != nil {
		return nil, nil, passed(err, rejected)
	}
	if v.loaded.wrapper != nil { // its prefix would change what the helper finds
		return nil, nil, passed(w.explain(because(ReasonWrapperForm), RoleHelper, path, Link{}), rejected)
	}
	if err := w.dependencies(v); err != nil {
		return nil, nil, passed(err, rejected)
	}
	return &Helper{File: v.file, Route: route, Rejected: rejected}, w, nil
}

// passed notes in a refusal what the search for the helper passed over.
func passed(err error, rejected []Rejection) error {
	if f, ok := err.(*fault); ok {
		f.passed = rejected
	}
	return err
}
