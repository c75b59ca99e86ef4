package wirev2

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// scanner reads one JSON text strictly, in one pass: syntax, duplicate names, UTF-8, surrogates and depth. It is written
// by hand because it has to notice the depth, the end of the payload and the members of the envelope in the same pass, at
// the speed of a check of syntax alone; the tests hold it to the verdicts of jsontext.
//
// Every method that reads takes the index to read at and returns the index behind what it read, or -1 after fail.
type scanner struct {
	in       []byte
	top      int // depth of the outermost value
	maxDepth int
	names    nameSet
	members  []member // of the outermost object, at most maxMembers
	extra    bool     // there were more

	why   string // the first fault
	at    int    // where in the text
	path  string // which member, for faults of shape
	shape bool   // the fault is one of shape: what the text says is not what was asked for

	scratch []byte // an unescaped string
}

// member is one member of the outermost object.
type member struct {
	name  []byte // unescaped
	value []byte // raw
}

// maxMembers is more than any envelope has: what is beyond is unknown, whatever it is.
const maxMembers = 16

// scan reads the whole of in as one value at the given depth, with white space around it.
func (s *scanner) scan(in []byte, depth, maxDepth int) bool {
	s.reset(in, depth, maxDepth)
	return s.ended(s.value(s.space(0), depth))
}

func (s *scanner) reset(in []byte, depth, maxDepth int) {
	s.in, s.top, s.maxDepth = in, depth, maxDepth
	s.members, s.extra = s.members[:0], false
	s.why, s.at, s.path, s.shape = "", 0, "", false
	s.names.reset(in)
	if cap(s.scratch) > 2*defaultMaxRecordBytes {
		s.scratch = nil
	}
}

// ended reports whether nothing but white space follows the value that ended at i.
func (s *scanner) ended(i int) bool {
	if i < 0 {
		return false
	}
	if i = s.space(i); i != len(s.in) {
		s.fail(i, "data after the value")
		return false
	}
	return true
}

func (s *scanner) fail(i int, why string) int {
	s.at, s.why = i, why
	return -1
}

