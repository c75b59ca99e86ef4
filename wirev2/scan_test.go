package wirev2

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// strict reports what the scanner thinks of one text.
func strict(in []byte, maxDepth int) bool {
	var s scanner
	return s.scan(in, 1, maxDepth)
}

// depthOf returns the nesting depth of valid JSON.
func depthOf(in []byte) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// sameVerdict holds the scanner to jsontext, which it must equal but for depth, and to encoding/json, whose accepted set
// is larger.
func sameVerdict(t *testing.T, in []byte) {
	t.Helper()
	got := strict(in, defaultMaxDepth)
	want := jsontext.Value(in).IsValid() && depthOf(in) <= defaultMaxDepth
	require.Equal(t, want, got, "%q", in)
	if got {
		require.True(t, stdjson.Valid(in), "%q", in)
	}
}

var texts = []string{
	``, ` `, `{}`, `[]`, ` { } `, `[ ]`, `{"a":1}`, `{"a":1,}`, `{,}`, `[,]`, `[1,]`, `[1 2]`, `{"a" 1}`, `{"a":}`, `{1:2}`,
	`{"a":1 "b":2}`, `{"a":1}}`, `{"a":1}{}`, `{"a":1} x`, `{`, `[`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`,
	`true`, `false`, `null`, `tru`, `nul`, `falsy`, `True`, `nullx`, `-`, `-0`, `0`, `00`, `01`, `1.`, `.5`, `1.5`, `1e5`,
	`1E+5`, `1e-`, `1e+`, `-1.25e-10`, `+1`, `1_0`, `0x1`, `NaN`, `Infinity`, `1.e1`, `123456789012345678901234567890`,
	`""`, `"a`, `"\u0041"`, `"\u004"`, `"\u00g0"`, `"\x"`, `"\`, `"\u`, `"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`,
	`"\ud83d\u0041"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ude00\ud83d"`, `"\uD83D\uDE00"`, `"\"\\\/\b\f\n\r\t"`,
	"\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\n\"", "\"\t\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xc1\xbf\"", "\"\xc2\x80\"",
	"\"\xe0\x80\x80\"", "\"\xe0\xa0\x80\"", "\"\xed\xa0\x80\"", "\"\xed\x9f\xbf\"", "\"\xf0\x8f\xbf\xbf\"",
	"\"\xf0\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xe2\x80\"",
	"\"\xe2\x80\xa8\"", "\"\xef\xbf\xbd\"", "\"é\"", "\"日本語\"", "\"😀\"", "\"abcdefgé\"", "\"\xc3\"", "\"\xe2\x28\xa1\"",
	"\xef\xbb\xbf{}", "{}\r", "\v{}", "\f{}", "\u00a0{}", "/*x*/{}", "{}//x", "'a'", `{'a':1}`, `{a:1}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `[{"a":1,"a":1}]`,
	`{"a":{"a":{"a":1}}}`, `[{"a":1},{"a":1}]`, `{"a":1,"A":2}`, `{"":1,"":2}`, `{"é":1,"\u00e9":2}`,
	`{"😀":1,"\ud83d\ude00":2}`, `{"a":{"x":1},"b":{"x":1}}`, `{"a\/b":1,"a/b":2}`,
}

// rule: W-012, W-013, W-014, W-015, W-017
func TestScannerAgreesWithTheJSONModule(t *testing.T) {
	for _, text := range texts {
		sameVerdict(t, []byte(text))
	}
}

// rule: W-016
func TestDepthLimit(t *testing.T) {
	for _, pair := range []string{"[]", "{}"} {
		for depth, want := range map[int]bool{31: true, 32: true, 33: false} {
			open, shut := `{"a":`, "}"
			if pair == "[]" {
				open, shut = "[", "]"
			}
			text := strings.Repeat(open, depth-1) + pair + strings.Repeat(shut, depth-1)
			require.Equal(t, want, strict([]byte(text), 32), "%s %d", pair, depth)
			sameVerdict(t, []byte(text))
		}
	}
}

// rule: W-014
func TestDuplicatesAmongManyNames(t *testing.T) {
	for _, n := range []int{1, fewNames - 1, fewNames, fewNames + 1, fewNames + 2, 5000} {
		var b strings.Builder
		for i := range n {
			// An object inside has names of its own, and takes up the places of the map.
			b.WriteString(`"n` + strconv.Itoa(i) + `":{"n0":1,"n1":2},`)
		}
		many := b.String()
		sameVerdict(t, []byte(`{`+many+`"last":1}`))
		for _, i := range []int{0, n / 2, n - 1} {
			require.False(t, strict([]byte(`{`+many+`"n`+strconv.Itoa(i)+`":1}`), 32), "%d of %d", i, n)
			require.False(t, strict([]byte(`{`+many+`"\u006e`+strconv.Itoa(i)+`":1}`), 32), "%d of %d", i, n)
			require.False(t, strict([]byte(`{"x":{`+many+`"n`+strconv.Itoa(i)+`":1}}`), 32), "%d of %d", i, n)
		}
	}
}

func TestScannerKeepsNoRoomOfALargeText(t *testing.T) {
	var b strings.Builder
	for i := range keptNames * 2 {
		b.WriteString(`"\u006e` + strconv.Itoa(i) + `":1,`)
	}
	var s scanner
	require.True(t, s.scan([]byte(`{`+b.String()+`"last":1}`), 1, 32))
	require.True(t, s.scan([]byte(`{}`), 1, 32))
	require.Nil(t, s.names.index)
	require.Nil(t, s.names.names)
	require.Nil(t, s.names.arena)
	require.True(t, s.scan([]byte(`{"a":1}`), 1, 32))
}

// An adversary that knows the hash could make every name meet in one place; the set must stay right even then.
func TestNamesThatMeetInTheMapAreStillCompared(t *testing.T) {
	var s scanner
	var b strings.Builder
	for i := range fewNames + 4 {
		b.WriteString(`"n` + strconv.Itoa(i) + `":1,`)
	}
	in := []byte(`{` + b.String() + `"z":1}`)
	require.True(t, s.scan(in, 1, 32))
	set := &s.names
	set.reset(in)
	scope := set.open()
	for i := range fewNames {
		at := strings.Index(string(in), `"n`+strconv.Itoa(i)+`"`)
		require.True(t, set.add(scope, set.ref(at+1, at+2+len(strconv.Itoa(i)), false)))
	}
	z := strings.Index(string(in), `"z"`)
	ref := set.ref(z+1, z+2, false)
	set.index = map[uint64]named{set.key(scope.id, []byte("z")): {scope.id, 0}} // as if n0 had the hash of z
	set.names = append(set.names, set.ref(2, 3, false))
	require.True(t, set.add(scope, ref))
	require.False(t, set.add(scope, ref))
}

func FuzzScannerAgreesWithTheJSONModule(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) { sameVerdict(t, in) })
}
