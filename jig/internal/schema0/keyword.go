package schema0

import (
	"fmt"
	"slices"
	"strings"
)

var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

// compile makes the node of v, which stands at pointer. taken are the members that
// may stand here beside the keywords and have been read: $schema, $defs.
func (s *Set) compile(v *value, pointer string, depth int, taken ...string) (*node, error) {
	if s.nodes++; s.nodes > MaxNodes {
		return nil, &CompileError{CodeLimitExceeded, pointer, fmt.Sprintf("more than %d schema nodes", MaxNodes)}
	}
	if depth > MaxDepth {
		return nil, &CompileError{CodeLimitExceeded, pointer, fmt.Sprintf("schemas nest deeper than %d", MaxDepth)}
	}
	n := &node{pointer: pointer, id: s.nodes}
	switch v.kind {
	case kindBoolean:
		n.always, n.never = v.truth, !v.truth
		return n, nil
	case kindObject:
	default:
		return nil, &CompileError{CodeInvalid, pointer, "a schema is an object or a boolean"}
	}
	c := &compiler{s, n, pointer, depth}
	for _, name := range v.names {
		if slices.Contains(taken, name) {
			continue
		}
		read, known := keywords[name]
		if !known {
			return nil, &CompileError{CodeKeywordUnsupported, pointer + "/" + escape(name), "this keyword is not part of Schema/0"}
		}
		if err := read(c, name, v.member[name]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

type compiler struct {
	set     *Set
	n       *node
	pointer string
	depth   int
}

func (c *compiler) refuse(name, reason string) error {
	return &CompileError{CodeInvalid, c.pointer + "/" + escape(name), reason}
}

func (c *compiler) schema(v *value, path ...string) (*node, error) {
	var pointer strings.Builder
	pointer.WriteString(c.pointer)
	for _, p := range path {
		pointer.WriteString("/" + escape(p))
	}
	return c.set.compile(v, pointer.String(), c.depth+1)
}

type reader func(c *compiler, name string, v *value) error

var keywords map[string]reader

func init() {
	keywords = map[string]reader{
		"$ref":                 reference,
		"$comment":             annotation(kindString),
		"title":                annotation(kindString),
		"description":          annotation(kindString),
		"examples":             annotation(kindArray),
		"type":                 types,
		"enum":                 enumeration,
		"const":                constant,
		"allOf":                branches(func(n *node) *[]*node { return &n.allOf }),
		"anyOf":                branches(func(n *node) *[]*node { return &n.anyOf }),
		"oneOf":                branches(func(n *node) *[]*node { return &n.oneOf }),
		"prefixItems":          branches(func(n *node) *[]*node { return &n.prefix }),
		"not":                  single(func(n *node) **node { return &n.not }),
		"if":                   single(func(n *node) **node { return &n.when }),
		"then":                 single(func(n *node) **node { return &n.then }),
		"else":                 single(func(n *node) **node { return &n.otherwise }),
		"items":                single(func(n *node) **node { return &n.items }),
		"contains":             single(func(n *node) **node { return &n.contains }),
		"additionalProperties": single(func(n *node) **node { return &n.additional }),
		"properties":           properties,
		"required":             required,
		"dependentRequired":    dependentRequired,
		"dependentSchemas":     dependentSchemas,
		"minProperties":        counted, "maxProperties": counted,
		"minContains": counted, "maxContains": counted,
		"minItems": counted, "maxItems": counted,
		"minLength": counted, "maxLength": counted,
		"minimum": numeric, "maximum": numeric,
		"exclusiveMinimum": numeric, "exclusiveMaximum": numeric,
	}
}

func reference(c *compiler, name string, v *value) error {
	bad := func(reason string) error {
		return &CompileError{CodeReferenceInvalid, c.pointer + "/$ref", reason}
	}
	if v.kind != kindString {
		return bad("a reference is a string")
	}
	target, ok := strings.CutPrefix(v.text, "#/$defs/")
	if !ok || target == "" || strings.ContainsAny(target, "/~%") {
		return bad(`a reference is "#/$defs/NAME"`)
	}
	if c.n.ref = c.set.defs[target]; c.n.ref == nil {
		return bad("there is no definition " + target + " in $defs")
	}
	c.n.refName = target
	return nil
}

func annotation(k kind) reader {
	return func(c *compiler, name string, v *value) error {
		if v.kind != k {
			return c.refuse(name, name+" is "+map[kind]string{kindString: "a string", kindArray: "a list"}[k])
		}
		return nil
	}
}

func types(c *compiler, name string, v *value) error {
	list := v.items
	if v.kind == kindString {
		list = []*value{v}
	} else if v.kind != kindArray || len(list) == 0 {
		return c.refuse(name, "type is a name or a nonempty list of names")
	}
	for _, t := range list {
		if t.kind != kindString || !slices.Contains(typeNames, t.text) {
			return c.refuse(name, "a type is one of "+strings.Join(typeNames, ", "))
		}
		if slices.Contains(c.n.types, t.text) {
			return c.refuse(name, "a type stands twice")
		}
		c.n.types = append(c.n.types, t.text)
	}
	return nil
}

func enumeration(c *compiler, name string, v *value) error {
	if v.kind != kindArray || len(v.items) == 0 {
		return c.refuse(name, "enum is a nonempty list")
	}
	for _, item := range v.items {
		if item.kind >= kindArray {
			return c.refuse(name, "enum holds scalars only")
		}
	}
	c.n.enum = v.items
	return nil
}

func constant(c *compiler, name string, v *value) error {
	if v.kind >= kindArray {
		return c.refuse(name, "const is a scalar")
	}
	c.n.constant = v
	return nil
}

func branches(field func(*node) *[]*node) reader {
	return func(c *compiler, name string, v *value) error {
		if v.kind != kindArray || len(v.items) == 0 {
			return c.refuse(name, name+" is a nonempty list of schemas")
		}
		for i, item := range v.items {
			n, err := c.schema(item, name, fmt.Sprint(i))
			if err != nil {
				return err
			}
			*field(c.n) = append(*field(c.n), n)
		}
		return nil
	}
}

func single(field func(*node) **node) reader {
	return func(c *compiler, name string, v *value) (err error) {
		*field(c.n), err = c.schema(v, name)
		return err
	}
}

func properties(c *compiler, name string, v *value) (err error) {
	c.n.properties, err = c.schemas(name, v)
	c.n.propertyNames = v.names
	return err
}

func dependentSchemas(c *compiler, name string, v *value) (err error) {
	c.n.dependentSchemas, err = c.schemas(name, v)
	c.n.triggersSchma = v.names
	return err
}

func (c *compiler) schemas(name string, v *value) (map[string]*node, error) {
	if v.kind != kindObject {
		return nil, c.refuse(name, name+" is an object of schemas")
	}
	made := make(map[string]*node, len(v.names))
	for _, key := range v.names {
		n, err := c.schema(v.member[key], name, key)
		if err != nil {
			return nil, err
		}
		made[key] = n
	}
	return made, nil
}

func required(c *compiler, name string, v *value) (err error) {
	c.n.required, err = c.strings(name, v)
	return err
}

func dependentRequired(c *compiler, name string, v *value) error {
	if v.kind != kindObject {
		return c.refuse(name, "dependentRequired is an object of lists")
	}
	c.n.dependentRequired = make(map[string][]string, len(v.names))
	c.n.triggersRequired = v.names
	for _, key := range v.names {
		list, err := c.strings(name, v.member[key])
		if err != nil {
			return err
		}
		c.n.dependentRequired[key] = list
	}
	return nil
}

func (c *compiler) strings(name string, v *value) ([]string, error) {
	if v.kind != kindArray {
		return nil, c.refuse(name, name+" takes a list of names")
	}
	list := make([]string, 0, len(v.items))
	seen := make(map[string]bool, len(v.items))
	for _, item := range v.items {
		if item.kind != kindString || seen[item.text] {
			return nil, c.refuse(name, "the names in "+name+" are strings and stand once")
		}
		seen[item.text] = true
		list = append(list, item.text)
	}
	return list, nil
}

func counted(c *compiler, name string, v *value) error {
	if !whole(v) {
		return c.refuse(name, name+" is a whole number from 0")
	}
	c.n.bounds = append(c.n.bounds, bound{name, v.number})
	return nil
}

func numeric(c *compiler, name string, v *value) error {
	if v.kind != kindNumber {
		return c.refuse(name, name+" is a number")
	}
	c.n.bounds = append(c.n.bounds, bound{name, v.number})
	return nil
}
