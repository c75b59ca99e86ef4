package engine

import (
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// common is the body of a CommonJS file, or an array with the reason why there is
// none.
func (m *modules) common(name string) any {
	file, ok := m.file(name)
	if !ok {
		return []any{"the file is no CommonJS module"}
	}
	code, no := m.Package.Load(file, false)
	switch {
	case no != nil:
		m.r.refuse(no)
		return []any{no.Error()}
	case !code.CommonJS:
		return []any{file + " is an ES module; use import() instead of require()"}
	}
	return code.Text
}

// require resolves a specifier of a CommonJS file: to the name of another file,
// to "part:" and a part of the engine, or to "json:" and a text. It is an array
// with the reason where it cannot.
func (m *modules) require(importer, specifier string, only bool) any {
	from, _ := m.file(importer)
	to, no := m.Package.Resolve(from, specifier, true)
	switch {
	case no != nil:
		return []any{no.Message}
	case only:
		return m.Name(to)
	case to.Builtin != "":
		if to.Builtin == source.Flow {
			m.virtual = true
		}
		return "part:" + partOf(to.Builtin)
	case strings.HasSuffix(to.File, ".json"):
		raw, err := m.ReadFile(to.File)
		if err != nil {
			return []any{"it cannot be read"}
		}
		return "json:" + string(raw)
	}
	return m.Name(to)
}
