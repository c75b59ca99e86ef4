package nativeinspect

import (
	"context"
	"path/filepath"
	"unicode/utf8"
)

// walk collects the files of one executable.
type walk struct {
	in      *inspector
	ctx     context.Context // of the one call that the walk belongs to
	top     string
	visited map[string]*visit // by destination
	order   []*visit
	looks   int // entries of search paths that were tried
}

// visit is a destination that was recorded.
type visit struct {
	file   File
	loaded *loaded
	link   Link
}

// maxLooks bounds the search of one walk in time. It is far above what 128 files
// with ordinary search paths need.
const maxLooks = 65_536

func (in *inspector) newWalk(ctx context.Context) *walk {
	return &walk{in: in, ctx: ctx, visited: map[string]*visit{}}
}

// start visits the executable itself, whose source is known.
func (w *walk) start(destination, source string, role Role, link Link) (*visit, error) {
	w.top = destination
	return w.record(destination, source, role, asProgram, link)
}

// add visits a file that is looked for at a path outside the project.
func (w *walk) add(destination string, role Role, as kind, link Link) (*visit, error) {
	if !normalised(destination) || destination == "/" {
		return nil, w.explain(because(ReasonDestination), role, destination, link)
	}
	if v := w.visited[destination]; v != nil {
		if needsExecute(role) && !v.file.Executable {
			return nil, w.explain(because(ReasonNotExecutable), role, destination, link)
		}
		return v, nil
	}
	// The executable is not one of its own dependencies.
	if len(w.visited) > MaxDestinations {
		return nil, w.explain(because(ReasonTooManyFiles), role, destination, link)
	}
	source, err := resolve(destination, w.in.outside)
	if err != nil {
		return nil, w.explain(needFault(err), role, destination, link)
	}
	return w.record(destination, source, role, as, link)
}

func (w *walk) record(destination, source string, role Role, as kind, link Link) (*visit, error) {
	// It becomes a part of what is reviewed, which is text.
	if !utf8.ValidString(destination) {
		return nil, w.explain(because(ReasonEncoding), role, destination, link)
	}
	for _, protected := range w.in.protected {
		if below(destination, protected) {
			return nil, w.explain(because(ReasonProtected), role, destination, link)
		}
	}
	l, err := w.in.load(w.ctx, source, as)
	if err != nil {
		return nil, w.explain(needFault(err), role, destination, link)
	}
	if needsExecute(role) && !l.executable() {
		return nil, w.explain(because(ReasonNotExecutable), role, destination, link)
	}
	if l.wrapper != nil && destination != w.top {
		return nil, w.explain(because(ReasonNested), role, destination, link)
	}
	link.To, link.Role = destination, role
	v := &visit{
		file:   File{Path: destination, Source: source, Role: role, Digest: l.digest, Size: l.size, Executable: l.executable()},
		loaded: l, link: link,
	}
	w.visited[destination] = v
	w.order = append(w.order, v)
	return v, nil
}

func needsExecute(role Role) bool {
	switch role {
	case RoleExecutable, RoleWrapped, RoleInterpreter, RoleHelper:
		return true
	}
	return false
}

// needFault says of a file that is needed what reasonOf says of one that is tried.
func needFault(err error) error {
	var reason Reason
	switch r := reasonOf(err); r {
	case ReasonInsideProject:
		reason = ReasonProject
	case ReasonDoesNotExist, ReasonNotDirectory:
		reason = ReasonMissing
	case ReasonPermission:
		reason = ReasonUnreadable
	default:
		return err
	}
	if cancelled(err) {
		return err
	}
	return &fault{reason: reason, cause: err}
}

// explain adds to a fault which file it is about and what led to it.
func (w *walk) explain(err error, role Role, subject string, link Link) error {
	err = faultOf(err, role, subject)
	if f, ok := err.(*fault); ok && f.through == nil && link.From != "" {
		link.To, link.Role = subject, role
		f.through = append(w.chain(link.From), link)
	}
	return err
}

// chain returns the links that led to a destination.
func (w *walk) chain(destination string) []Link {
	return chainOf(destination, func(d string) (Link, bool) {
		v := w.visited[d]
		if v == nil {
			return Link{}, false
		}
		return v.link, true
	})
}

// chainOf follows links back to the one that starts nowhere.
func chainOf(destination string, link func(string) (Link, bool)) []Link {
	var chain []Link
	for seen := map[string]bool{}; destination != "" && !seen[destination]; {
		seen[destination] = true
		l, ok := link(destination)
		if !ok {
			break
		}
		chain = append([]Link{l}, chain...)
		destination = l.From
	}
	return chain
}

// look counts one tried path and says whether anything is there. What cannot be
// looked at is an error: it might be the file that the loader takes.
func (w *walk) look(path string) (bool, error) {
	if w.looks++; w.looks > maxLooks {
		return false, because(ReasonSearch)
	}
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	_, err := lstat(path)
	if err != nil && missing(err) {
		return false, nil
	}
	return err == nil, err
}

// join adds a name to a folder without changing either.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func dirOf(path string) string { return filepath.Dir(path) }
