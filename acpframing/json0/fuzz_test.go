package json0_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

var errRefused = errors.New("refused")

// reference is a second reading of JSON/0: another scanner's tokens, one by one,
// and the limits counted on them.
func reference(doc []byte) error {
	if len(doc) > json0.MaxBytes || !utf8.Valid(doc) {
		return errRefused
	}
	d := jsontext.NewDecoder(bytes.NewReader(doc))
	nodes, entries := 0, []int{0}
	for {
		depth := d.StackDepth()
		kind, length := d.StackIndex(depth)
		isName := kind == '{' && length%2 == 0
		token, err := d.ReadToken()
		if err == io.EOF && depth == 0 && length == 1 {
			return nil
		}
		if err != nil || depth == 0 && length == 1 {
			return errRefused
		}
		switch token.Kind() {
		case '}', ']':
			entries = entries[:len(entries)-1]
			continue
		}
		if isName {
			if len(token.String()) > json0.MaxNameBytes {
				return errRefused
			}
			continue
		}
		nodes++
		entries[len(entries)-1]++
		if nodes > json0.MaxNodes || depth+1 > json0.MaxDepth || depth > 0 && entries[len(entries)-1] > json0.MaxEntries {
			return errRefused
		}
		switch token.Kind() {
		case '{', '[':
			entries = append(entries, 0)
		case '"':
			if len(token.String()) > json0.MaxStringBytes {
				return errRefused
			}
		case '0':
			text := token.String()
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || len(text) > json0.MaxNumberBytes || f == math.Trunc(f) && math.Abs(f) > 1<<53-1 {
				return errRefused
			}
		}
	}
}

// compare holds Check, Parse and Canonical against the reference and against the
// standard library.
func compare(t testing.TB, doc []byte) {
	want := reference(doc)
	got := json0.Check(doc)
	require.Equal(t, want == nil, got == nil, "%q: %v", doc, got)
	if got != nil {
		var e *json0.Error
		require.ErrorAs(t, got, &e)
		require.True(t, 0 <= e.Offset && e.Offset <= len(doc))
		return
	}
	require.True(t, stdjson.Valid(doc), "%q", doc)

	c, err := json0.Canonical(doc)
	require.NoError(t, err)
	again, err := json0.Canonical(c)
	require.NoError(t, err)
	require.Equal(t, string(c), string(again), "canonical stays as it is")

	var x any
	require.NoError(t, stdjson.Unmarshal(doc, &x))
	require.Equal(t, string(ecmaScript(nil, x)), string(c), "%q", doc)
	v, err := json0.Parse(doc)
	require.NoError(t, err)
	require.Equal(t, string(ecmaScript(nil, v)), string(c), "%q", doc)
	m, err := json0.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, string(c), string(m))
}

// ecmaScript prints a value as RFC 8785 says, with nothing from the code under
// test.
func ecmaScript(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case float64:
		return ecmaNumber(dst, v)
	case string:
		return ecmaString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = ecmaScript(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for n := range v {
			names = append(names, n)
		}
		slices.SortFunc(names, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		dst = append(dst, '{')
		for i, n := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(ecmaString(dst, n), ':')
			dst = ecmaScript(dst, v[n])
		}
		return append(dst, '}')
	}
	panic("no such value")
}

// ecmaNumber is Number::toString for what JSON/0 allows.
func ecmaNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	if f < 0 {
		dst, f = append(dst, '-'), -f
	}
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	exponent, _ := strconv.Atoi(power)
	n, k := exponent+1, len(digits)
	switch {
	case k <= n:
		return append(append(dst, digits...), strings.Repeat("0", n-k)...)
	case 0 < n:
		return append(append(append(dst, digits[:n]...), '.'), digits[n:]...)
	case -6 < n:
		return append(append(append(dst, "0."...), strings.Repeat("0", -n)...), digits...)
	}
	dst = append(dst, digits[0])
	if k > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(n-1), 10)
}

func ecmaString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

var fuzzSeeds = []string{
	`{}`, `[]`, `null`, ` [ 1 , -0 , 1.0e0 ] `, `{"a":1,"\u0061":2}`, `"\ud83d\udc23"`, `"\ud83d"`, "\xef\xbb\xbf{}", `{"a":` + "\xff" + `}`,
	`9007199254740991`, `9007199254740993`, `9007199254740991.5`, `9007199254740990.5`, `1e400`, `1e-400`, `839e89`, `01`, `1.`,
	`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14,"o":15,"p":16,"q":17,"a":18}`,
	`{"jsonrpc":"2.0","id":"host:1","method":"flow/run","params":{"protocol":"run/0","input":{"n":1.50}}}`,
	`"\b\f\n\r\t\"\\\/\u0000\u001f"`, "\"\u2028\u2029\u007f\"", `[[[[[[[[]]]]]]]]`, `{} {}`, `123456789012345.678`, `0.0000001`,
}

func FuzzCheck(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) { compare(t, doc) })
}

// Numbers are where readers differ; here every token is one.
func FuzzNumber(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compare(t, []byte(text))
		compare(t, []byte("["+text+"]"))
	})
}

// rule
func TestRandomDocumentsAgreeWithTheReference(t *testing.T) {
	rounds := 8_000
	if *long {
		rounds = 1_000_000
	}
	pieces := []string{
		`{`, `}`, `[`, `]`, `,`, `,`, `:`, `"a"`, `"b"`, `"\u0061"`, `"é"`, `"\ud83d\udc23"`, `"\ud83d"`, `1`, `-0`, `1.0`, `1.5`, `1e5`,
		`9007199254740991`, `9007199254740992`, `0.1`, `1e-7`, `123456789.25`, `1e400`, `true`, `null`, ` `, "\n", `"`, `\`, "\xff", `""`,
		`{"a":1}`, `{"a":1,`, `"b":2}`, `[1,2]`, `"\n\t"`, `01`, `-`, `.`, `e`,
	}
	source := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		var doc []byte
		if source.IntN(2) == 0 { // something that is nearly a document
			doc = ecmaScript(nil, randomValue(source, 4))
			for range source.IntN(3) {
				i := source.IntN(len(doc) + 1)
				doc = slices.Insert(doc, i, []byte(pieces[source.IntN(len(pieces))])...)
			}
		} else {
			for range source.IntN(12) {
				doc = append(doc, pieces[source.IntN(len(pieces))]...)
			}
		}
		compare(t, doc)
	}
}

func randomValue(source *rand.Rand, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch source.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return source.IntN(2) == 0
	case 2:
		return float64(source.IntN(1 << 30))
	case 3:
		f := math.Float64frombits(source.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) >= 1<<52 {
			return 0.5
		}
		return f
	case 4:
		return randomText(source)
	case 5:
		list := make([]any, source.IntN(5))
		for i := range list {
			list[i] = randomValue(source, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range source.IntN(20) {
		object[randomText(source)] = randomValue(source, depth-1)
	}
	return object
}

func randomText(source *rand.Rand) string {
	var b strings.Builder
	for range source.IntN(12) {
		switch source.IntN(6) {
		case 0:
			b.WriteByte(byte(source.IntN(0x20)))
		case 1:
			b.WriteRune([]rune("\"\\/\u007f\u0080é\u2028\ud7ff\ue000\uffff\U00010000\U0010ffff🐣")[source.IntN(13)])
		default:
			b.WriteByte(byte('a' + source.IntN(26)))
		}
	}
	return b.String()
}
