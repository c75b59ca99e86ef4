package source

import (
	"sort"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Map leads from a place in transformed code back to what the author wrote. It is
// read when somebody asks first, which most Flows never do.
type Map struct {
	mappings string // of a source map with one source
	lines    func() [][]segment
}

// segment says where the code from column on comes from. All count from 0, in
// UTF-16 units, as esbuild counts.
type segment struct{ column, line, sourceColumn int }

// readMap takes a source map with one source, or returns nil.
func readMap(raw []byte) *Map {
	var f struct {
		Mappings string `json:"mappings"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return newMap(f.Mappings)
}

func newMap(mappings string) *Map {
	return &Map{mappings: mappings, lines: sync.OnceValue(func() [][]segment { return readMappings(mappings) })}
}

// readMappings gives the segments by line of the code, from 0.
func readMappings(mappings string) (lines [][]segment) {
	line, sourceColumn := 0, 0
	for text := range strings.SplitSeq(mappings, ";") {
		column := 0
		var segments []segment
		for field := range strings.SplitSeq(text, ",") {
			n := decodeVLQ(field)
			if len(n) > 0 {
				column += n[0]
			}
			if len(n) < 4 {
				continue
			}
			line += n[2]
			sourceColumn += n[3]
			segments = append(segments, segment{column, line, sourceColumn})
		}
		lines = append(lines, segments)
	}
	return lines
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func decodeVLQ(s string) (out []int) {
	value, shift := 0, 0
	for i := range len(s) {
		digit := strings.IndexByte(base64, s[i])
		if digit < 0 || shift > 30 {
			return out
		}
		value |= (digit & 31) << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		out = append(out, value/2)
		value, shift = 0, 0
	}
	return out
}

// Original gives the place in the author's file for a line and column of the
// code, all from 1.
func (m *Map) Original(line, column int) (int, int, bool) {
	if m == nil || line < 1 {
		return 0, 0, false
	}
	lines := m.lines()
	if line > len(lines) {
		return 0, 0, false
	}
	segments := lines[line-1]
	i := sort.Search(len(segments), func(i int) bool { return segments[i].column > column-1 })
	if i == 0 {
		return 0, 0, false
	}
	s := segments[i-1]
	return s.line + 1, s.sourceColumn + 1, true
}
