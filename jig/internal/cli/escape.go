package cli

import (
	"fmt"
	"strings"
	"unicode"
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

// maxShown bounds one text of somebody else on a terminal, in bytes.
const maxShown = 2048

// escape makes text of somebody else fit to be shown: on one line, without a
// character that a terminal would act on or that nobody can see, and bounded.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		if b.Len() > maxShown {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r) && !unicode.Is(invisible, r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
