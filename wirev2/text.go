package wirev2

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapedLen is the number of bytes that an ASCII byte takes in a string as the daemon writes it.
var escapedLen = func() (n [utf8.RuneSelf]uint8) {
	for c := range n {
		switch {
		case strings.IndexByte("\"\\\b\f\n\r\t", byte(c)) >= 0:
			n[c] = 2
		case c < ' ' || c == 0x7f:
			n[c] = 6
		default:
			n[c] = 1
		}
	}
	return n
}()

// load returns the eight bytes of s from i on.
func load(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plainRun returns the index from i on of the first character of s that is not written as it stands, or may not be.
func plainRun(s string, i int) int {
	for len(s)-i >= 8 {
		w := load(s, i)
		del := w ^ (0x7f * ones)
		if m := unplain(w) | (del-ones)&^del&highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] < utf8.RuneSelf && escapedLen[s[i]] == 1 {
		i++
	}
	return i
}

// EncodedStringLen returns how many bytes s takes between the quotes as the daemon writes it: what the budgets of
// prompts and assistant text count. The lengths of pieces add up as long as no piece ends inside a character.
func EncodedStringLen(s string) int {
	n := len(s)
	for i := plainRun(s, 0); i < len(s); i = plainRun(s, i) {
		for ; i < len(s) && s[i] >= utf8.RuneSelf; i++ {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == '\u2028' || r == '\u2029':
				n += 6 - size
			case r == utf8.RuneError:
				n += 3 - size // an invalid byte is written as U+FFFD
			}
			i += size - 1
		}
		for ; i < len(s) && s[i] < utf8.RuneSelf && escapedLen[s[i]] != 1; i++ {
			n += int(escapedLen[s[i]]) - 1
		}
	}
	return n
}

// AppendString appends s as the daemon writes it, quotes included: quote, backslash, U+0000 to U+001F, U+007F, U+2028
// and U+2029 are escaped, by the two-character escape where JSON has one and as \u00xx in lower case otherwise; nothing
// else is. A byte that is not UTF-8 becomes U+FFFD. (wire-v2 1)
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := plainRun(s, 0); i < len(s); i = plainRun(s, i) {
		for ; i < len(s) && s[i] >= utf8.RuneSelf; i++ {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
				dst = appendEscape(append(dst, s[from:i]...), r)
				from = i + size
			}
			i += size - 1
		}
		for ; i < len(s) && s[i] < utf8.RuneSelf && escapedLen[s[i]] != 1; i++ {
			dst = appendEscape(append(dst, s[from:i]...), rune(s[i]))
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendEscape appends r as it stands in a string that the daemon writes.
func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\b':
		return append(dst, '\\', 'b')
	case r == '\f':
		return append(dst, '\\', 'f')
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
		const hex = "0123456789abcdef"
		return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// appendCompact appends raw, which must be valid JSON, in the form the daemon writes.
func appendCompact(dst, raw []byte) []byte {
	from := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
			dst = append(dst, raw[from:i]...)
			i++
			from = i
		case '"':
			dst = append(dst, raw[from:i]...)
			dst, i = appendCompactString(dst, raw, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, raw[from:]...)
}

// appendCompactString appends the valid string that begins at i, and returns the index behind it.
func appendCompactString(dst, raw []byte, i int) ([]byte, int) {
	from := i
	i++
	for {
		for len(raw)-i >= 8 {
			if m := unwritten(binary.LittleEndian.Uint64(raw[i : i+8])); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		switch c := raw[i]; {
		case c == '"':
			return append(dst, raw[from:i+1]...), i + 1
		case c == '\\' && raw[i+1] != 'u' && raw[i+1] != '/':
			i += 2 // written the same
		case c == '\\':
			r, n := unescapeRune(raw[i:])
			dst = appendEscape(append(dst, raw[from:i]...), r)
			i += n
			from = i
		case c == 0x7f:
			dst = appendEscape(append(dst, raw[from:i]...), 0x7f)
			i++
			from = i
		case c == 0xe2 && raw[i+1] == 0x80 && raw[i+2]|1 == 0xa9:
			dst = appendEscape(append(dst, raw[from:i]...), '\u2028'+rune(raw[i+2]&1))
			i += 3
			from = i
		default:
			i++
		}
	}
}

// unwritten marks, as unplain does, the bytes of w that end a string or may have to be written otherwise.
func unwritten(w uint64) uint64 {
	quote := w ^ ('"' * ones)
	slash := w ^ ('\\' * ones)
	del := w ^ (0x7f * ones)
	sep := w ^ (0xe2 * ones)
	return ((quote-ones)&^quote | (slash-ones)&^slash | (del-ones)&^del | (sep-ones)&^sep) & highs
}

// OneLine returns s as one line for a person, at most maxBytes long: invalid UTF-8 becomes U+FFFD, a run of white space
// and control characters one space, and what is cut off ends in "…". (wire-v2 5)
func OneLine(s string, maxBytes int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	s = b.String()
	if len(s) <= maxBytes {
		return s
	}
	const cut = "…"
	if maxBytes < len(cut) {
		return ""
	}
	end := maxBytes - len(cut)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cut
}
