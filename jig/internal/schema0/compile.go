package schema0

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of a Set.
const (
	MaxBytes = 256 << 10 // encoded bytes of all schemas of a set
	MaxDepth = 64        // nested schemas, a reference not followed
	MaxNodes = 4096      // schema nodes of all schemas of a set

	// SettingsSchema is the $schema that a standalone schema has to carry.
	SettingsSchema = "https://flow.jig.md/schemas/schema-0.json"
)

// Code is a compile code. An unknown one prints as itself.
type Code string

// The compile codes (run-0 5.6).
const (
	CodeInvalidJSON        Code = "SCHEMA_INVALID_JSON"
	CodeInvalid            Code = "SCHEMA_INVALID"
	CodeKeywordUnsupported Code = "SCHEMA_KEYWORD_UNSUPPORTED"
	CodeReferenceInvalid   Code = "SCHEMA_REFERENCE_INVALID"
	CodeLimitExceeded      Code = "SCHEMA_LIMIT_EXCEEDED"
)

// CompileError says why a schema is refused. Pointer is a JSON pointer into the
// document the schema stands in.
type CompileError struct {
	Code    Code
	Pointer string
	Reason  string // one line
}

func (e *CompileError) Error() string {
	if e.Pointer == "" {
		return e.Words()
	}
	return "at " + e.Pointer + ": " + e.Words()
}

// Words are what is wrong, without the place.
func (e *CompileError) Words() string { return e.Reason + " (" + string(e.Code) + ")" }

// Schema is one compiled schema. It is immutable and safe for concurrent use.
type Schema struct{ root *node }

// node is one compiled schema object or boolean.
type node struct {
	pointer string
	id      int
	always  bool // a boolean schema, true
	never   bool // a boolean schema, false

	types                           []string
	constant                        *value
	enum                            []*value
	ref                             *node
	refName                         string
	allOf, anyOf, oneOf             []*node
	not, when, then, otherwise      *node
	properties                      map[string]*node
	propertyNames                   []string // in byte order
	required                        []string
	additional                      *node
	dependentRequired               map[string][]string
	dependentSchemas                map[string]*node
	triggersRequired, triggersSchma []string // in byte order
	prefix                          []*node
	items, contains                 *node
	bounds                          []bound
}

// bound is a keyword whose argument is a number.
type bound struct {
	keyword string
	limit   float64
}

// Set compiles the schemas of one document: they share its definitions and its
// limits. It is for one goroutine.
type Set struct {
	defs  map[string]*node
	names []string
	nodes int
	bytes int
	seal  bool
}

// Standalone compiles a settings schema: a document of its own that carries
// $schema and may carry $defs.
func Standalone(raw []byte) (*Schema, error) {
	v, err := document(raw)
	if err != nil {
		return nil, err
	}
	if v.kind != kindObject {
		return nil, &CompileError{CodeInvalid, "", "a standalone schema is an object"}
	}
	dialect := v.member["$schema"]
	if dialect == nil || dialect.kind != kindString || dialect.text != SettingsSchema {
		return nil, &CompileError{CodeInvalid, "/$schema", "this member has to be there, as " + SettingsSchema}
	}
	s := &Set{bytes: len(raw)}
	if err := s.define(v.member["$defs"], "/$defs"); err != nil {
		return nil, err
	}
	n, err := s.compile(v, "", 1, "$schema", "$defs")
	if err != nil {
		return nil, err
	}
	return &Schema{n}, s.Seal()
}

// Embedded compiles one schema that stands alone inside another document, for
// example that of a channel/create request. It may hold $defs of its own and no
// $schema.
func Embedded(raw []byte) (*Schema, error) {
	v, err := document(raw)
	if err != nil {
		return nil, err
	}
	s := &Set{bytes: len(raw)}
	if v.kind == kindObject {
		if err := s.define(v.member["$defs"], "/$defs"); err != nil {
			return nil, err
		}
	}
	n, err := s.compile(v, "", 1, "$defs")
	if err != nil {
		return nil, err
	}
	return &Schema{n}, s.Seal()
}

// NewSet begins a document whose definitions are the object defs, raw JSON that
// stands at pointer; nil means that it has none.
func NewSet(defs []byte, pointer string) (*Set, error) {
	s := &Set{bytes: len(defs)}
	if defs == nil {
		return s, nil
	}
	v, err := document(defs)
	if err != nil {
		return nil, err
	}
	return s, s.define(v, pointer)
}

// Compile compiles the schema raw, which stands at pointer of the document.
func (s *Set) Compile(raw []byte, pointer string) (*Schema, error) {
	s.bytes += len(raw)
	v, err := document(raw)
	if err != nil {
		return nil, err
	}
	n, err := s.compile(v, pointer, 1)
	if err != nil {
		return nil, err
	}
	return &Schema{n}, nil
}

// Seal checks what only shows when all schemas are there: the size, that every
// reference exists and that none goes round. No schema of the set may be used
// before it.
func (s *Set) Seal() error {
	if s.bytes > MaxBytes {
		return &CompileError{CodeLimitExceeded, "", fmt.Sprintf("schemas of %d bytes are above %d", s.bytes, MaxBytes)}
	}
	s.seal = true
	// A cycle runs through references only if a definition reaches itself
	// without going down into the instance or at all: both are refused.
	state := map[*node]int{}
	for _, name := range s.names {
		if err := acyclic(s.defs[name], state); err != nil {
			return err
		}
	}
	return nil
}

func document(raw []byte) (*value, error) {
	if len(raw) > MaxBytes {
		return nil, &CompileError{CodeLimitExceeded, "", fmt.Sprintf("a schema of %d bytes is above %d", len(raw), MaxBytes)}
	}
	v, err := parse(raw)
	if err != nil {
		return nil, &CompileError{CodeInvalidJSON, "", "it is not strict JSON"}
	}
	return v, nil
}

// define makes a node for every definition first, so that references may stand
// before what they refer to.
func (s *Set) define(defs *value, pointer string) error {
	s.defs = map[string]*node{}
	if defs == nil {
		return nil
	}
	if defs.kind != kindObject {
		return &CompileError{CodeInvalid, pointer, "$defs is an object"}
	}
	for _, name := range defs.names {
		s.defs[name] = &node{}
	}
	s.names = defs.names
	for _, name := range defs.names {
		n, err := s.compile(defs.member[name], pointer+"/"+escape(name), 1)
		if err != nil {
			return err
		}
		*s.defs[name] = *n
	}
	return nil
}

func acyclic(n *node, state map[*node]int) error {
	switch state[n] {
	case 1:
		return &CompileError{CodeReferenceInvalid, n.pointer, "references go round"}
	case 2:
		return nil
	}
	state[n] = 1
	for _, child := range n.children() {
		if err := acyclic(child, state); err != nil {
			return err
		}
	}
	state[n] = 2
	return nil
}

func (n *node) children() []*node {
	all := slices.Concat(n.allOf, n.anyOf, n.oneOf, n.prefix)
	for _, c := range []*node{n.ref, n.not, n.when, n.then, n.otherwise, n.additional, n.items, n.contains} {
		if c != nil {
			all = append(all, c)
		}
	}
	for _, name := range n.propertyNames {
		all = append(all, n.properties[name])
	}
	for _, name := range n.triggersSchma {
		all = append(all, n.dependentSchemas[name])
	}
	return all
}

// escape writes one token of a JSON pointer.
func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func whole(v *value) bool {
	return v.kind == kindNumber && v.number >= 0 && v.number == math.Trunc(v.number)
}
