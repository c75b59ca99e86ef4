package schema0

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// MaxWork is the most units of work one validation may do.
const MaxWork = 1_000_000

// ErrLimit is a validation that needs more than [MaxWork] units. It wins over a
// value that does not fit, because nobody can know.
var ErrLimit = errors.New("schema0: the value needs more validation work than the limit")

// InvalidError says where a value does not fit. It never holds the value.
type InvalidError struct {
	InstancePointer string
	SchemaPointer   string
	Keyword         string
	Missing         string // the first member that required or dependentRequired misses
	Wanted          string // what the schema wants, where it is short; of the schema alone
}

func (e *InvalidError) Error() string {
	at := e.InstancePointer
	if at == "" {
		at = "the value"
	}
	return at + " does not fit: " + e.Words() + " (" + e.Keyword + " at " + e.SchemaPointer + ")"
}

// Validate applies s to raw, one JSON/0 document. It returns nil,
// [*InvalidError], [ErrLimit], or the reason why raw is no JSON.
func (s *Schema) Validate(raw []byte) error {
	v, err := parse(raw)
	if err != nil {
		return err
	}
	m := &meter{left: MaxWork, seen: map[pair]*failure{}}
	f := m.apply(s.root, v)
	if m.left < 0 {
		return ErrLimit
	}
	if f == nil {
		return nil
	}
	return &InvalidError{pointerTo(v, f.at), f.schema + "/" + f.keyword, f.keyword, f.missing, f.wanted}
}

type pair struct{ schema, instance int }

type failure struct {
	at      *value
	schema  string
	keyword string
	missing string
	wanted  string
}

var pass = &failure{} // remembered for pairs that fit

// meter does one validation. Nothing is cut short: all keywords and branches
// are evaluated, so that the work does not depend on the order of a schema.
type meter struct {
	left int
	seen map[pair]*failure
}

func (m *meter) charge(n int) bool {
	m.left -= n
	return m.left >= 0
}

// apply returns the first failure of n at v, or nil. Once the work is used up
// its answer means nothing and everything returns at once.
func (m *meter) apply(n *node, v *value) *failure {
	key := pair{n.id, v.id}
	if f, known := m.seen[key]; known {
		if f == pass {
			return nil
		}
		return f
	}
	if !m.charge(1) {
		return nil
	}
	f := m.keywords(n, v)
	if f == nil {
		m.seen[key] = pass
	} else {
		m.seen[key] = f
	}
	return f
}

func (m *meter) keywords(n *node, v *value) *failure {
	if n.always {
		return nil
	}
	if n.never {
		return &failure{at: v, schema: n.pointer, keyword: "false"}
	}
	var first *failure
	note := func(f *failure) {
		if first == nil {
			first = f
		}
	}
	fail := func(keyword string) {
		if first == nil {
			note(&failure{at: v, schema: n.pointer, keyword: keyword, wanted: n.wanted(keyword)})
		}
	}
	if n.ref != nil && m.charge(1) {
		note(m.apply(n.ref, v))
	}
	m.scalars(n, v, fail)
	m.logic(n, v, note, fail)
	switch v.kind {
	case kindObject:
		m.object(n, v, note, fail)
	case kindArray:
		m.array(n, v, note, fail)
	case kindString:
		m.text(n, v, fail)
	case kindNumber:
		m.number(n, v, fail)
	}
	return first
}

func (m *meter) scalars(n *node, v *value, fail func(string)) {
	if n.types != nil && m.charge(len(n.types)) {
		ok := false
		for _, t := range n.types {
			ok = ok || isType(v, t)
		}
		if !ok {
			fail("type")
		}
	}
	if n.constant != nil && m.charge(1) && !equalScalar(n.constant, v) {
		fail("const")
	}
	if n.enum != nil && m.charge(len(n.enum)) {
		ok := false
		for _, e := range n.enum {
			ok = ok || equalScalar(e, v)
		}
		if !ok {
			fail("enum")
		}
	}
}

func isType(v *value, name string) bool {
	switch name {
	case "null":
		return v.kind == kindNull
	case "boolean":
		return v.kind == kindBoolean
	case "number":
		return v.kind == kindNumber
	case "integer":
		return v.kind == kindNumber && v.number == math.Trunc(v.number)
	case "string":
		return v.kind == kindString
	case "array":
		return v.kind == kindArray
	case "object":
		return v.kind == kindObject
	}
	return false
}

