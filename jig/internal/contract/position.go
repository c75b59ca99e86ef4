package contract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Position finds where the value that pointer names stands in the JSON document
// raw: line and column from 1, in Unicode scalars. Where it is not there, what
// would hold it stands for it; without a document both are 0.
func Position(raw []byte, pointer string) (line, column int) {
	if len(raw) == 0 {
		return 0, 0
	}
	offset := int64(0)
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	best := -1
	for {
		before := d.InputOffset()
		if _, err := d.ReadToken(); err != nil {
			break
		}
		at := string(d.StackPointer())
		if (at == pointer || strings.HasPrefix(pointer, at+"/")) && len(at) > best {
			best, offset = len(at), before
		}
	}
	for offset < int64(len(raw)) && bytes.IndexByte([]byte(" \t\r\n,:"), raw[offset]) >= 0 {
		offset++
	}
	head := raw[:offset]
	line = 1 + bytes.Count(head, []byte("\n"))
	return line, 1 + utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:])
}
