package appresources

import (
	"bytes"
	"strconv"
)

// PropertyType is the type of a property.
type PropertyType string

// The types of the schema subset.
const (
	TypeString  PropertyType = "string"
	TypeBoolean PropertyType = "boolean"
	TypeInteger PropertyType = "integer"
)

// Property is one member of a schema's object.
type Property struct {
	Name      string
	Type      PropertyType
	MaxLength int   // Unicode scalars; TypeString only
	Minimum   int64 // TypeInteger only
	Maximum   int64 // TypeInteger only
}

// Schema is an object schema of the closed subset: every property is required,
// no other is allowed. It never changes and is safe for concurrent use.
type Schema struct {
	properties []Property
	index      map[string]int
	encoded    []byte
}

// Properties returns a copy of the properties in the order of their source.
func (s *Schema) Properties() []Property {
	return append([]Property(nil), s.properties...)
}

// Encoded returns a copy of the schema's compact encoding: members in the
// order type, additionalProperties, properties, required; properties in the
// order of the source. Its length is what a resource is charged with.
func (s *Schema) Encoded() []byte { return append([]byte(nil), s.encoded...) }

func newSchema(properties []Property, required []string) *Schema {
	s := &Schema{properties: properties, index: make(map[string]int, len(properties))}
	b := append(make([]byte, 0, 96+96*len(properties)), `{"type":"object","additionalProperties":false,"properties":{`...)
	for i, p := range properties {
		s.index[p.Name] = i
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, p.Name)
		b = appendMember(b, `:{"type":`, string(p.Type))
		switch p.Type {
		case TypeString:
			b = append(b, `,"maxLength":`...)
			b = strconv.AppendInt(b, int64(p.MaxLength), 10)
		case TypeInteger:
			b = append(b, `,"minimum":`...)
			b = strconv.AppendInt(b, p.Minimum, 10)
			b = append(b, `,"maximum":`...)
			b = strconv.AppendInt(b, p.Maximum, 10)
		}
		b = append(b, '}')
	}
	b = append(b, `},"required":[`...)
	for i, name := range required {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
	}
	s.encoded = bytes.Clone(append(b, `]}`...)) // kept as long as the tool, so no larger than it is
	return s
}
