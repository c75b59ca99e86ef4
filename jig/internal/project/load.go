package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// The files that make a folder a project.
const (
	moduleName = "jig.ts"
	dataName   = "jig.json"
)

// ErrNotFound is a folder that is no project.
var ErrNotFound = errors.New("there is no jig.ts or jig.json in this folder")

// Options says what to load and with what.
type Options struct {
	Dir         string         // folder of the project, absolute; required
	Evaluator   Evaluator      // required
	Store       *flowpkg.Store // for captured packages; required
	Environment Environment
	Reach       func() (*Reach, error) // asked once and only if there is a grant; required
	Bwrap       string                 // path of the sandbox program
	Opener      ClientOpener           // nil: acp grants are not offered
	Agent       string                 // client of every acp grant; empty: the grants' own
}

// Candidate is a project as it is now.
type Candidate struct {
	Meaning  *Meaning
	Sources  map[string]string // digests of the declarations that were read
	Lock     []byte            // what jig.lock has to be
	Warnings []Diagnostic
	Agent    string // as in Options
}

type loader struct {
	Options
	files    *files
	problems problems
	warnings []Diagnostic

	project  *author.Project
	bindings map[string]*author.Binding // by id
	places   map[string]string          // of bindings and grants, by binding:<id> and grant:<name>
	grants   map[string]*author.Grant   // by name
	packages map[string]*flowpkg.Package
	flowList []string
}

// Load reads a project whole. A project that cannot be taken gives a *[Refusal];
// a folder that is none, [ErrNotFound].
func Load(ctx context.Context, o Options) (*Candidate, error) {
	f, err := openFiles(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: the folder cannot be opened", ErrNotFound)
	}
	defer f.close()
	l := &loader{
		Options: o, files: f,
		bindings: map[string]*author.Binding{}, places: map[string]string{}, grants: map[string]*author.Grant{},
		packages: map[string]*flowpkg.Package{},
	}
	for _, step := range []func(context.Context) error{l.declare, l.capture} {
		if err := step(ctx); err != nil {
			return nil, err
		}
		if err := l.problems.refusal(); err != nil {
			return nil, err
		}
	}
	m, err := l.link(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.problems.refusal(); err != nil {
		return nil, err
	}
	if err := m.bounded(); err != nil {
		return nil, err
	}
	lock, err := l.lock(m)
	if err != nil {
		return nil, err
	}
	return &Candidate{Meaning: m, Sources: f.digests(), Lock: lock, Warnings: l.warnings, Agent: l.Agent}, nil
}

// declare reads jig.ts or jig.json, the Bindings and the grants.
func (l *loader) declare(ctx context.Context) error {
	names, err := l.files.list(".")
	if err != nil {
		return fmt.Errorf("%w: the folder cannot be read", ErrNotFound)
	}
	_, module := names[moduleName]
	_, data := names[dataName]
	switch {
	case module && data:
		l.problems.declaration(dataName, "a project has jig.ts or jig.json, not both")
		return nil
	case module:
		value, err := l.evaluate(ctx, moduleName)
		if err != nil || value == nil {
			return err
		}
		if l.project, err = author.ParseProject(value); err != nil {
			l.problems.exported(moduleName, "defineJig", err)
			return nil
		}
	case data:
		raw, err := l.files.read(dataName, declare.MaxSourceBytes, false)
		if err != nil {
			l.problems.err(dataName, nil, err)
			return nil
		}
		if l.project, err = parseData(raw); err != nil {
			l.problems.err(dataName, raw, err)
			return nil
		}
	default:
		return ErrNotFound
	}
	if agents := l.project.Agents; l.Agent != "" && agents != nil && !slices.Contains(agents, l.Agent) {
		return &AgentError{l.Agent, agents}
	}
	l.flowList = l.flows(l.project.Flows)
	bindings := l.named(l.project.Bindings, ".ts", "Binding")
	grants := l.named(l.project.Grants, ".json", "grant")
	l.readGrants(grants)
	for _, id := range slices.Sorted(maps.Keys(bindings)) {
		p := bindings[id]
		l.places["binding:"+id] = p
		value, err := l.evaluate(ctx, p)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		b, err := author.ParseBinding(value)
		if err != nil {
			l.problems.exported(p, "defineBinding", err)
			continue
		}
		l.bindings[id] = b
	}
	if at, err := author.Acyclic(l.bindings); err != nil {
		l.problems.err(l.places["binding:"+at], nil, err)
	}
	if n := len(l.flowList) + len(bindings); n > MaxTargets {
		l.problems.declaration("", "the project has %d targets; %d is the most", n, MaxTargets)
	}
	return nil
}

// declaration is the file that says what the project is made of.
func (l *loader) declaration() string {
	if _, data := l.files.bytes[dataName]; data {
		return dataName
	}
	return moduleName
}

// parseData reads jig.json, which has the form of defineJig's argument or of its
// value.
func parseData(raw []byte) (*author.Project, error) {
	normal, err := author.DefineJig(raw)
	if err != nil {
		normal = raw
	}
	p, parsed := author.ParseProject(normal)
	if err != nil && parsed != nil {
		return nil, err
	}
	return p, parsed
}

// evaluate returns the value of a declaration, or nil where its author has to
// mend it.
func (l *loader) evaluate(ctx context.Context, p string) (jsontext.Value, error) {
	var hidden []Diagnostic
	value, err := l.Evaluator.Evaluate(ctx, p, sourceOf(l.files, &hidden))
	var refusal *Refusal
	var refused *declare.RefusedError
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &refusal):
		return nil, &Refusal{append(l.problems.list, refusal.Diagnostics...)} // the evaluator is gone
	case errors.As(err, &refused):
		for _, d := range hidden {
			l.problems.add(d)
		}
		l.problems.err(p, nil, err)
		return nil, nil
	}
	return nil, err
}

