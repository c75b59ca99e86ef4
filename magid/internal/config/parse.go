package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parse takes in the file. The library's decoder finds everything that is not TOML, repeated keys included, and gives
// the values; a second walk over its syntax tree finds the place of each key, because only so can an error about a value
// say where it stands, and because the decoder would take a key in another case for the one it resembles.
func (l *loader) parse(data []byte) error {
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, column := bad.Position()
			return &Error{l.config.File, line, column, "not TOML: " + oneLine(strings.TrimPrefix(bad.Error(), "toml: "))}
		}
		return &Error{Source: l.config.File, Text: "not TOML"}
	}
	w := walker{l: l, values: values}
	w.parser.Reset(data)
	var table []string
	for w.parser.NextExpression() {
		switch e := w.parser.Expression(); e.Kind {
		case unstable.Table:
			path, at := w.key(nil, e)
			if err := w.table(path, at); err != nil {
				return err
			}
			table = path
		case unstable.ArrayTable:
			path, at := w.key(nil, e)
			return at.fault(shown(path) + " is no list of tables")
		case unstable.KeyValue:
			if err := w.value(table, e); err != nil {
				return err
			}
		}
	}
	if err := w.parser.Error(); err != nil {
		return &Error{Source: l.config.File, Text: "not TOML"}
	}
	return l.checkMCP()
}

type walker struct {
	l      *loader
	parser unstable.Parser
	values map[string]any
}

// key is the path of a table's or value's key below table, and the place of its last part.
func (w *walker) key(table []string, e *unstable.Node) ([]string, origin) {
	path := slices.Clone(table)
	var last *unstable.Node
	for it := e.Key(); it.Next(); {
		last = it.Node()
		path = append(path, string(last.Data))
	}
	return path, w.at(last)
}

func (w *walker) at(n *unstable.Node) origin {
	start := w.parser.Shape(n.Raw).Start
	return origin{w.l.config.File, start.Line, start.Column}
}

// table checks that a table may stand there.
func (w *walker) table(path []string, at origin) error {
	if path[0] == "mcp" {
		return w.mcp(path, at)
	}
	if name := strings.Join(path, "."); isTable(name) && plain(path) {
		return nil
	} else if isKey(name) && plain(path) {
		return at.fault(shown(path) + " is a value, not a table")
	}
	return unknown(path, at)
}

// value takes in a key and its value.
func (w *walker) value(table []string, e *unstable.Node) error {
	path, at := w.key(table, e)
	name := strings.Join(path, ".")
	v := e.Value()
	if path[0] != "mcp" && isKey(name) && plain(path) {
		if v.Raw.Length > 0 { // a list has no place of its own: its key has to do
			at = w.at(v)
		}
		return w.l.set(name, w.look(path), at)
	}
	if v.Kind == unstable.InlineTable {
		if err := w.table(path, at); err != nil {
			return err
		}
		for it := v.Children(); it.Next(); {
			if err := w.value(path, it.Node()); err != nil {
				return err
			}
		}
		return nil
	}
	if path[0] == "mcp" {
		return w.mcp(path, at)
	}
	if isTable(name) && plain(path) {
		return at.fault(shown(path) + " is a table, not a value")
	}
	return unknown(path, at)
}

// look finds a value in what the decoder gave.
func (w *walker) look(path []string) any {
	var v any = w.values
	for _, part := range path {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	return v
}

// plain reports that no part of a path holds a dot of its own, which would make it look like another path.
func plain(path []string) bool {
	return !slices.ContainsFunc(path, func(part string) bool { return strings.Contains(part, ".") })
}

func isKey(name string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return k.name == name })
}

func isTable(name string) bool {
	return name == "mcp" || slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// unknown says what is accepted in the nearest table that exists.
func unknown(path []string, at origin) error {
	n := 0
	for n < len(path)-1 && isTable(strings.Join(path[:n+1], ".")) && plain(path[:n+1]) {
		n++
	}
	prefix, where := "", "at the top"
	if n > 0 {
		prefix, where = strings.Join(path[:n], ".")+".", "in ["+strings.Join(path[:n], ".")+"]"
	}
	var accepted []string
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.name, prefix); ok {
			name, _, _ := strings.Cut(rest, ".")
			if !slices.Contains(accepted, name) {
				accepted = append(accepted, name)
			}
		}
	}
	if n == 0 {
		accepted = append(accepted, "mcp")
	}
	return at.fault(fmt.Sprintf("unknown key %s; accepted %s are %s", shown(path), where, strings.Join(accepted, ", ")))
}

// shown is a key for an error's text.
func shown(path []string) string {
	s := strings.Join(path, ".")
	if len(s) > maxShownKeyBytes {
		s = strings.ToValidUTF8(s[:maxShownKeyBytes], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// oneLine makes another program's text one line of bounded length.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if control(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if s = strings.Join(strings.Fields(s), " "); len(s) > maxTextBytes {
		s = strings.ToValidUTF8(s[:maxTextBytes], "") + "…"
	}
	return s
}
