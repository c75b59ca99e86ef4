package wirev2

import (
	"bytes"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
)

// decode decodes raw, which lies at the given depth of a record, into dst. It returns what is wrong with raw, or an error
// when dst is no payload.
func decode(raw []byte, dst any, depth int) (why string, err error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return "", fmt.Errorf("wirev2: decoding into a %T", dst)
	}
	v = v.Elem()
	sh, err := shapeOf(v.Type())
	if err != nil {
		return "", err
	}
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.reset(raw, depth, defaultMaxDepth)
	v.SetZero()
	if s.ended(s.into(s.space(0), depth, sh, v)) {
		return "", nil
	}
	v.SetZero()
	return s.complaint(), nil
}

// into reads the value at i, which must be of the shape, into v, which must be zero.
func (s *scanner) into(i, depth int, sh *shape, v reflect.Value) int {
	if i >= len(s.in) {
		return s.fail(i, "ends too early")
	}
	c := s.in[i]
	if !sh.takes(c) {
		return s.failShape(i, "is mistyped")
	}
	if sh.manifest {
		v.Field(0).SetBool(true)
		v = v.Field(1)
	}
	if v.Kind() == reflect.Pointer && c != 'n' {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case sh.kind == kindAny:
		end := s.value(i, depth)
		if end > 0 {
			v.SetBytes(bytes.Clone(s.in[i:end]))
		}
		return end
	case c == 'n':
		return s.literal(i, "null")
	case sh.kind == kindArray:
		return s.elements(i, depth, sh, v)
	case sh.kind == kindObject:
		return s.fields(i, depth, sh, v)
	}
	return s.scalar(i, sh, v)
}

func (s *scanner) scalar(i int, sh *shape, v reflect.Value) int {
	switch sh.kind {
	case kindBool:
		v.SetBool(s.in[i] == 't')
		return s.value(i, s.maxDepth)
	case kindInt:
		end := s.number(i)
		if end < 0 {
			return -1
		}
		if !isInteger(s.in[i:end]) {
			return s.failShape(i, "is not an integer in plain digits")
		}
		n, err := strconv.ParseInt(string(s.in[i:end]), 10, 64)
		if err != nil {
			return s.failShape(i, "is out of range")
		}
		v.SetInt(n)
		return end
	}
	end, escaped := s.text(i)
	if end < 0 {
		return -1
	}
	content := s.in[i+1 : end-1]
	if escaped {
		s.scratch = appendUnescaped(s.scratch[:0], content)
		content = s.scratch
	}
	if sh.kind == kindID && !validID(content) {
		return s.failShape(i, "is not a canonical lowercase UUID")
	}
	v.SetString(string(content))
	return end
}

func (s *scanner) elements(i, depth int, sh *shape, v reflect.Value) int {
	i, empty := s.open(i, depth, ']')
	if i < 0 {
		return -1
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for n, more := 0, !empty; more; n++ {
		v.Grow(1)
		v.SetLen(n + 1)
		if i = s.into(i, depth+1, sh.elem, v.Index(n)); i < 0 {
			s.inElement(n)
			return -1
		}
		if i, more = s.more(i, ']'); i < 0 {
			return -1
		}
	}
	return i + 1
}

func (s *scanner) fields(start, depth int, sh *shape, v reflect.Value) int {
	var seen uint64
	i, empty := s.open(start, depth, '}')
	if i < 0 {
		return -1
	}
	for more := !empty; more; {
		at := i
		var ref nameRef
		if ref, i = s.name(i); i < 0 {
			return -1
		}
		n := sh.field(s.names.bytes(ref))
		if n < 0 {
			return s.failUnknown(at, s.names.bytes(ref))
		}
		if seen&(1<<n) != 0 {
			return s.fail(at, "duplicate member")
		}
		seen |= 1 << n
		f := &sh.fields[n]
		if i = s.into(i, depth+1, f.shape, v.FieldByIndex(f.index)); i < 0 {
			s.inMember(f.name)
			return -1
		}
		if i, more = s.more(i, '}'); i < 0 {
			return -1
		}
	}
	if missing := sh.required &^ seen; missing != 0 {
		s.failShape(start, "is missing")
		s.inMember(sh.fields[bits.TrailingZeros64(missing)].name)
		return -1
	}
	return i + 1
}

// complaint says what was wrong with the text.
func (s *scanner) complaint() string {
	switch {
	case !s.shape:
		return "is not strict JSON: " + s.why + " at byte " + strconv.Itoa(s.at)
	case len(s.path) > 0:
		return "member " + s.path + " " + s.why
	}
	return s.why
}

func (s *scanner) failShape(i int, why string) int {
	s.shape = true
	return s.fail(i, why)
}

// failUnknown names the member where the name looks like one of the protocol: what looks otherwise may be a secret or a
// body that went to the wrong place, and messages carry neither.
func (s *scanner) failUnknown(i int, name []byte) int {
	for _, c := range name {
		if (c < 'a' || c > 'z') && c != '_' {
			name = nil
			break
		}
	}
	if len(name) == 0 || len(name) > 32 {
		return s.failShape(i, "has a member that is not known")
	}
	s.failShape(i, "is not known")
	s.inMember(string(name))
	return -1
}

// inMember notes, on the way out of a fault of shape, where it was.
func (s *scanner) inMember(name string) {
	switch {
	case !s.shape:
	case s.path == "" || s.path[0] == '[':
		s.path = name + s.path
	default:
		s.path = name + "." + s.path
	}
}

func (s *scanner) inElement(n int) {
	if s.shape {
		s.inMember("[" + strconv.Itoa(n) + "]")
	}
}
