package acpframing_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// rule: F-037
func TestAnItemIsExactlyADataFragmentInAnySpelling(t *testing.T) {
	for _, raw := range []string{
		`{"kind":"data","text":"a\n🐣","end":true}`, // as written
		`{"end":true,"kind":"data","text":"a\n🐣"}`, // canonical
		`{"text":"a\n🐣","end":true,"kind":"data"}`, `{"text":"a\n🐣","kind":"data","end":true}`,
		`{"kind":"data","end":true,"text":"a\n🐣"}`, `{"end":true,"text":"a\n🐣","kind":"data"}`,
		" {\t\"kind\" : \"data\" ,\r\n \"text\" : \"a\\n🐣\" , \"end\" : true } \n",
		`{"\u006bind":"d\u0061ta","t\u0065xt":"\u0061\u000a\ud83d\udc23","en\u0064":true}`,
		`{"kind":"data","text":"a\n🐣","end":true }`, `{"kind":"data","text":"a\n🐣" ,"end":true}`,
		`{"end":true,"kind":"data","text":"a\n🐣" }`,
	} {
		for _, d := range directions {
			j := newJoiner(t, d)
			f, err := j.Add([]byte(raw))
			require.NoError(t, err, raw)
			require.NotNil(t, f, raw)
			require.Equal(t, "a\n🐣", string(f.Bytes()))
			require.NoError(t, j.Finish())
		}
	}
}

// rule: F-045
func TestEveryOtherItemIsRefused(t *testing.T) {
	for _, raw := range []string{
		`{"kind":"data","text":"a","end":true,"extra":1}`, `{"end":true,"kind":"data","text":"a","extra":1}`,
		`{"kind":"data","text":"a"}`, `{"kind":"data","end":true}`, `{"text":"a","end":true}`, `{}`,
		`{"kind":"ready","text":"a","end":true}`, `{"kind":"Data","text":"a","end":true}`, `{"kind":"dat","text":"a","end":true}`,
		`{"kind":"datadatadata","text":"a","end":true}`, `{"kind":null,"text":"a","end":true}`, `{"kind":1,"text":"a","end":true}`,
		`{"kind":"data","text":1,"end":true}`, `{"kind":"data","text":null,"end":true}`, `{"kind":"data","text":["a"],"end":true}`,
		`{"kind":"data","text":{"text":"a"},"end":true}`,
		`{"kind":"data","text":"a","end":1}`, `{"kind":"data","text":"a","end":"true"}`, `{"kind":"data","text":"a","end":null}`,
		`{"kind":"data","text":"a","end":truex}`, `{"kind":"data","text":"a","end":True}`,
		`{"Kind":"data","text":"a","end":true}`, `{"kind":"data","Text":"a","end":true}`, `{"kind":"data","text":"a","END":true}`,
		`{"\u016bind":"data","text":"a","end":true}`, `{"kind":"\u0164ata","text":"a","end":true}`, `{"кind":"data","text":"a","end":true}`,
		`{"kind":"data","kind":"data","text":"a","end":true}`, `{"kind":"data","text":"a","text":"a","end":true}`,
		`{"kind":"data","text":"a","\u0074ext":"a","end":true}`, `{"end":true,"kind":"data","text":"a","end":true}`,
		`{"kind":"data","text":"a","end":true}{}`, `{"kind":"data","text":"a","end":true}x`, `{"end":true,"kind":"data","text":"a"}}`,
		`[{"kind":"data","text":"a","end":true}]`, `["data","a",true]`, `"data"`, `null`, `true`, ``, ` `, `{`, `{"kind":"data","text":"a`,
		`{"end":true,"kind":"data","text":"a"`, `{"end":true,"kind":"data","text":"a`, `{"end":true,"kind":"data","text":"a\`,
		`{"end":true,"kind":"data","text":"\x"}`, `{"end":true,"kind":"data","text":"\u12"}`, "{\"end\":true,\"kind\":\"data\",\"text\":\"a\nb\"}",
		"{\"end\":true,\"kind\":\"data\",\"text\":\"12345678\x00\"}", "\ufeff" + `{"kind":"data","text":"a","end":true}`,
		`{"kind":"data","text":"a","end":true,}`, `{"kind":"data","text":'a',"end":true}`,
		`{"kind":"ready","protocolVersion":1,"cwd":"/work","maxTurns":1,"configuration":[]}`,
		`{"kind":"data","text":"a","end":true}` + strings.Repeat(" ", acpframing.MaxItemBytes),
	} {
		refused(t, raw, acpframing.RuleShape)
	}
	// White space up to the size of an item is allowed.
	j := newJoiner(t, acpframing.Requests)
	raw := `{"kind":"data","text":"a","end":true}`
	_, err := j.Add([]byte(raw + strings.Repeat(" ", acpframing.MaxItemBytes-len(raw))))
	require.NoError(t, err)
}

// rule: F-040, F-041
func TestAFragmentHasUpTo8192BytesOfUTF8(t *testing.T) {
	for _, text := range []string{
		"a", whole(8191), whole(8192), strings.Repeat("é", 4096), strings.Repeat("中", 2730) + "ab", strings.Repeat("🐣", 2048),
		strings.Repeat(`"`, 8192), strings.Repeat("\x01", 8192),
	} {
		for _, d := range directions {
			require.Equal(t, text, string(add(t, newJoiner(t, d), text, true).Bytes()))
			f, err := newJoiner(t, d).AddText([]byte(text), true)
			require.NoError(t, err)
			require.Equal(t, text, string(f.Bytes()))
		}
	}
	for _, text := range []string{
		whole(8193), whole(8192) + "é", strings.Repeat("é", 4096) + "a", strings.Repeat("🐣", 2048) + "a", strings.Repeat("🐣", 2049),
		strings.Repeat("中", 2731), strings.Repeat("\n", 8193), whole(8192) + "\n", whole(20_000),
	} {
		refused(t, string(item(t, text, true)), acpframing.RuleFragmentBytes)
		refused(t, string(item(t, text, false)), acpframing.RuleFragmentBytes)
		quoted, err := json0.Marshal(text)
		require.NoError(t, err)
		refused(t, `{"end":false,"kind":"data","text":`+string(quoted)+`}`, acpframing.RuleFragmentBytes)
		refused(t, ` {"end":false,"text":`+string(quoted)+`,"kind":"data"}`, acpframing.RuleFragmentBytes)
		j := newJoiner(t, acpframing.Requests)
		_, err = j.AddText([]byte(text), true)
		dead(t, j, err, acpframing.RuleFragmentBytes)
	}
	// The text counts, not its spelling.
	j := newJoiner(t, acpframing.Requests)
	_, err := j.Add([]byte(`{"end":true,"kind":"data","text":"` + strings.Repeat(`\u0061`, 8192) + `"}`))
	require.NoError(t, err)
	refused(t, `{"end":true,"kind":"data","text":"`+strings.Repeat(`\u0061`, 8193)+`"}`, acpframing.RuleFragmentBytes)
}

