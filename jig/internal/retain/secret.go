package retain

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Holds says whether a secret occurs anywhere in content, which is lines of JSON:
// as it is, as JSON writes it, or in a text or name as it reads once decoded. Of a
// bearer the token counts by itself. What cannot be read as JSON holds a secret as
// far as anybody knows.
func Holds(content []byte, secrets []string) bool {
	var wanted []string
	for _, s := range secrets {
		for _, one := range []string{s, afterScheme(s)} {
			if one != "" {
				wanted = append(wanted, one)
			}
		}
	}
	if len(wanted) == 0 {
		return false
	}
	for _, s := range wanted {
		if bytes.Contains(content, []byte(s)) || bytes.Contains(content, escaped(s)) {
			return true
		}
	}
	for line := range bytes.Lines(content) {
		// Without an escape a text is its own bytes, which were searched.
		if bytes.IndexByte(line, '\\') >= 0 && spells(line, wanted) {
			return true
		}
	}
	return false
}

func afterScheme(s string) string {
	token, ok := strings.CutPrefix(s, "Bearer ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(token)
}

// escaped is s as JSON writes it, without the quotes.
func escaped(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return []byte(s) // not text: only its bytes can be looked for
	}
	return b[1 : len(b)-1]
}

// spells says whether a text or name of a line reads as something with a secret in
// it.
func spells(line []byte, wanted []string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return d.InputOffset() < int64(len(bytes.TrimSpace(line)))
		}
		if t.Kind() != '"' {
			continue
		}
		text := t.String()
		for _, s := range wanted {
			if strings.Contains(text, s) {
				return true
			}
		}
	}
}