func (s *scanner) space(i int) int {
	for i < len(s.in) {
		switch s.in[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func (s *scanner) value(i, depth int) int {
	if i >= len(s.in) {
		return s.fail(i, "ends too early")
	}
	switch c := s.in[i]; {
	case c == '"':
		end, _ := s.text(i)
		return end
	case c == '{':
		return s.object(i, depth)
	case c == '[':
		return s.array(i, depth)
	case c == '-' || c-'0' <= 9:
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return s.fail(i, "not JSON")
}

func (s *scanner) literal(i int, word string) int {
	if len(s.in)-i < len(word) || string(s.in[i:i+len(word)]) != word {
		return s.fail(i, "not JSON")
	}
	return i + len(word)
}

// open enters the object or array at i, and reports whether it is empty: i is then its end.
func (s *scanner) open(i, depth int, closing byte) (next int, empty bool) {
	if depth > s.maxDepth {
		return s.fail(i, "nested too deep"), true
	}
	i = s.space(i + 1)
	return i, i < len(s.in) && s.in[i] == closing
}

// more goes on behind a member or an element that ended at i, and reports whether another follows: i is else the end.
func (s *scanner) more(i int, closing byte) (next int, more bool) {
	i = s.space(i)
	switch {
	case i >= len(s.in):
		return s.fail(i, "ends too early"), false
	case s.in[i] == ',':
		return s.space(i + 1), true
	case s.in[i] != closing:
		return s.fail(i, "not JSON"), false
	}
	return i, false
}

func (s *scanner) array(i, depth int) int {
	i, empty := s.open(i, depth, ']')
	for more := !empty; more; {
		if i = s.value(i, depth+1); i < 0 {
			return -1
		}
		i, more = s.more(i, ']')
	}
	if i < 0 {
		return -1
	}
	return i + 1
}

func (s *scanner) object(i, depth int) int {
	i, empty := s.open(i, depth, '}')
	scope := s.names.open()
	for more := !empty; more; {
		start := i
		var name nameRef
		if name, i = s.name(i); i < 0 {
			return -1
		}
		if !s.names.add(scope, name) {
			return s.fail(start, "duplicate member")
		}
		from := i
		if i = s.value(i, depth+1); i < 0 {
			return -1
		}
		if depth == s.top {
			if len(s.members) < maxMembers {
				s.members = append(s.members, member{s.names.bytes(name), s.in[from:i]})
			} else {
				s.extra = true
			}
		}
		i, more = s.more(i, '}')
	}
	if i < 0 {
		return -1
	}
	s.names.close(scope)
	return i + 1
}

// name reads a member's name and the colon, up to its value.
func (s *scanner) name(i int) (nameRef, int) {
	if i >= len(s.in) {
		return nameRef{}, s.fail(i, "ends too early")
	}
	if s.in[i] != '"' {
		return nameRef{}, s.fail(i, "not JSON")
	}
	end, escaped := s.text(i)
	if end < 0 {
		return nameRef{}, -1
	}
	ref := s.names.ref(i+1, end-1, escaped)
	i = s.space(end)
	if i >= len(s.in) || s.in[i] != ':' {
		return nameRef{}, s.fail(i, "not JSON")
	}
	return ref, s.space(i + 1)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// unplain marks, in the high bit of each byte of w, bytes that a string cannot hold plainly or that need a look: control
// characters, quote, backslash, non-ASCII. The lowest mark is exact; higher ones may be false.
func unplain(w uint64) uint64 {
	quote := w ^ ('"' * ones)
	slash := w ^ ('\\' * ones)
	return ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash | w) & highs
}

// text reads the string that begins at i, and says whether it holds an escape.
func (s *scanner) text(i int) (end int, escaped bool) {
	in := s.in
	i++
	for {
		for len(in)-i >= 8 {
			if m := unplain(binary.LittleEndian.Uint64(in[i : i+8])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(in) {
			return s.fail(i, "ends too early"), false
		}
		switch c := in[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return s.fail(i, "control character in a string"), false
		case c < utf8.RuneSelf:
			i++
		default:
			n := runeLen(in[i:])
			if n == 0 {
				return s.fail(i, "invalid UTF-8"), false
			}
			i += n
			// Text that is not ASCII seldom is for one character only: stay here while it lasts.
			for i < len(in) && in[i] >= utf8.RuneSelf {
				if n = runeLen(in[i:]); n == 0 {
					return s.fail(i, "invalid UTF-8"), false
				}
				i += n
			}
		}
	}
}

// runeLen returns the length of the non-ASCII character that b begins with, or 0 when it is not valid UTF-8.
func runeLen(b []byte) int {
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		if len(b) >= 2 && b[1]&0xc0 == 0x80 {
			return 2
		}
	case c >= 0xe1 && c <= 0xec || c == 0xee || c == 0xef:
		if len(b) >= 3 && b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80 {
			return 3
		}
	default:
		// The first bytes that bind their second byte more narrowly.
		if _, n := utf8.DecodeRune(b); n > 1 {
			return n
		}
	}
	return 0
}

// escape reads the escape that begins at i, both halves of a surrogate pair.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.in) {
		return s.fail(len(s.in), "ends too early")
	}
	switch s.in[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		r := hex4(s.in, i+2)
		switch {
		case r < 0:
			return s.fail(i, "invalid escape")
		case r < 0xd800 || r > 0xdfff:
			return i + 6
		case r <= 0xdbff && i+7 < len(s.in) && s.in[i+6] == '\\' && s.in[i+7] == 'u':
			if low := hex4(s.in, i+8); low >= 0xdc00 && low <= 0xdfff {
				return i + 12
			}
		}
		return s.fail(i, "lone surrogate")
	}
	return s.fail(i, "invalid escape")
}

// hex4 returns the value of the four hexadecimal digits at i, or -1.
func hex4(in []byte, i int) rune {
	if len(in)-i < 4 {
		return -1
	}
	var r rune
	for _, c := range in[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func (s *scanner) number(i int) int {
	in := s.in
	if in[i] == '-' {
		i++
	}
	switch {
	case i < len(in) && in[i] == '0':
		i++
	case i < len(in) && in[i]-'1' <= 8:
		i = digits(in, i)
	default:
		return s.fail(i, "not JSON")
	}
	if i < len(in) && in[i] == '.' {
		from := i + 1
		if i = digits(in, from); i == from {
			return s.fail(i, "not JSON")
		}
	}
	if i < len(in) && in[i]|0x20 == 'e' {
		if i++; i < len(in) && (in[i] == '+' || in[i] == '-') {
			i++
		}
		from := i
		if i = digits(in, from); i == from {
			return s.fail(i, "not JSON")
		}
	}
	return i
}

func digits(in []byte, i int) int {
	for i < len(in) && in[i]-'0' <= 9 {
		i++
	}
	return i
}

// isInteger reports whether a valid JSON number is written as an integer: no fraction, no exponent, not -0.
func isInteger(b []byte) bool {
	if string(b) == "-0" {
		return false
	}
	if b[0] == '-' {
		b = b[1:]
	}
	return digits(b, 0) == len(b)
}
