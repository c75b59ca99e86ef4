package acpframing

import (
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/acpframing/internal/text"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// spare is by how much the room for a text is larger than the text: whole words are
// written, and the length is looked at after each.
const spare = 16

// The two spellings that nearly every item has: canonical JSON, which a host
// sends on, and the order in which people write it.
const (
	canonicalMore = `{"end":false,"kind":"data","text":"`
	canonicalLast = `{"end":true,"kind":"data","text":"`
	canonicalTail = `}`
	writtenHead   = `{"kind":"data","text":"`
	writtenMore   = `,"end":false}`
	writtenLast   = `,"end":true}`
)

// readItem decodes the text of a data fragment into dst, which has room for most
// bytes and spare more.
func readItem(dst, item []byte, most int) (n int, end bool, broken Rule) {
	if len(item) > MaxItemBytes {
		return 0, false, RuleShape
	}
	at := 0
	switch {
	case hasPrefix(item, canonicalMore):
		at = len(canonicalMore)
	case hasPrefix(item, canonicalLast):
		at, end = len(canonicalLast), true
	case hasPrefix(item, writtenHead):
		at = len(writtenHead)
	}
	if at > 0 {
		n, tail, broken := unquote(dst, item, at, most)
		if broken != "" {
			return 0, false, broken
		}
		switch rest := string(item[tail:]); {
		case at != len(writtenHead) && rest == canonicalTail,
			at == len(writtenHead) && rest == writtenMore:
			return n, end, checkDecoded(dst[:n])
		case at == len(writtenHead) && rest == writtenLast:
			return n, true, checkDecoded(dst[:n])
		}
	}
	return readAnyItem(dst, item, most)
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// readAnyItem does what readItem does for every other spelling: white space,
// escapes in names, another order.
func readAnyItem(dst, item []byte, most int) (n int, end bool, broken Rule) {
	switch err := json0.Check(item); {
	case errors.Is(err, json0.ErrSurrogate), errors.Is(err, json0.ErrUTF8):
		return 0, false, RuleUnicode
	case err != nil:
		return 0, false, RuleShape
	}
	// From here on item is JSON/0: every step below finds what it expects.
	w := walker{b: item}
	if w.next() != '{' {
		return 0, false, RuleShape
	}
	w.i++
	members := 0
	for ; w.next() == '"'; members++ {
		name := w.short()
		w.next() // the colon
		w.i++
		switch c := w.next(); {
		case name == "kind" && c == '"' && w.short() == "data":
		case name == "end" && (c == 't' || c == 'f'):
			end = c == 't'
			w.word()
		case name == "text" && c == '"':
			if n, w.i, broken = unquote(dst, item, w.i+1, most); broken != "" {
				return 0, false, broken
			}
		default:
			return 0, false, RuleShape
		}
		if w.next() == ',' {
			w.i++
		}
	}
	if members != 3 { // three names without a duplicate: all of them
		return 0, false, RuleShape
	}
	return n, end, checkDecoded(dst[:n])
}

// walker steps through JSON that was checked before.
type walker struct {
	b []byte
	i int
}

// next skips white space and returns the byte there.
func (w *walker) next() byte {
	for w.b[w.i] == ' ' || w.b[w.i] == '\t' || w.b[w.i] == '\n' || w.b[w.i] == '\r' {
		w.i++
	}
	return w.b[w.i]
}

// word skips a literal.
func (w *walker) word() {
	for 'a' <= w.b[w.i] && w.b[w.i] <= 'z' {
		w.i++
	}
}

// short reads a string and returns it if it is one of the words of a fragment.
func (w *walker) short() string {
	var b [8]byte
	n, i := 0, w.i+1
	for w.b[i] != '"' {
		r, used := rune(w.b[i]), 1
		if r == '\\' {
			r, used = text.Unescape(w.b[i:])
		}
		if r >= utf8.RuneSelf || n == len(b) {
			r, n = 0, 0 // not one of ours; go on to its end
		}
		b[n] = byte(r)
		n++
		i += used
	}
	w.i = i + 1
	for _, word := range []string{"kind", "text", "end", "data"} {
		if string(b[:n]) == word {
			return word
		}
	}
	return ""
}

// unquote decodes the string in item whose first byte after the quote is at i, and
// returns how many bytes it has and where item goes on behind the closing quote.
// It stops as soon as the text is longer than most.
func unquote(dst, item []byte, i, most int) (n, tail int, broken Rule) {
	for {
		// Whole words without anything special, then the bytes up to what is. Where
		// in the word that is, is not computed: the processor guesses it.
		for i+8 <= len(item) && n <= most {
			x := binary.LittleEndian.Uint64(item[i:])
			binary.LittleEndian.PutUint64(dst[n:], x)
			if text.Special(x) != 0 {
				break
			}
			n += 8
			i += 8
		}
		for i < len(item) && n <= most && !text.IsSpecial(item[i]) {
			dst[n] = item[i]
			n++
			i++
		}
		switch {
		case n > most:
			return 0, 0, RuleFragmentBytes
		case i >= len(item):
			return 0, 0, RuleShape
		case item[i] == '"':
			return n, i + 1, ""
		case item[i] != '\\':
			return 0, 0, RuleShape // a control character
		}
		if i+1 < len(item) {
			if d := unescaped[item[i+1]]; d != 0 {
				dst[n] = d
				n++
				i += 2
				continue
			}
		}
		r, used := text.Unescape(item[i:])
		switch used {
		case text.Bad:
			return 0, 0, RuleShape
		case text.Lone:
			return 0, 0, RuleUnicode
		}
		n += utf8.EncodeRune(dst[n:], r)
		i += used
	}
}

// unescaped is what the escapes of two bytes stand for, by their second byte.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escaped is the second byte of the escapes of two bytes, by what they stand for.
var escaped = [256]byte{
	'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't',
}

// checkDecoded looks at a text that is not too long.
func checkDecoded(t []byte) Rule {
	switch {
	case len(t) == 0:
		return RuleEmpty
	case !utf8.Valid(t):
		return RuleUnicode
	}
	return ""
}

// checkText looks at a text from outside.
func checkText(t []byte, most int) Rule {
	if len(t) > most {
		return RuleFragmentBytes
	}
	return checkDecoded(t)
}

// appendItem appends a fragment's item in canonical form.
func appendItem(dst, t []byte, end bool) []byte {
	const widest = 6 // an escape of a control character
	dst = slices.Grow(dst, len(canonicalMore)+widest*len(t)+8+len(`"}`))
	if end {
		dst = append(dst, canonicalLast...)
	} else {
		dst = append(dst, canonicalMore...)
	}
	n := len(dst)
	dst = dst[:n+quote(dst[n:cap(dst)], t)]
	return append(dst, `"}`...)
}

// quote writes t as the inside of a JSON string, with the escapes that canonical
// JSON has, into dst, which has room for 6 bytes for each of t and 8 more. It
// returns the length.
func quote(dst, t []byte) int {
	n, i := 0, 0
	for ; i+8 <= len(t); i += 8 {
		x := binary.LittleEndian.Uint64(t[i:])
		binary.LittleEndian.PutUint64(dst[n:], x)
		left := 8
		for m := text.Special(x); m != 0; {
			k := text.First(m)
			n += k
			if c := byte(x >> (8 * k)); escaped[c] != 0 {
				binary.LittleEndian.PutUint16(dst[n:], uint16(escaped[c])<<8|'\\')
				n += 2
			} else {
				n += escape(dst[n:], c)
			}
			left -= k + 1
			x >>= 8*k + 8
			m >>= 8*k + 8
			binary.LittleEndian.PutUint64(dst[n:], x)
		}
		n += left
	}
	for ; i < len(t); i++ {
		if text.IsSpecial(t[i]) {
			n += escape(dst[n:], t[i])
			continue
		}
		dst[n] = t[i]
		n++
	}
	return n
}

func escape(dst []byte, c byte) int {
	_ = dst[5]
	dst[0] = '\\'
	if e := escaped[c]; e != 0 {
		dst[1] = e
		return 2
	}
	const hex = "0123456789abcdef"
	dst[1], dst[2], dst[3], dst[4], dst[5] = 'u', '0', '0', hex[c>>4], hex[c&15]
	return 6
}

// cut returns where the first fragment of t ends: at most most bytes on, between
// two scalars.
func cut(t []byte, most int) int {
	if len(t) <= most {
		return len(t)
	}
	n := most
	for !utf8.RuneStart(t[n]) {
		n--
	}
	return n
}
