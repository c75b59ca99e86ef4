package wirev2

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is what a Go type of this package takes from the wire and writes there. It is not left to the json module, which
// reads null into anything, has no required members, does not write the form of section 1, would print a Secret like any
// string, and copies a long text twice. A member is required unless its tag says omitzero, and may be null only where its
// type is a pointer without omitzero, a jsontext.Value or a ManifestMember.
type shape struct {
	kind     kind
	nullable bool
	manifest bool    // of a ManifestMember
	elem     *shape  // of an array
	fields   []field // of an object, at most 64
	required uint64  // one bit a field
}

type field struct {
	name     string
	shape    *shape
	index    []int // for reflect's FieldByIndex
	optional bool
}

type kind uint8

const (
	kindAny kind = iota
	kindString
	kindID
	kindInt
	kindBool
	kindArray
	kindObject
)

// takes reports whether a value that begins with c may have the shape.
func (sh *shape) takes(c byte) bool {
	if c == 'n' {
		return sh.nullable || sh.kind == kindAny
	}
	switch sh.kind {
	case kindString, kindID:
		return c == '"'
	case kindInt:
		return c == '-' || c-'0' <= 9
	case kindBool:
		return c == 't' || c == 'f'
	case kindArray:
		return c == '['
	case kindObject:
		return c == '{'
	}
	return true
}

// field returns the index of the member of that name, or -1. Names match exactly, case included.
func (sh *shape) field(name []byte) int {
	for i := range sh.fields {
		if sh.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the shape of t, which must be made of what payloads are made of.
func shapeOf(t reflect.Type) (*shape, error) {
	if sh, ok := shapes.Load(t); ok {
		return sh.(*shape), nil
	}
	sh, err := newShape(t)
	if err != nil {
		return nil, err
	}
	have, _ := shapes.LoadOrStore(t, sh)
	return have.(*shape), nil
}

var (
	idType       = reflect.TypeFor[ID]()
	rawType      = reflect.TypeFor[jsontext.Value]()
	manifestType = reflect.TypeFor[ManifestMember]()
)

func newShape(t reflect.Type) (*shape, error) {
	switch t {
	case idType:
		return &shape{kind: kindID}, nil
	case rawType:
		return &shape{kind: kindAny}, nil
	case manifestType:
		sh, err := nullableShape(reflect.TypeFor[Manifest]())
		if err == nil {
			sh.manifest = true
		}
		return sh, err
	}
	switch t.Kind() {
	case reflect.String:
		return &shape{kind: kindString}, nil
	case reflect.Int, reflect.Int64:
		return &shape{kind: kindInt}, nil
	case reflect.Bool:
		return &shape{kind: kindBool}, nil
	case reflect.Pointer:
		return nullableShape(t.Elem())
	case reflect.Slice:
		elem, err := shapeOf(t.Elem())
		return &shape{kind: kindArray, elem: elem}, err
	case reflect.Struct:
		sh := &shape{kind: kindObject}
		return sh, sh.addFields(t, nil)
	}
	return nil, fmt.Errorf("wirev2: a %v is not part of a payload", t)
}

func nullableShape(t reflect.Type) (*shape, error) {
	sh, err := shapeOf(t)
	if err != nil {
		return nil, err
	}
	nullable := *sh
	nullable.nullable = true
	return &nullable, nil
}

func (sh *shape) addFields(t reflect.Type, index []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		if f.Anonymous {
			if err := sh.addFields(f.Type, at); err != nil {
				return err
			}
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || len(sh.fields) == 64 {
			return fmt.Errorf("wirev2: field %v.%s is not part of a payload", t, f.Name)
		}
		ft, optional := f.Type, options == "omitzero"
		if optional && ft.Kind() == reflect.Pointer {
			ft = ft.Elem() // absent or a value, never null
		}
		member, err := shapeOf(ft)
		if err != nil {
			return err
		}
		if !optional {
			sh.required |= 1 << len(sh.fields)
		}
		sh.fields = append(sh.fields, field{name, member, at, optional})
	}
	return nil
}
