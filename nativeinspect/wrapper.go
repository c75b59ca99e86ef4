package nativeinspect

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// wrapperMarker starts the declaration that makeBinaryWrapper leaves in a wrapper.
const wrapperMarker = "makeCWrapper '"

// declaration is what a wrapper of the supported form does: it starts target with
// the same arguments, and with folders in front of PATH.
type declaration struct {
	target string
	prefix []string
}

// readWrapper looks for a declaration in the bytes of a whole file. It returns nil
// if there is none, and an error if it is not exactly of the supported form
// (finite-acp 5d). Nothing of the text gets into the error: other forms may set
// secrets.
func readWrapper(data []byte) (*declaration, error) {
	start := bytes.Index(data, []byte(wrapperMarker))
	if start < 0 {
		return nil, nil
	}
	text := data[start:]
	if bytes.Contains(text[len(wrapperMarker):], []byte(wrapperMarker)) {
		return nil, because(ReasonWrapperForm)
	}
	end := bytes.Index(text, []byte("\n\n"))
	if end < 0 || end > 2*maxStringBytes || !utf8.Valid(text[:end]) {
		return nil, because(ReasonWrapperForm)
	}
	target, rest, ok := quoted(strings.TrimPrefix(string(text[:end]), "makeCWrapper "))
	rest, ok2 := strings.CutPrefix(rest, " \\\n    --inherit-argv0 \\\n    --prefix 'PATH' ':' ")
	dirs, rest, ok3 := quoted(rest)
	if !ok || !ok2 || !ok3 || rest != "" || !normalised(target) {
		return nil, because(ReasonWrapperForm)
	}
	d := &declaration{target: target, prefix: strings.Split(dirs, ":")}
	for _, dir := range d.prefix {
		if !normalised(dir) {
			return nil, because(ReasonWrapperForm)
		}
	}
	return d, nil
}

// quoted cuts a text in single quotes off the front. A quote inside the text, which
// a shell would write as '\”, is not supported.
func quoted(s string) (text, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "'")
	if !ok {
		return "", "", false
	}
	text, rest, ok = strings.Cut(s, "'")
	return text, rest, ok && !strings.ContainsAny(text, "\n\\")
}
