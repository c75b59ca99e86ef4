package author

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// Source says where flows, bindings or grants come from: found below roots, or
// named one by one. A nil Source is one that was not given.
type Source struct {
	Discover bool     // Paths are roots; otherwise members
	Paths    []string // sorted by bytes
}

// Project is a normal jig.ts.
type Project struct {
	Flows            *Source
	Bindings         *Source
	Grants           *Source
	DefaultProviders map[string]Selector // by contract id
	Agents           []string            // of codex, claude, pi, sorted; nil: not given
}

// Selector names a target.
type Selector struct {
	Kind string // flow or binding
	Name string // path of a package, or LocalName
}

// String is the selector as it is written.
func (s Selector) String() string { return s.Kind + ":" + s.Name }

var limits = json0.Limits{Bytes: MaxBytes}

// ParseProject reads the value of jig.ts, or the bytes of jig.json.
func ParseProject(raw []byte) (*Project, error) {
	if err := limits.Check(raw); err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	members, err := object(raw, "", nil, []string{"flows", "bindings", "grants", "defaultProviders", "agents", "entrypoint"})
	if err != nil {
		return nil, err
	}
	if _, there := members["entrypoint"]; there {
		return nil, unavailable("/entrypoint", "entrypoints")
	}
	p := &Project{}
	for _, s := range []struct {
		name string
		into **Source
		read func(path, pointer string) (id string, err error)
	}{
		{"flows", &p.Flows, flowMember}, {"bindings", &p.Bindings, bindingMember}, {"grants", &p.Grants, grantMember},
	} {
		if raw, there := members[s.name]; there {
			if *s.into, err = source(raw, "/"+s.name, s.read); err != nil {
				return nil, err
			}
		}
	}
	if raw, there := members["defaultProviders"]; there {
		if p.DefaultProviders, err = providers(raw); err != nil {
			return nil, err
		}
	}
	if raw, there := members["agents"]; there {
		if p.Agents, err = agents(raw); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func source(raw jsontext.Value, at string, read func(path, pointer string) (string, error)) (*Source, error) {
	members, err := object(raw, at, []string{"kind"}, []string{"roots", "paths"})
	if err != nil {
		return nil, err
	}
	kind, err := text(members["kind"], at+"/kind")
	if err != nil {
		return nil, err
	}
	s := &Source{Discover: kind == "discover"}
	name := "paths"
	switch {
	case s.Discover:
		name = "roots"
	case kind != "members":
		return nil, refuse(at+"/kind", "it has to be discover or members")
	}
	values, there := members[name]
	if !there || len(members) != 2 {
		return nil, refuse(at, kind+" holds kind and "+name+" and nothing else")
	}
	paths, err := texts(values, at+"/"+name)
	if err != nil {
		return nil, err
	}
	if s.Discover && len(paths) == 0 {
		return nil, refuse(at+"/roots", "at least one root is needed")
	}
	ids := map[string]string{}
	for i, p := range paths {
		pointer := at + "/" + name + "/" + strconv.Itoa(i)
		if s.Discover && strings.ContainsAny(p, "*?[]{}") {
			return nil, refuse(pointer, "a root is one folder, not a pattern")
		}
		if !s.Discover && strings.HasPrefix(p, "npm:") {
			return nil, unavailable(pointer, "npm: targets")
		}
		if paths[i], err = ProjectPath(p, pointer); err != nil {
			return nil, err
		}
		if s.Discover {
			continue
		}
		id, err := read(paths[i], pointer)
		if err != nil {
			return nil, err
		}
		if other, double := ids[id]; double && id != "" && other != paths[i] {
			return nil, refuse(pointer, paths[i]+" and "+other+" would have one name, "+id)
		}
		ids[id] = paths[i]
	}
	s.Paths, err = list(paths, at+"/"+name)
	return s, err
}

func flowMember(string, string) (string, error) { return "", nil }

func bindingMember(p, pointer string) (string, error) {
	id, ok := localFile(p, ".ts")
	if !ok {
		return "", refuse(pointer, "a Binding is a file <name>.ts, its name lower-case words joined by single hyphens")
	}
	return id, nil
}

func grantMember(p, pointer string) (string, error) {
	id, ok := localFile(p, ".json")
	if !ok {
		return "", refuse(pointer, "a grant is a file <name>.json, its name lower-case words joined by single hyphens")
	}
	return id, nil
}

func texts(raw jsontext.Value, pointer string) ([]string, error) {
	var values []jsontext.Value
	if raw.Kind() != '[' || json0.Decode(raw, &values) != nil {
		return nil, refuse(pointer, "it has to be an array of strings")
	}
	if len(values) > MaxMembers {
		return nil, refuse(pointer, "it has more than 65536 entries")
	}
	out := make([]string, len(values))
	for i, v := range values {
		var err error
		if out[i], err = text(v, pointer+"/"+strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func providers(raw jsontext.Value) (map[string]Selector, error) {
	const at = "/defaultProviders"
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse(at, "it has to be an object")
	}
	if len(members) > MaxProviders {
		return nil, refuse(at, "it has more than 256 entries")
	}
	out := make(map[string]Selector, len(members))
	for _, id := range sorted(members) {
		pointer := member(at, id)
		if n := utf8.RuneCountInString(id); n < 1 || n > maxContractID {
			return nil, refuse(pointer, "a contract id has 1 to 2048 characters")
		}
		value, err := text(members[id], pointer)
		if err != nil {
			return nil, err
		}
		if out[id], err = ParseSelector(value, pointer); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ParseSelector reads flow:<path> or binding:<name>.
func ParseSelector(s, pointer string) (Selector, error) {
	kind, name, _ := strings.Cut(s, ":")
	switch kind {
	case "npm":
		return Selector{}, unavailable(pointer, "npm: targets")
	case "flow":
		if strings.HasPrefix(name, "npm:") {
			return Selector{}, refuse(pointer, "flow: takes a project path")
		}
		p, err := ProjectPath(name, pointer)
		return Selector{kind, p}, err
	case "binding":
		if contract.LocalName(name) {
			return Selector{kind, name}, nil
		}
		return Selector{}, refuse(pointer, "binding: takes the name of a Binding")
	}
	return Selector{}, refuse(pointer, "it has to be flow:<path> or binding:<name>")
}

func agents(raw jsontext.Value) ([]string, error) {
	const at = "/agents"
	out, err := texts(raw, at)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, refuse(at, "at least one client is needed")
	}
	for i, client := range out {
		pointer := at + "/" + strconv.Itoa(i)
		if !isClient(client) {
			return nil, refuse(pointer, "a client is codex, claude or pi")
		}
		if contains(out[:i], client) {
			return nil, refuse(pointer, client+" is named twice")
		}
	}
	return sortedCopy(out), nil
}

func isClient(s string) bool { return s == "codex" || s == "claude" || s == "pi" }
