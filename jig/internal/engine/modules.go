package engine

import (
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/engine/realm"
	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// modules are what a Flow can import.
type modules struct {
	*source.Package
	r *runner

	entry   string
	start   string                 // its name inside the engine
	first   *source.Code           // of the entry
	checked map[string]bool        // files whose imports were judged
	maps    map[string]*source.Map // of loaded files
	refused map[string]string      // what a refused specifier's module says, by its name
	virtual bool                   // the engine's own SDK is in use
}

func newModules(p *source.Package, r *runner) *modules {
	return &modules{Package: p, r: r, checked: map[string]bool{}, maps: map[string]*source.Map{}, refused: map[string]string{}}
}

// prepared is what can be done with a package before there is a realm.
type prepared struct {
	entry string
	code  *source.Code
	found []*source.Problem
	files []string
	err   error
}

// prepare judges the whole package before anything of it runs, and transforms its
// entry.
func prepare(p *source.Package) (out prepared) {
	if out.entry, out.err = p.Entry(); out.err != nil {
		return out
	}
	if out.found, out.files = p.Check(out.entry); len(out.found) > 0 {
		return out
	}
	var no *source.Problem
	if out.code, no = p.Load(out.entry, true); no != nil {
		out.found = append(out.found, no)
	}
	return out
}

// take makes a prepared package the one to run, and gives the name of its entry.
func (m *modules) take(p prepared) (name string, ok bool) {
	if p.err != nil {
		m.r.diagnose(Diagnostic{Code: CodeModuleRefused, Message: p.err.Error()})
		return "", false
	}
	for _, no := range p.found {
		m.r.refuse(no)
	}
	m.entry, m.first = p.entry, p.code
	for _, f := range p.files {
		m.checked[f] = true
	}
	m.start = m.named(source.Module{File: p.entry})
	return m.start, len(p.found) == 0
}

// judge checks a file and what it imports, once.
func (m *modules) judge(file string) []*source.Problem {
	if m.checked[file] {
		return nil
	}
	found, files := m.Check(file)
	for _, f := range files {
		m.checked[f] = true
	}
	return found
}

// file is the path in the package behind a module's name.
func (m *modules) file(name string) (string, bool) { return strings.CutPrefix(name, PackageDir+"/") }

// Resolve implements realm.Host. Only the loader of the entry and files of the
// package ask.
func (r *runner) Resolve(importer, specifier string) string {
	m := r.modules
	from, ok := m.file(importer)
	if !ok {
		if specifier == m.start {
			return m.start
		}
		// Code that was made of text has no place of its own to import from.
		return m.throws(&source.Problem{Path: m.entry, Specifier: specifier, Message: fmt.Sprintf("%q is refused: a CommonJS file has no import()", specifier)})
	}
	to, no := m.Package.Resolve(from, specifier, false)
	if no == nil && to.File != "" {
		if found := m.judge(to.File); len(found) > 0 {
			no = found[0]
		}
	}
	if no != nil {
		if no.Path == "" {
			no.Path = from
		}
		return m.throws(no)
	}
	if to.Builtin == source.Flow {
		m.virtual = true
	}
	return m.named(to)
}

// commonPrefix marks the module around a CommonJS file.
const commonPrefix = "common:"

// named is the name of a module inside the engine.
func (m *modules) named(to source.Module) string {
	name := m.Name(to)
	if to.File != "" && m.IsCommonJS(to.File) {
		return commonPrefix + name
	}
	return name
}

// throws makes a module that says why there is none.
func (m *modules) throws(p *source.Problem) string {
	if !strings.Contains(p.Path, "node_modules/") {
		m.r.refuse(p)
	}
	name := fmt.Sprintf("jig:refused/%d", len(m.refused))
	m.refused[name] = p.Error()
	return name
}

// Load implements realm.Host.
func (r *runner) Load(name string) (string, error) {
	m := r.modules
	if why, ok := m.refused[name]; ok {
		return realm.ThrowText(why), nil
	}
	name, isCommon := strings.CutPrefix(name, commonPrefix)
	file, ok := m.file(name)
	if !ok {
		return r.builtin(name)
	}
	code, no := m.load(file)
	if no != nil {
		r.refuse(no)
		return realm.ThrowText(no.Error()), nil
	}
	m.maps[file] = code.Map
	if isCommon {
		return realm.CommonText(name, code.Names), nil
	}
	return code.Text, nil
}

func (m *modules) load(file string) (*source.Code, *source.Problem) {
	if file == m.entry && m.first != nil {
		return m.first, nil
	}
	return m.Package.Load(file, file == m.entry)
}

// builtin is the text of one of the engine's own modules.
func (r *runner) builtin(name string) (string, error) {
	return r.realm.Text(partOf(name), strings.HasPrefix(name, "node:"))
}

// partOf is the part of the engine behind the name of a module.
func partOf(builtin string) string {
	if name, ok := strings.CutPrefix(builtin, "node:"); ok {
		return "node/" + strings.ReplaceAll(name, "/", "_")
	}
	return strings.TrimPrefix(builtin, "@jigging/")
}

// place is where the author wrote what now stands at line and column of a file.
func (m *modules) place(file string, line, column int) string {
	if l, c, ok := m.maps[file].Original(line, max(column, 1)); ok {
		return position(file, l, c)
	}
	return position(file, line, column)
}
