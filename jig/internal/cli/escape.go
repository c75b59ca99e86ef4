package cli

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// invisible are characters that print nothing, or that change how others print,
// and that unicode.IsPrint lets pass.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1}, {0xfeff, 0xfeff, 1}, {0xffa0, 0xffa0, 1}, {0xfff0, 0xfffd, 1},
	},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
}

// harmless says whether a terminal shows r, and does nothing else.
func harmless(r rune) bool { return unicode.IsPrint(r) && !unicode.Is(invisible, r) }

const (
	// maxShown bounds one text of somebody else on a terminal, in bytes.
	maxShown = 2048
	// maxSpaces are the most spaces one after the other: more could push what comes
	// next to the start of a line, where it looks like jig's own.
	maxSpaces = 3
)

// escape makes a name, a path or a message of somebody else fit to be shown: on
// one line, without a character that a terminal would act on or that nobody can
// see, and bounded.
func escape(s string) string { return escaped(s, maxShown, maxSpaces) }

// escapeText does the same for what a person has asked for: a line of an answer, of
// a Flow or of an agent, whole and with its spaces. It is shown where nothing of
// jig's own is to be read.
func escapeText(s string) string { return escaped(s, math.MaxInt, math.MaxInt) }

func escaped(s string, mostBytes, mostSpaces int) string {
	var b strings.Builder
	spaces := 0
	for i, r := range s {
		if b.Len() > mostBytes {
			b.WriteString("…")
			break
		}
		if spaces++; r != ' ' {
			spaces = 0
		}
		switch {
		case spaces > mostSpaces:
			b.WriteString(`\u{20}`)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case harmless(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// escapeJSON is JSON of the same value as b, which is valid and without white space
// between its tokens, in which the characters that escape would not let pass have
// the form \uXXXX. All of them stand in strings.
func escapeJSON(b []byte) []byte {
	var out []byte
	from := 0 // what is before it is in out
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if !harmless(r) {
			out = append(out, b[from:i]...)
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}
