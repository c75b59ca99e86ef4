package json0

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/acpframing/internal/text"
)

// name is where a member's decoded name lies.
type name struct {
	at      int32 // in the document, for errors
	from    int32
	to      int32
	decoded bool // in the arena, because it was written with escapes
}

// compareAtOnce is the number of members up to which every new name is compared
// with those before it. Larger objects are sorted when they close: n log n, no
// hash that a peer could aim at.
const compareAtOnce = 16

func (s *scanner) bytesOf(n name) []byte {
	if n.decoded {
		return s.arena[n.from:n.to]
	}
	return s.doc[n.from:n.to]
}

// name reads a member's name into the names of the object.
func (s *scanner) name(l *level) error {
	at := s.pos
	if at >= len(s.doc) || s.doc[at] != '"' {
		return s.fail(ErrSyntax, at, "a member name is missing")
	}
	length, err := s.text(s.limits.NameBytes)
	if err != nil {
		return err
	}
	if length > s.limits.NameBytes {
		return s.fail(ErrLimit, at, "a member name is too long")
	}
	n := name{at: int32(at), from: int32(at + 1), to: int32(s.pos - 1)}
	if int(n.to-n.from) != length {
		n.decoded = true
		from := len(s.arena)
		for raw := s.doc[n.from:n.to]; len(raw) > 0; {
			if raw[0] != '\\' {
				s.arena = append(s.arena, raw[0])
				raw = raw[1:]
				continue
			}
			r, used := text.Unescape(raw)
			s.arena = utf8.AppendRune(s.arena, r)
			raw = raw[used:]
		}
		n.from, n.to = int32(from), int32(len(s.arena))
	}
	if l.entries <= compareAtOnce {
		b := s.bytesOf(n)
		for _, other := range s.names[l.names:] {
			if other.to-other.from == n.to-n.from && bytes.Equal(b, s.bytesOf(other)) {
				return s.fail(ErrDuplicate, at, "this member was there before")
			}
		}
	}
	s.names = append(s.names, n)
	return nil
}

// closeNames ends an object: it looks for duplicates in a large one and forgets
// its names.
func (s *scanner) closeNames(l *level) error {
	names := s.names[l.names:]
	if l.entries > compareAtOnce {
		slices.SortFunc(names, func(x, y name) int {
			return cmp.Or(
				cmp.Compare(x.to-x.from, y.to-y.from),
				bytes.Compare(s.bytesOf(x), s.bytesOf(y)),
				cmp.Compare(x.at, y.at),
			)
		})
		for i := 1; i < len(names); i++ {
			if bytes.Equal(s.bytesOf(names[i-1]), s.bytesOf(names[i])) {
				return s.fail(ErrDuplicate, int(names[i].at), "this member was there before")
			}
		}
	}
	s.names = s.names[:l.names]
	if len(s.names) == 0 {
		s.arena = s.arena[:0]
	}
	return nil
}
