package source

import (
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// manifest is what matters of a package.json.
type manifest struct {
	Name    string
	Type    string
	Main    string
	Module  string
	Exports jsontext.Value
	Imports jsontext.Value
}

// manifestAt reads the package.json in a folder of the package, or nil. One that
// is no JSON object counts as empty.
func (p *Package) manifestAt(dir string) *manifest {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, known := p.manifests[dir]; known {
		return m
	}
	var m *manifest
	if raw, err := read(p.fsys, path.Join(dir, "package.json")); err == nil {
		m = &manifest{}
		members := map[string]jsontext.Value{}
		if json0.Decode(raw, &members) == nil {
			for name, into := range map[string]*string{"name": &m.Name, "type": &m.Type, "main": &m.Main, "module": &m.Module} {
				json0.Decode(members[name], into)
			}
			m.Exports, m.Imports = members["exports"], members["imports"]
		}
	}
	p.manifests[dir] = m
	return m
}

// scope is the nearest folder with a package.json around a file.
func (p *Package) scope(file string) (dir string, m *manifest) {
	for dir = path.Dir(file); ; dir = path.Dir(dir) {
		if m := p.manifestAt(dir); m != nil {
			return dir, m
		}
		if dir == "." || path.Base(dir) == "node_modules" {
			return "", nil
		}
	}
}

// bare finds a package in the node_modules around importer.
func (p *Package) bare(importer, specifier, condition string) (Module, *Problem) {
	name, sub := cutName(specifier)
	if name == "" {
		return Module{}, refused(specifier, "it is no name of a package", "")
	}
	if dir, m := p.scope(importer); m != nil && m.Name == name && m.Exports != nil {
		return p.exported(dir, m, sub, specifier, condition)
	}
	for dir := path.Dir(importer); ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			at := path.Join(dir, "node_modules", name)
			if m := p.manifestAt(at); m != nil {
				return p.inside(at, m, sub, specifier, condition)
			}
			if m, no := p.file(path.Join(at, sub), specifier); no == nil {
				return m, nil
			}
		}
		if dir == "." {
			break
		}
	}
	return Module{}, refused(specifier, "it is neither a module of this host nor in the node_modules of the package",
		"a dependency has to lie in the package's own node_modules; nothing is installed")
}

// cutName splits a specifier into the name of a package and the rest.
func cutName(specifier string) (name, sub string) {
	parts := strings.SplitN(specifier, "/", 3)
	n := 1
	if strings.HasPrefix(specifier, "@") {
		n = 2
	}
	if len(parts) < n || slices.Contains(parts[:n], "") || strings.HasPrefix(parts[0], ".") || strings.ContainsAny(specifier, "\\%") {
		return "", ""
	}
	name = strings.Join(parts[:n], "/")
	return name, strings.TrimPrefix(specifier[len(name):], "/")
}

// inside finds a file of a package that lies in the folder at.
func (p *Package) inside(at string, m *manifest, sub, specifier, condition string) (Module, *Problem) {
	if m.Exports != nil {
		return p.exported(at, m, sub, specifier, condition)
	}
	if sub != "" {
		return p.file(path.Join(at, sub), specifier)
	}
	for _, main := range []string{m.Module, m.Main, "index"} {
		if main == "" || main == m.Module && condition == "require" {
			continue
		}
		if f, no := p.file(path.Join(at, main), specifier); no == nil && strings.HasPrefix(f.File, at+"/") {
			return f, nil
		}
	}
	return Module{}, refused(specifier, "its package.json names no file that is there", "")
}

// exported follows an exports map.
func (p *Package) exported(at string, m *manifest, sub, specifier, condition string) (Module, *Problem) {
	key := "."
	if sub != "" {
		key = "./" + sub
	}
	exports := m.Exports
	if !keyed(exports, ".") {
		exports = slices.Concat([]byte(`{".":`), exports, []byte(`}`))
	}
	file, ok := lookup(exports, key, condition)
	return p.mapped(at, file, ok, specifier)
}

// private follows an imports map.
func (p *Package) private(importer, specifier, condition string) (Module, *Problem) {
	dir, m := p.scope(importer)
	if m == nil || m.Imports == nil {
		return Module{}, refused(specifier, "no package.json around the file maps it", "")
	}
	file, ok := lookup(m.Imports, specifier, condition)
	if ok && !strings.HasPrefix(file, "./") {
		return p.Resolve(importer, file, condition == "require")
	}
	return p.mapped(dir, file, ok, specifier)
}

func (p *Package) mapped(at, file string, ok bool, specifier string) (Module, *Problem) {
	if !ok || !strings.HasPrefix(file, "./") || slices.Contains(strings.Split(file[2:], "/"), "..") || slices.Contains(strings.Split(file[2:], "/"), "node_modules") {
		return Module{}, refused(specifier, "the package does not export it", "")
	}
	name := path.Join(at, file)
	if !isFile(p.fsys, name) {
		return Module{}, refused(specifier, "its package.json names a file that is not there", "")
	}
	return p.file(name, specifier)
}

// keyed says whether raw is an object whose first name begins with prefix.
func keyed(raw jsontext.Value, prefix string) bool {
	names, _ := ordered(raw)
	return len(names) > 0 && strings.HasPrefix(names[0], prefix)
}

// ordered reads an object in the order in which it is written, which is the order
// of conditions.
func ordered(raw jsontext.Value) (names []string, values []jsontext.Value) {
	d := jsontext.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, nil
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, nil
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, nil
		}
		names, values = append(names, name), append(values, v.Clone())
	}
	return names, values
}

// lookup finds the file that a map of an exports or imports field gives for key.
func lookup(raw jsontext.Value, key, condition string) (string, bool) {
	names, values := ordered(raw)
	best, star := -1, ""
	for i, name := range names {
		prefix, suffix, pattern := strings.Cut(name, "*")
		switch {
		case name == key:
			return choose(values[i], "", condition, 0)
		case !pattern || len(key) < len(prefix)+len(suffix) || !strings.HasPrefix(key, prefix) || !strings.HasSuffix(key, suffix):
		case best < 0 || len(prefix) > len(strings.SplitN(names[best], "*", 2)[0]):
			best, star = i, key[len(prefix):len(key)-len(suffix)]
		}
	}
	if best < 0 {
		return "", false
	}
	return choose(values[best], star, condition, 0)
}

// choose follows conditions down to a file.
func choose(raw jsontext.Value, star, condition string, depth int) (string, bool) {
	if depth > 16 {
		return "", false
	}
	switch raw.Kind() {
	case '"':
		var s string
		err := json0.Decode(raw, &s)
		return strings.ReplaceAll(s, "*", star), err == nil
	case '[':
		var list []jsontext.Value
		if json0.Decode(raw, &list) == nil {
			for _, v := range list {
				if s, ok := choose(v, star, condition, depth+1); ok {
					return s, true
				}
			}
		}
	case '{':
		names, values := ordered(raw)
		for i, name := range names {
			if name != condition && name != "default" {
				continue
			}
			if s, ok := choose(values[i], star, condition, depth+1); ok {
				return s, true
			}
		}
	}
	return "", false
}
