package chat

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var errNotUTF8 = errors.New("chat: text is not UTF-8")

// joined is a text that comes in JSON strings whose borders may split a character.
type joined struct {
	b    []byte
	high rune // the first half of a surrogate pair whose second has not come, or 0
}

// add appends one JSON string, quotes included, whose syntax has been checked.
func (j *joined) add(raw jsontext.Value) error {
	if j.high == 0 {
		n := len(j.b)
		b, err := jsontext.AppendUnquote(j.b, raw)
		if err == nil {
			j.b = b
			return nil
		}
		j.b = j.b[:n]
	}
	return j.addParts(raw[1 : len(raw)-1])
}

// addParts unquotes and keeps what is no whole character as it stands.
func (j *joined) addParts(s []byte) error {
	for len(s) > 0 {
		if j.high != 0 {
			low, ok := escaped(s)
			whole := utf16.DecodeRune(j.high, low)
			if !ok || whole == utf8.RuneError {
				return errNotUTF8
			}
			j.b, j.high, s = utf8.AppendRune(j.b, whole), 0, s[6:]
			continue
		}
		if s[0] != '\\' {
			j.b, s = append(j.b, s[0]), s[1:]
			continue
		}
		unit, ok := escaped(s)
		switch {
		case !ok:
			j.b, s = append(j.b, short(s[1])), s[2:]
		case unit >= 0xD800 && unit < 0xDC00:
			j.high, s = unit, s[6:]
		case unit >= 0xDC00 && unit < 0xE000:
			return errNotUTF8
		default:
			j.b, s = utf8.AppendRune(j.b, unit), s[6:]
		}
	}
	return nil
}

// take gives the whole characters that have come, and keeps the beginning of one.
func (j *joined) take() (string, error) {
	n := len(j.b)
	for back := 1; back < utf8.UTFMax && back <= len(j.b); back++ {
		if c := j.b[len(j.b)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(j.b[len(j.b)-back:]) {
				n -= back
			}
			break
		}
	}
	if !utf8.Valid(j.b[:n]) {
		return "", errNotUTF8
	}
	whole := string(j.b[:n])
	j.b = append(j.b[:0], j.b[n:]...)
	return whole, nil
}

// all gives the whole text at its end.
func (j *joined) all() (string, error) {
	if j.high != 0 || !utf8.Valid(j.b) {
		return "", errNotUTF8
	}
	return string(j.b), nil
}

// empty reports that nothing has come, or all of it has been taken.
func (j *joined) empty() bool { return j.high == 0 && len(j.b) == 0 }

// escaped reads an escape of the form \uXXXX.
func escaped(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

// short gives the character of an escape of two.
func short(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default: // quote, backslash, slash
		return c
	}
}