func (m *meter) logic(n *node, v *value, note func(*failure), fail func(string)) {
	count := func(list []*node) (passed int, last *failure) {
		for _, b := range list {
			if !m.charge(1) {
				return 0, nil
			}
			if f := m.apply(b, v); f == nil {
				passed++
			} else if last == nil {
				last = f
			}
		}
		return passed, last
	}
	if n.allOf != nil {
		_, f := count(n.allOf)
		note(f)
	}
	if n.anyOf != nil {
		if passed, _ := count(n.anyOf); passed == 0 {
			fail("anyOf")
		}
	}
	if n.oneOf != nil {
		switch passed, _ := count(n.oneOf); {
		case passed == 0:
			fail("oneOf")
		case passed > 1:
			note(&failure{at: v, schema: n.pointer, keyword: "oneOf", wanted: onlyOne})
		}
	}
	if n.not != nil && m.charge(1) && m.apply(n.not, v) == nil {
		fail("not")
	}
	if n.when != nil && m.charge(1) {
		chosen := n.then
		if m.apply(n.when, v) != nil {
			chosen = n.otherwise
		}
		if chosen != nil && m.charge(1) {
			note(m.apply(chosen, v))
		}
	}
}

func (m *meter) object(n *node, v *value, note func(*failure), fail func(string)) {
	if n.properties != nil && m.charge(len(n.propertyNames)) {
		for _, name := range n.propertyNames {
			if member := v.member[name]; member != nil {
				note(m.apply(n.properties[name], member))
			}
		}
	}
	if n.required != nil && m.charge(len(n.required)) {
		for _, name := range n.required {
			if v.member[name] == nil {
				note(&failure{at: v, schema: n.pointer, keyword: "required", missing: name})
			}
		}
	}
	if n.additional != nil && m.charge(len(v.names)) {
		for _, name := range v.names {
			if n.properties[name] == nil {
				f := m.apply(n.additional, v.member[name])
				if f != nil && n.additional.never {
					f.wanted = n.known()
				}
				note(f)
			}
		}
	}
	for _, trigger := range n.triggersRequired {
		if !m.charge(1) || v.member[trigger] == nil {
			continue
		}
		for _, name := range n.dependentRequired[trigger] {
			if m.charge(1) && v.member[name] == nil {
				note(&failure{at: v, schema: n.pointer, keyword: "dependentRequired", missing: name})
			}
		}
	}
	for _, trigger := range n.triggersSchma {
		if m.charge(1) && v.member[trigger] != nil {
			note(m.apply(n.dependentSchemas[trigger], v))
		}
	}
	m.compare(n, float64(len(v.names)), fail, "minProperties", "maxProperties")
}

func (m *meter) array(n *node, v *value, note func(*failure), fail func(string)) {
	if n.prefix != nil && m.charge(len(n.prefix)) {
		for i, p := range n.prefix[:min(len(n.prefix), len(v.items))] {
			note(m.apply(p, v.items[i]))
		}
	}
	if n.items != nil && m.charge(1) {
		for _, item := range v.items[min(len(n.prefix), len(v.items)):] {
			note(m.apply(n.items, item))
			if m.left < 0 {
				return
			}
		}
	}
	if n.contains != nil && m.charge(len(v.items)) {
		found := 0
		for _, item := range v.items {
			if m.apply(n.contains, item) == nil {
				found++
			}
		}
		if _, set := n.bound("minContains"); !set && found == 0 {
			fail("contains")
		}
		m.compare(n, float64(found), fail, "minContains", "maxContains")
	}
	m.compare(n, float64(len(v.items)), fail, "minItems", "maxItems")
}

func (m *meter) text(n *node, v *value, fail func(string)) {
	_, low := n.bound("minLength")
	_, high := n.bound("maxLength")
	if low || high {
		length := utf8.RuneCountInString(v.text)
		m.charge(length)
		m.compare(n, float64(length), fail, "minLength", "maxLength")
	}
}

func (m *meter) number(n *node, v *value, fail func(string)) {
	m.compare(n, v.number, fail, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
}

func (n *node) bound(keyword string) (float64, bool) {
	for _, b := range n.bounds {
		if b.keyword == keyword {
			return b.limit, true
		}
	}
	return 0, false
}

// compare charges and checks the named bounds that n has.
func (m *meter) compare(n *node, got float64, fail func(string), keywords ...string) {
	for _, keyword := range keywords {
		limit, set := n.bound(keyword)
		if !set || !m.charge(1) {
			continue
		}
		ok := true
		switch {
		case keyword == "exclusiveMinimum":
			ok = got > limit
		case keyword == "exclusiveMaximum":
			ok = got < limit
		case keyword[:3] == "min":
			ok = got >= limit
		default:
			ok = got <= limit
		}
		if !ok {
			fail(keyword)
		}
	}
}

// pointerTo finds target below v. It runs once, for a value that failed.
func pointerTo(v, target *value) string {
	if v == target {
		return ""
	}
	// Numbers were given in the order of reading, parents before children, so
	// the right child is the last one numbered not above the target.
	best, token := (*value)(nil), ""
	for i, item := range v.items {
		if item.id <= target.id {
			best, token = item, strconv.Itoa(i)
		}
	}
	for _, name := range v.names {
		if member := v.member[name]; member.id <= target.id && (best == nil || member.id > best.id) {
			best, token = member, escape(name)
		}
	}
	return "/" + token + pointerTo(best, target)
}
