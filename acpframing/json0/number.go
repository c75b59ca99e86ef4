package json0

import (
	"math"
	"strconv"
)

const maxSafe = 1<<53 - 1

// number reads a number and checks it by its value.
func (s *scanner) number() error {
	doc, start := s.doc, s.pos
	first := start
	if doc[first] == '-' {
		first++
	}
	i := digits(doc, first)
	whole := i - first
	if whole == 0 || whole > 1 && doc[first] == '0' {
		return s.fail(ErrSyntax, first, "no number looks like this")
	}
	point, power := i, 0
	if i < len(doc) && doc[i] == '.' {
		if i = digits(doc, i+1); i == point+1 {
			return s.fail(ErrSyntax, i, "no number looks like this")
		}
	}
	fraction := i
	if i < len(doc) && doc[i]|0x20 == 'e' {
		i++
		if i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		if power = digits(doc, i); power == i {
			return s.fail(ErrSyntax, i, "no number looks like this")
		}
		i = power
	}
	if i-start > s.limits.NumberBytes {
		return s.fail(ErrLimit, start, "a number is too long")
	}
	s.pos = i
	if power == 0 && whole <= 15 { // at most 10^15, whatever follows the point
		switch {
		case point == fraction:
			s.loose = s.loose || first > start && doc[first] == '0' // -0
			return nil
		case fraction-first <= 16:
			s.loose = s.loose || onlyZeros(doc[point+1:fraction])
			return nil
		}
	}
	f, err := strconv.ParseFloat(string(doc[start:i]), 64)
	if err != nil { // the grammar is right, so it is the range
		return s.fail(ErrNumber, start, "not finite as binary64")
	}
	if math.Abs(f) > maxSafe { // so large, it is an integer
		return s.fail(ErrNumber, start, "an integer beyond 2^53-1")
	}
	s.loose = s.loose || f == math.Trunc(f) && (power > 0 || point < fraction)
	return nil
}

// digits returns where the digits from i on end.
func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

func onlyZeros(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return true
}