// rule: F-043
func TestATextIsMadeOfScalars(t *testing.T) {
	for _, text := range []string{
		`\ud83d`, `\udc23`, `\udc23\ud83d`, `\ud83dx`, `x\ud83d\u0041y`, `1234567\ud83d`, "\xff", "\xe4\xb8", "\xed\xa0\xbd", "12345678\x80", "\xc0\x80",
	} {
		refused(t, `{"kind":"data","text":"`+text+`","end":true}`, acpframing.RuleUnicode)
		refused(t, `{"end":true,"kind":"data","text":"`+text+`"}`, acpframing.RuleUnicode)
		refused(t, `{"end":true,"text":"`+text+`","kind":"data"}`, acpframing.RuleUnicode)
	}
	for _, text := range []string{"\xff", "\xe4\xb8", "\xed\xa0\xbd\xed\xb0\xa3"} {
		j := newJoiner(t, acpframing.Requests)
		_, err := j.AddText([]byte(text), true)
		dead(t, j, err, acpframing.RuleUnicode)
	}
	// Two halves in two fragments are two halves.
	j := newJoiner(t, acpframing.Requests)
	_, err := j.Add([]byte(`{"kind":"data","text":"\ud83d","end":false}`))
	dead(t, j, err, acpframing.RuleUnicode)
	j = newJoiner(t, acpframing.Requests)
	_, err = j.AddText([]byte("\xf0\x9f"), false)
	dead(t, j, err, acpframing.RuleUnicode)
}

// rule: F-044
func TestAnEmptyTextIsRefusedAlsoAtTheEnd(t *testing.T) {
	for _, end := range []bool{false, true} {
		refused(t, string(item(t, "", end)), acpframing.RuleEmpty)
		refused(t, fmt.Sprintf(`{"end":%v,"kind":"data","text":""}`, end), acpframing.RuleEmpty)
		refused(t, fmt.Sprintf(`{"end":%v,"text":"","kind":"data"}`, end), acpframing.RuleEmpty)
		j := newJoiner(t, acpframing.Responses)
		_, err := j.AddText(nil, end)
		dead(t, j, err, acpframing.RuleEmpty)
	}
}

