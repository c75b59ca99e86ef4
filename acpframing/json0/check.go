package json0

import (
	"sync"
	"unicode/utf8"
)

// Check says whether doc is one JSON/0 document. It allocates only for objects
// with many members and for names with escapes.
func Check(doc []byte) error { return Limits{}.Check(doc) }

// Check says whether doc is one JSON/0 document within the limits.
func (l Limits) Check(doc []byte) error {
	_, err := l.scan(doc)
	return err
}

// scan checks doc and says whether some integer in it is not written as one: 1.0,
// 1e0 or -0.
func (l Limits) scan(doc []byte) (loose bool, err error) {
	l, err = l.withDefaults()
	if err != nil {
		return false, err
	}
	s := scanners.Get().(*scanner)
	s.reset(doc, l)
	err = s.document()
	loose = s.loose
	s.reset(nil, Limits{})
	scanners.Put(s)
	return loose, err
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// reset keeps the storage, unless a document has made it large.
func (s *scanner) reset(doc []byte, l Limits) {
	s.doc, s.limits = doc, l
	s.pos, s.nodes, s.depth, s.loose = 0, 0, 0, false
	s.names, s.arena = s.names[:0], s.arena[:0]
	if cap(s.names) > 1024 {
		s.names = nil
	}
	if cap(s.arena) > 1<<16 {
		s.arena = nil
	}
}

// scanner walks a document once. It never recurses: the depth is the peer's
// choice, the stack is ours.
type scanner struct {
	doc    []byte
	pos    int
	limits Limits
	nodes  int
	depth  int // open containers
	levels [MaxDepth]level
	names  []name // of all open objects, innermost last
	arena  []byte // decoded names
	loose  bool   // some integer is not written as one
}

// level is one open container.
type level struct {
	entries int32
	names   int32 // where the object's names begin in scanner.names
	object  bool
}

func (s *scanner) fail(cause error, at int, detail string) error {
	return &Error{Offset: at, Detail: detail, cause: cause}
}

func (s *scanner) document() error {
	if len(s.doc) > s.limits.Bytes {
		return s.fail(ErrLimit, s.limits.Bytes, "the document is too long")
	}
	if !utf8.Valid(s.doc) {
		return s.fail(ErrUTF8, invalidAt(s.doc), "every document is UTF-8")
	}
	for {
		done, err := s.value()
		if err != nil {
			return err
		}
		if !done {
			continue // a container opened; its first value is next
		}
		more, err := s.after()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if s.space(); s.pos < len(s.doc) {
		return s.fail(ErrSyntax, s.pos, "something follows the value")
	}
	return nil
}

// space skips white space.
func (s *scanner) space() {
	for s.pos < len(s.doc) && s.doc[s.pos] <= ' ' && isSpace(s.doc[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// value reads one value, or opens a container that is not empty; then it is not
// done, and stands before the container's first value.
func (s *scanner) value() (done bool, err error) {
	s.space()
	if s.pos >= len(s.doc) {
		return false, s.fail(ErrSyntax, s.pos, "a value is missing")
	}
	if s.nodes++; s.nodes > s.limits.Nodes {
		return false, s.fail(ErrLimit, s.pos, "too many values")
	}
	if s.depth >= s.limits.Depth {
		return false, s.fail(ErrLimit, s.pos, "nested too deep")
	}
	switch c := s.doc[s.pos]; c {
	case '{', '[':
		s.pos++
		s.levels[s.depth] = level{object: c == '{', names: int32(len(s.names))}
		s.depth++
		s.space()
		if s.pos < len(s.doc) && s.doc[s.pos] == c+2 { // '}' and ']' come two after
			s.pos++
			s.depth--
			return true, nil
		}
		return false, s.entry()
	case '"':
		n, err := s.text(s.limits.StringBytes)
		if err == nil && n > s.limits.StringBytes {
			err = s.fail(ErrLimit, s.pos, "a string is too long")
		}
		return true, err
	case 't':
		return true, s.word("true")
	case 'f':
		return true, s.word("false")
	case 'n':
		return true, s.word("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true, s.number()
	}
	return false, s.fail(ErrSyntax, s.pos, "no value begins like this")
}

func (s *scanner) word(w string) error {
	if len(s.doc)-s.pos < len(w) || string(s.doc[s.pos:s.pos+len(w)]) != w {
		return s.fail(ErrSyntax, s.pos, "no value begins like this")
	}
	s.pos += len(w)
	return nil
}

// entry counts one more entry of the innermost container, and for an object reads
// the member's name and colon.
func (s *scanner) entry() error {
	l := &s.levels[s.depth-1]
	if l.entries++; int(l.entries) > s.limits.Entries {
		return s.fail(ErrLimit, s.pos, "an object or array has too many entries")
	}
	if !l.object {
		return nil
	}
	s.space()
	if err := s.name(l); err != nil {
		return err
	}
	s.space()
	if s.pos >= len(s.doc) || s.doc[s.pos] != ':' {
		return s.fail(ErrSyntax, s.pos, "a colon is missing")
	}
	s.pos++
	return nil
}

// after stands behind a value. It closes what ends here and says whether another
// value must follow.
func (s *scanner) after() (more bool, err error) {
	for s.depth > 0 {
		s.space()
		if s.pos >= len(s.doc) {
			return false, s.fail(ErrSyntax, s.pos, "an object or array is not closed")
		}
		l := &s.levels[s.depth-1]
		switch c := s.doc[s.pos]; {
		case c == ',':
			s.pos++
			return true, s.entry()
		case c == '}' && l.object:
			if err := s.closeNames(l); err != nil {
				return false, err
			}
		case c == ']' && !l.object:
		default:
			return false, s.fail(ErrSyntax, s.pos, "a comma or the end of an object or array is missing")
		}
		s.pos++
		s.depth--
	}
	return false, nil
}

// invalidAt finds the first byte that makes doc invalid.
func invalidAt(doc []byte) int {
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(doc)
}
