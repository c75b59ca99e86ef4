package json0

import (
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/acpframing/internal/text"
)

// text reads a string, from quote to quote, and returns how many bytes it has
// decoded. It stops early, with a number too large, once that is beyond most.
func (s *scanner) text(most int) (int, error) {
	start := s.pos + 1
	less := 0 // how many bytes fewer than written
	for i := start; ; {
		i = text.Plain(s.doc, i)
		if i-start-less > most {
			return i - start - less, nil
		}
		if i >= len(s.doc) {
			return 0, s.fail(ErrSyntax, i, "a string is not closed")
		}
		switch s.doc[i] {
		case '"':
			s.pos = i + 1
			return i - start - less, nil
		case '\\':
			r, n := text.Unescape(s.doc[i:])
			switch n {
			case text.Bad:
				return 0, s.fail(ErrSyntax, i, "no escape looks like this")
			case text.Lone:
				return 0, s.fail(ErrSurrogate, i, "a string holds Unicode scalars only")
			}
			i += n
			less += n - utf8.RuneLen(r)
		default:
			return 0, s.fail(ErrSyntax, i, "a control character stands in a string")
		}
	}
}