// rule: F-038, F-039
func TestFragmentsJoinInOrderUntilTheEnd(t *testing.T) {
	j := newJoiner(t, acpframing.Requests)
	require.Nil(t, add(t, j, `{"jsonrpc":"2.0",`, false))
	require.Nil(t, add(t, j, `"method":"initialize",`, false))
	f := add(t, j, `"id":1,"params":{}}`, true)
	require.Equal(t, `{"jsonrpc":"2.0","method":"initialize","id":1,"params":{}}`, string(f.Bytes()))
	require.Equal(t, 58, f.Len())
	require.NoError(t, json0.Check(f.Bytes()))

	// The next fragment begins the next frame: nothing says which frame it is of.
	require.Equal(t, `{"b":1}`, string(add(t, j, `{"b":1}`, true).Bytes()))
	require.NoError(t, j.Finish())

	// What is joined is not looked into: two documents are one frame, and a frame
	// that is not JSON/0.
	j = newJoiner(t, acpframing.Requests)
	add(t, j, `{"a":1}`, false)
	f = add(t, j, `{"b":2}`, true)
	require.ErrorIs(t, json0.Check(f.Bytes()), json0.ErrSyntax)
}

// rule: F-055
func TestTheStreamEndsOnAFrameBoundary(t *testing.T) {
	for _, d := range directions {
		j := newJoiner(t, d)
		require.NoError(t, j.Finish(), "no frame at all")

		j = newJoiner(t, d)
		add(t, j, "{", false)
		add(t, j, "}", true)
		require.NoError(t, j.Finish())
		require.Zero(t, j.Held())
		f, err := j.Add(item(t, "fine", true))
		require.Nil(t, f)
		dead(t, j, err, acpframing.RuleFinished)

		j = newJoiner(t, d)
		require.NoError(t, j.Finish())
		dead(t, j, j.Finish(), acpframing.RuleFinished)

		j = newJoiner(t, d)
		add(t, j, "{}", true)
		add(t, j, "{", false)
		dead(t, j, j.Finish(), acpframing.RuleUnfinished)
	}
}

// rule: F-054
func TestTheFirstViolationIsTheLastWord(t *testing.T) {
	// Every kind of violation is checked so by refused and dead; here the first
	// one stays although others follow.
	j := newJoiner(t, acpframing.Requests)
	add(t, j, "kept", false)
	require.Positive(t, j.Held())
	_, err := j.Add(item(t, "", true))
	for _, raw := range []string{`{}`, string(item(t, whole(9000), true)), string(item(t, "fine", true)), ""} {
		f, again := j.Add([]byte(raw))
		require.Nil(t, f)
		require.Equal(t, err, again)
	}
	j.Recycle(nil)
	dead(t, j, err, acpframing.RuleEmpty)
}

func TestAnItemIsNotKept(t *testing.T) {
	j := newJoiner(t, acpframing.Requests)
	raw := item(t, "hello, ", false)
	_, err := j.Add(raw)
	require.NoError(t, err)
	clear(raw)
	text := []byte("world")
	f, err := j.AddText(text, true)
	require.NoError(t, err)
	clear(text)
	require.Equal(t, "hello, world", string(f.Bytes()))
}

func TestAFrameBelongsToItsReceiver(t *testing.T) {
	j := newJoiner(t, acpframing.Responses)
	first := add(t, j, "first", true)
	second := add(t, j, "second", true)
	require.Equal(t, "first", string(first.Bytes()))
	require.Equal(t, "second", string(second.Bytes()))
	copy(first.Bytes(), "FIRST")
	require.Equal(t, "second", string(second.Bytes()))
	require.NoError(t, j.Finish())
	require.Equal(t, "FIRST", string(first.Bytes()))
}

func TestAFrameOfManyPiecesReadsAsOne(t *testing.T) {
	var want strings.Builder
	j := newJoiner(t, acpframing.Responses)
	var f *acpframing.Frame
	for i := range 40 {
		text := strings.Repeat(string(rune('a'+i%26)), 1000*(1+i%8))
		want.WriteString(text)
		f = add(t, j, text, i == 39)
	}
	require.Equal(t, want.Len(), f.Len())
	var joined []byte
	pieces := 0
	for p := range f.Pieces() {
		joined = append(joined, p...)
		pieces++
	}
	require.Greater(t, pieces, 1)
	require.Equal(t, want.String(), string(joined))
	for range f.Pieces() {
		break
	}

	var out bytes.Buffer
	n, err := f.WriteTo(&out)
	require.NoError(t, err)
	require.EqualValues(t, want.Len(), n)
	require.Equal(t, want.String(), out.String())
	n, err = f.WriteTo(&failing{after: 1})
	require.ErrorIs(t, err, errFull)
	require.Positive(t, n)

	require.Equal(t, want.String(), string(f.Bytes()))
	require.Equal(t, want.String(), string(f.Bytes()))
	require.Equal(t, want.Len(), f.Len())
}

var errFull = fmt.Errorf("full")

type failing struct{ after int }

func (w *failing) Write(p []byte) (int, error) {
	if w.after == 0 {
		return len(p) / 2, errFull
	}
	w.after--
	return len(p), nil
}