func (l *loader) readGrants(files map[string]string) {
	if len(files) > MaxGrantFiles {
		l.problems.declaration("", "the project has %d grants; %d is the most", len(files), MaxGrantFiles)
		return
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p := files[name]
		raw, err := l.files.read(p, MaxGrantBytes, true)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = errors.New("it is not there")
			}
			l.problems.err(p, nil, err)
			continue
		}
		if total += len(raw); total > MaxGrantsBytes {
			l.problems.declaration(p, "the grants are larger than %d bytes together", MaxGrantsBytes)
			return
		}
		g, err := author.ParseGrant(raw)
		if err != nil {
			l.problems.err(p, raw, err)
			continue
		}
		l.grants[name] = g
		l.places["grant:"+name] = p
	}
}

// capture takes every package that a target names into the store.
func (l *loader) capture(ctx context.Context) error {
	paths := map[string]string{} // and who names them first
	for _, p := range l.flowList {
		paths[p] = p
	}
	for _, id := range slices.Sorted(maps.Keys(l.bindings)) {
		p := l.bindings[id].Package
		if _, known := paths[p]; !known {
			paths[p] = l.places["binding:"+id]
		}
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.member(p); err != nil {
			l.problems.declaration(paths[p], "package %s: %s", p, err.Error())
			continue
		}
		if err := l.files.folder(p); err != nil {
			l.problems.declaration(p, "%s", err.Error())
			continue
		}
		captured, err := l.Store.Capture(filepath.Join(l.Dir, filepath.FromSlash(p)))
		var packaged *flowpkg.Error
		switch {
		case err == nil:
			l.packages[p] = captured
		case errors.As(err, &packaged):
			l.problems.err(p, nil, err)
		default:
			return err
		}
	}
	return nil
}

// Is says whether dir looks like a project.
func Is(dir string) bool {
	for _, name := range []string{moduleName, dataName} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
