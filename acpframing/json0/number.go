package json0

import (
	"math"
	"strconv"
)

const maxSafe = 1<<53 - 1

// number reads a number and checks it by its value.
func (s *scanner) number() error {
	start, i := s.pos, s.pos
	doc := s.doc
	if doc[i] == '-' {
		i++
	}
	first := i
	for i < len(doc) && isDigit(doc[i]) {
		i++
	}
	digits := i - first
	if digits == 0 || digits > 1 && doc[first] == '0' {
		return s.fail(ErrSyntax, first, "no number looks like this")
	}
	integer := true
	if i < len(doc) && doc[i] == '.' {
		integer = false
		i++
		fraction := i
		for i < len(doc) && isDigit(doc[i]) {
			i++
		}
		if i == fraction {
			return s.fail(ErrSyntax, i, "no number looks like this")
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		integer = false
		i++
		if i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		exponent := i
		for i < len(doc) && isDigit(doc[i]) {
			i++
		}
		if i == exponent {
			return s.fail(ErrSyntax, i, "no number looks like this")
		}
	}
	if i-start > s.limits.NumberBytes {
		return s.fail(ErrLimit, start, "a number is too long")
	}
	s.pos = i
	if !integer || first > start && doc[first] == '0' {
		s.loose = true
	}
	if integer && digits <= 15 {
		return nil // below 10^15, and exact
	}
	f, err := strconv.ParseFloat(string(doc[start:i]), 64)
	if err != nil { // the grammar is right, so it is the range
		return s.fail(ErrNumber, start, "not finite as binary64")
	}
	if math.Abs(f) > maxSafe && f == math.Trunc(f) {
		return s.fail(ErrNumber, start, "an integer beyond 2^53-1")
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
