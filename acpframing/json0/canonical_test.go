package json0_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

func canonical(t testing.TB, doc string) string {
	t.Helper()
	c, err := json0.Canonical([]byte(doc))
	require.NoError(t, err, doc)
	return string(c)
}

// rule: R-045
func TestEqualNumbersHaveOneCanonicalForm(t *testing.T) {
	for want, docs := range map[string][]string{
		`0`:                       {`0`, `-0`, `0.0`, `-0.0`, `0e5`, `-0e-5`, `1e-400`},
		`1`:                       {`1`, `1.0`, `1e0`, `10e-1`, `0.1e1`, `1E+0`},
		`-1`:                      {`-1`, `-1.0`, `-1e0`},
		`100`:                     {`100`, `1e2`, `1E2`, `100.00`},
		`9007199254740991`:        {`9007199254740991`, `9007199254740991.0`, `9.007199254740991e15`},
		`9007199254740990`:        {`9007199254740990.5`},
		`123456789012345.67`:      {`123456789012345.67`},
		`[0,0]`:                   {`[-0,0]`, `[ 0.0 , -0e1 ]`},
		`{"a":0}`:                 {`{"a":-0}`},
		`1000000000000000`:        {`1e15`, `1000000000000000`},
		`4503599627370495.5`:      {`4503599627370495.5`},
		`0.1`:                     {`0.1`, `1e-1`, `0.10`, `0.1000000000000000055`},
		`5e-324`:                  {`5e-324`, `4.9406564584124654e-324`},
		`2.2250738585072014e-308`: {`2.2250738585072014e-308`},
	} {
		for _, doc := range docs {
			require.Equal(t, want, canonical(t, doc), doc)
		}
	}
}

// rule: R-046
func TestCanonicalFormIsRFC8785(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		// Numbers as ECMAScript prints them.
		{`[1e-7,0.000001,0.0000011,1e-6,1e-5,1.5e-7,0.00001]`, `[1e-7,0.000001,0.0000011,0.000001,0.00001,1.5e-7,0.00001]`},
		{`[333333333.33333329,4.50,2e-3,0.000000000000000000000000001]`, `[333333333.3333333,4.5,0.002,1e-27]`},
		{`[1e-10,1e-100,-1e-7,1.234e-8]`, `[1e-10,1e-100,-1e-7,1.234e-8]`},
		// Keys by UTF-16 code units: U+1F600 (D83D) sorts before U+FB33, and after U+20AC.
		{`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`},
		{`{"\uffff":1,"\ud800\udc00":2}`, `{"` + "\U00010000" + `":2,"` + "\uffff" + `":1}`},
		{`{"b":1,"a":2,"":3,"aa":4,"A":5}`, `{"":3,"A":5,"a":2,"aa":4,"b":1}`},
		// Escapes only where they are needed, and the short ones.
		{`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`, `"€$\u000f\nA'B\"\\\\\"/"`},
		{`"\u0008\u0009\u000a\u000c\u000d\u0000\u001f\u007f"`, `"\b\t\n\f\r\u0000\u001f` + "\u007f" + `"`},
		{`"<&>\u003c\u2028\u2029"`, `"<&><` + "\u2028\u2029" + `"`},
		// White space and nesting.
		{" { \"b\" : [ 1 , { \"d\" : null , \"c\" : true } ] , \"a\" : false } \n", `{"a":false,"b":[1,{"c":true,"d":null}]}`},
		{`{"literals":[null,true,false],"empty":[{},[],""]}`, `{"empty":[{},[],""],"literals":[null,true,false]}`},
	} {
		require.Equal(t, c.want, canonical(t, c.doc), c.doc)
		require.Equal(t, c.want, canonical(t, c.want), "canonical stays as it is")
	}
}

func TestCanonicalRefusesWhatIsNotJSON0(t *testing.T) {
	for _, doc := range []string{`{"a":1,"a":1}`, `1e400`, `9007199254740993`, `"\ud800"`, `{`, ``} {
		_, err := json0.Canonical([]byte(doc))
		require.Error(t, err, doc)
		dst, err := json0.AppendCanonical([]byte("kept"), []byte(doc))
		require.Error(t, err)
		require.Equal(t, "kept", string(dst))
	}
	dst, err := json0.AppendCanonical([]byte("kept"), []byte(`{"b":1,"a":2}`))
	require.NoError(t, err)
	require.Equal(t, `kept{"a":2,"b":1}`, string(dst))
}

func TestCanonicalLeavesItsInputAlone(t *testing.T) {
	doc := []byte(`{"b":1.0,"a":"\u0061"}`)
	kept := string(doc)
	_, err := json0.Canonical(doc)
	require.NoError(t, err)
	require.NoError(t, json0.Decode(doc, new(any)))
	require.Equal(t, kept, string(doc))
}

// rule: R-047
func TestEqualityIsByValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1.0,-0]}`, `{ "b":[1e0,0], "a":1 }`, true},
		{`"\u0061"`, `"a"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":null}`, `{}`, false},
		{`"\u00e9"`, `"e\u0301"`, false}, // not normalised
		{`[[],{}]`, `[[],{}]`, true},
		{`[]`, `{}`, false},
		{`0.1`, `0.10000000000000001`, true},
		{`null`, `false`, false},
	} {
		equal, err := json0.Equal([]byte(c.a), []byte(c.b))
		require.NoError(t, err)
		require.Equal(t, c.want, equal, "%s %s", c.a, c.b)
	}
	_, err := json0.Equal([]byte(`1`), []byte(`{`))
	require.ErrorIs(t, err, json0.ErrSyntax)
	_, err = json0.Equal([]byte(`{`), []byte(`1`))
	require.ErrorIs(t, err, json0.ErrSyntax)
}

func TestMarshalWritesCanonicalJSON0(t *testing.T) {
	b, err := json0.Marshal(map[string]any{"b": []any{1.0, math.Copysign(0, -1), 1e-7}, "a": "<é\u2028>", "c": nil})
	require.NoError(t, err)
	require.Equal(t, `{"a":"<é`+"\u2028"+`>","b":[1,0,1e-7],"c":null}`, string(b))

	for _, v := range []any{math.NaN(), math.Inf(1), "\xff", func() {}, make(chan int), map[string]any{"a": "\xed\xa0\x80"}} {
		_, err := json0.Marshal(v)
		require.ErrorIs(t, err, json0.ErrValue)
	}
	for _, v := range []any{int64(1 << 53), 1e300} {
		_, err := json0.Marshal(v)
		require.ErrorIs(t, err, json0.ErrNumber)
	}
	_, err = json0.Marshal(map[string]any{strings.Repeat("n", 1025): 1})
	require.ErrorIs(t, err, json0.ErrLimit)
}
