// Package text holds what both directions of JSON strings need: finding the bytes
// that cannot stand in one as they are, and reading escapes.
package text

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = 0x8080808080808080
)

// Special marks, in the high bit of each byte, the bytes of x that a string does
// not hold as they are: controls, quotes and backslashes. Nothing carries from one
// byte to the next, so every mark is right.
func Special(x uint64) uint64 {
	control := x&lows + ones*(0x80-' ')
	quote := (x^ones*'"')&lows + lows
	slash := (x^ones*'\\')&lows + lows
	// A high bit is missing for what was found; bytes beyond ASCII have their own.
	return ^(control & quote & slash) &^ x & highs
}

// First returns which byte of the word the lowest mark is for.
func First(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// IsSpecial is Special for one byte.
func IsSpecial(c byte) bool { return special[c] }

var special = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c < ' ' || c == '"' || c == '\\'
	}
	return t
}()

// Plain returns the first position from i on at which b has a special byte, or the
// end of b.
func Plain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := Special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + First(m)
		}
	}
	for i < len(b) && !IsSpecial(b[i]) {
		i++
	}
	return i
}

// What Unescape returns for bytes that are no escape, and for one that is half a
// surrogate pair.
const (
	Bad  = 0
	Lone = -1
)

// Unescape reads the escape with which b begins, the backslash included. It
// returns the scalar and how many bytes it took, or Bad or Lone.
func Unescape(b []byte) (r rune, n int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, Bad
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := unit(b)
		if !ok {
			return 0, Bad
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		second, ok := unit(b[6:])
		if pair := utf16.DecodeRune(r, second); ok && pair != utf8.RuneError {
			return pair, 12
		}
		return 0, Lone
	}
	return 0, Bad
}

// unit reads \uXXXX.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
