package acpframing_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// referenceItem reads an item with the strict decoder and nothing of ours but the
// rules of JSON/0.
func referenceItem(raw []byte) (text string, end, ok bool) {
	var f fragment
	if len(raw) > acpframing.MaxItemBytes || json0.Check(raw) != nil ||
		json.Unmarshal(raw, &f, json.RejectUnknownMembers(true)) != nil {
		return "", false, false
	}
	if f.Kind == nil || *f.Kind != "data" || f.Text == nil || f.End == nil || *f.Text == "" || len(*f.Text) > 8192 {
		return "", false, false
	}
	return *f.Text, *f.End, true
}

func compareItem(t testing.TB, raw []byte) {
	text, end, ok := referenceItem(raw)
	j := newJoiner(t, acpframing.Requests)
	f, err := j.Add(raw)
	require.Equal(t, ok, err == nil, "%q: %v", raw, err)
	if !ok {
		dead(t, j, err, err.(*acpframing.Violation).Rule)
		return
	}
	require.Equal(t, end, f != nil)
	if !end {
		f, err = j.AddText([]byte("."), true)
		require.NoError(t, err)
		text += "."
	}
	require.Equal(t, text, string(f.Bytes()))
}

func FuzzItem(f *testing.F) {
	for _, s := range []string{
		`{"kind":"data","text":"a\n\"\\🐣","end":true}`, `{"end":false,"kind":"data","text":"\ud83d\udc23 \u0000"}`,
		` {"text":"a","end":true , "\u006bind":"data"} `, `{"kind":"data","text":"","end":true}`, `{"kind":"data","text":"\ud83d","end":true}`,
		`{"kind":"datadatadat\u0061","text":"a","end":true}`, `{"kind":"data","text":"1234567\\89abcdef","end":false}`, `{"kind":"data"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { compareItem(t, raw) })
}

// A text inside an item, in the two common spellings.
func FuzzItemText(f *testing.F) {
	for _, s := range []string{`a`, `\n`, `1234567\n`, `\ud83d\udc23`, `\\\"\/\b\f\r\t`, "\x00", "\xff", `é中🐣`, `"`, `\`, `","end":true}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		compareItem(t, []byte(`{"kind":"data","text":"`+text+`","end":true}`))
		compareItem(t, []byte(`{"end":true,"kind":"data","text":"`+text+`"}`))
		compareItem(t, []byte(`{"end":true,"text":"`+text+`","kind":"data"}`))
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("{}", uint16(0))
	f.Add("é\"\\\n🐣\x00", uint16(8190))
	f.Fuzz(func(t *testing.T, text string, pad uint16) {
		frame := strings.Repeat("x", int(pad)) + text
		if !utf8.ValidString(frame) || frame == "" {
			s := newSplitter(t, acpframing.Responses)
			require.ErrorIs(t, s.Begin([]byte(frame)), acpframing.ErrViolation)
			return
		}
		roundTrip(t, newSplitter(t, acpframing.Responses), newJoiner(t, acpframing.Responses), frame)
	})
}

func roundTrip(t testing.TB, s *acpframing.Splitter, j *acpframing.Joiner, frame string) {
	var f *acpframing.Frame
	for _, raw := range split(t, s, frame) {
		require.Nil(t, f)
		var err error
		f, err = j.Add(raw)
		require.NoError(t, err)
	}
	require.NotNil(t, f)
	require.Equal(t, frame, string(f.Bytes()))
	j.Recycle(f)
}

// Whole streams, through both ends, with recycled storage.
func TestRandomStreamsComeBack(t *testing.T) {
	streams := 30
	if *long {
		streams = 1000
	}
	for seed := range streams {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			source := rand.New(rand.NewPCG(uint64(seed), 7))
			d := directions[source.IntN(2)]
			s, j := newSplitter(t, d), newJoiner(t, d)
			for range 1 + source.IntN(20) {
				roundTrip(t, s, j, randomFrame(source))
			}
			require.NoError(t, s.Finish())
			require.NoError(t, j.Finish())
		})
	}
}

func randomFrame(source *rand.Rand) string {
	var b strings.Builder
	size := 1 + source.IntN(1<<source.IntN(17))
	alphabet := []string{"a", "b", " ", `"`, `\`, "\n", "\x00", "é", "中", "🐣", "some words of prose ", `{"k":"v"},`}
	for b.Len() < size {
		b.WriteString(alphabet[source.IntN(len(alphabet))])
	}
	return b.String()
}
