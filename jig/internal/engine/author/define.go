package author

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// DefineJig is what defineJig does with its argument: the author's form in, the
// normal value out, its keys in byte order.
func DefineJig(raw []byte) (jsontext.Value, error) {
	if err := limits.Check(raw); err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	members := map[string]jsontext.Value{}
	if jsontext.Value(raw).Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse("", "defineJig takes an object")
	}
	for _, name := range []string{"flows", "bindings", "grants"} {
		given, there := members[name]
		if !there {
			continue
		}
		switch given.Kind() {
		case '[':
			members[name] = slices.Concat([]byte(`{"kind":"members","paths":`), given, []byte(`}`))
		case '{':
			var s struct {
				Kind  string         `json:"kind"`
				Roots jsontext.Value `json:"roots"`
			}
			if json0.Decode(given, &s) != nil || s.Kind != "discover" {
				return nil, refuse("/"+name, "it takes discover(…) or an array of paths")
			}
		default:
			return nil, refuse("/"+name, "it takes discover(…) or an array of paths")
		}
	}
	normal, err := json0.Marshal(members)
	if err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	p, err := ParseProject(normal)
	if err != nil {
		return nil, err
	}
	return p.value()
}

// DefineBinding is what defineBinding does with its argument.
func DefineBinding(raw []byte) (jsontext.Value, error) {
	if err := limits.Check(raw); err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	members := map[string]jsontext.Value{}
	if jsontext.Value(raw).Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse("", "defineBinding takes an object")
	}
	if _, there := members["kind"]; there {
		return nil, refuse("/kind", "defineBinding sets it, the author does not")
	}
	members["kind"] = jsontext.Value(`"package"`)
	normal, err := json0.Marshal(members)
	if err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	b, err := ParseBinding(normal)
	if err != nil {
		return nil, err
	}
	return b.value()
}

// Discover is what discover does with its argument: one root or several.
func Discover(raw []byte) (jsontext.Value, error) {
	given := jsontext.Value(raw)
	if given.Kind() == '"' {
		given = slices.Concat([]byte("["), given, []byte("]"))
	}
	s, err := source(slices.Concat([]byte(`{"kind":"discover","roots":`), given, []byte(`}`)), "", flowMember)
	if err != nil {
		return nil, err
	}
	return write(s.value())
}

func (s *Source) value() any {
	if s.Discover {
		return map[string]any{"kind": "discover", "roots": s.Paths}
	}
	return map[string]any{"kind": "members", "paths": s.Paths}
}

func (p *Project) value() (jsontext.Value, error) {
	v := map[string]any{}
	for name, s := range map[string]*Source{"flows": p.Flows, "bindings": p.Bindings, "grants": p.Grants} {
		if s != nil {
			v[name] = s.value()
		}
	}
	if p.DefaultProviders != nil {
		providers := map[string]string{}
		for id, s := range p.DefaultProviders {
			providers[id] = s.String()
		}
		v["defaultProviders"] = providers
	}
	if p.Agents != nil {
		v["agents"] = p.Agents
	}
	return write(v)
}

func (b *Binding) value() (jsontext.Value, error) {
	slots := map[string]any{}
	for name, s := range b.Slots {
		switch {
		case s.Target != nil:
			slots[name] = s.Target.String()
		case s.Grant != "":
			slots[name] = "grant:" + s.Grant
		default:
			slots[name] = s.Inline.Canonical()
		}
	}
	return write(map[string]any{"kind": "package", "package": b.Package, "settings": b.Settings, "slots": slots})
}

// write is canonical but for the order of keys, which is that of their bytes.
func write(v any) (jsontext.Value, error) {
	raw, err := json0.Marshal(v)
	if err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	return byteOrder(nil, raw)
}

func byteOrder(dst []byte, raw jsontext.Value) ([]byte, error) {
	switch raw.Kind() {
	case '{':
		members := map[string]jsontext.Value{}
		if err := json0.Decode(raw, &members); err != nil {
			return nil, err
		}
		dst = append(dst, '{')
		for i, name := range sorted(members) {
			if i > 0 {
				dst = append(dst, ',')
			}
			quoted, err := json.Marshal(name)
			if err != nil {
				return nil, err
			}
			dst = append(append(dst, quoted...), ':')
			if dst, err = byteOrder(dst, members[name]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case '[':
		var items []jsontext.Value
		if err := json0.Decode(raw, &items); err != nil {
			return nil, err
		}
		dst = append(dst, '[')
		for i, item := range items {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = byteOrder(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	return append(dst, raw...), nil
}
