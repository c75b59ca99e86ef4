package wirev2

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Depths at which the texts that are decoded alone lie in a record.
const (
	payloadDepth = 2 // the record's object, then the payload
	recordDepth  = 4 // a journal record in the list of a history payload
)

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// DecodePayload decodes raw into dst, a pointer to one of the payload types of this package, strictly: an unknown, a
// duplicate, a missing or a mistyped member, a null where none is allowed and a name in another case are errors, and so
// is, for the payload of a request, what makes it malformed whatever the state of the daemon (lengths, forms of names
// and paths, members that exclude each other). The error is an *Error with CodeInvalidPayload and a line to send as it
// stands; any other error means that dst is no payload type.
func DecodePayload(raw jsontext.Value, dst any) error {
	if why, err := decode(raw, dst, payloadDepth); err != nil {
		return err
	} else if why != "" {
		return &Error{CodeInvalidPayload, "payload " + why}
	}
	if former, ok := dst.(interface{ malformed() string }); ok {
		if why := former.malformed(); why != "" {
			return &Error{CodeInvalidPayload, "payload member " + why}
		}
	}
	return nil
}

// EncodePayload returns v, one of the payload types of this package or a pointer to one, as the daemon writes it.
func EncodePayload(v any) (jsontext.Value, error) {
	b, err := AppendPayload(nil, v)
	return b, err
}

// AppendPayload appends what EncodePayload returns. It refuses an ID that is none, text that is not UTF-8, and a
// jsontext.Value that is not strict JSON; dst is then returned as it was.
func AppendPayload(dst []byte, v any) ([]byte, error) { return encode(dst, v, payloadDepth) }

func encode(dst []byte, v any, depth int) ([]byte, error) {
	val := reflect.ValueOf(v)
	if val.Kind() == reflect.Pointer && !val.IsNil() {
		val = val.Elem()
	}
	if !val.IsValid() || val.Kind() != reflect.Struct {
		return dst, fmt.Errorf("wirev2: encoding a %T", v)
	}
	sh, err := shapeOf(val.Type())
	if err != nil {
		return dst, err
	}
	out, err := sh.append(dst, val, depth)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// append appends v, which lies at the given depth of a record.
func (sh *shape) append(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		v = v.Elem()
	}
	switch sh.kind {
	case kindString:
		if s := v.String(); utf8.ValidString(s) {
			return AppendString(dst, s), nil
		}
		return dst, errors.New("wirev2: text is not UTF-8")
	case kindID:
		if s := v.String(); validID(s) {
			return append(append(append(dst, '"'), s...), '"'), nil
		}
		return dst, errIDForm
	case kindInt:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case kindBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case kindAny:
		return appendValue(dst, v.Bytes(), depth)
	case kindArray:
		return sh.appendArray(dst, v, depth)
	}
	return sh.appendObject(dst, v, depth)
}

func (sh *shape) appendArray(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = sh.elem.append(dst, v.Index(i), depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (sh *shape) appendObject(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range sh.fields {
		f := &sh.fields[i]
		member := v.FieldByIndex(f.index)
		if f.shape.manifest {
			if !member.Field(0).Bool() {
				continue
			}
			member = member.Field(1)
		} else if f.optional && member.IsZero() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), f.name...), '"', ':')
		var err error
		if dst, err = f.shape.append(dst, member, depth+1); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}

// appendValue appends raw as the daemon writes it, after making sure that it is strict JSON and not too deep for its
// place; nil is null.
func appendValue(dst, raw []byte, depth int) ([]byte, error) {
	if raw == nil {
		return append(dst, "null"...), nil
	}
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	if !s.scan(raw, depth, defaultMaxDepth) {
		return dst, errors.New("wirev2: value " + s.complaint())
	}
	return appendCompact(dst, raw), nil
}
