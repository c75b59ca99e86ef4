package acpframing_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

type fragment struct {
	Kind *string `json:"kind"`
	Text *string `json:"text"`
	End  *bool   `json:"end"`
}

// split makes all items of a frame and checks each of them.
func split(t testing.TB, s *acpframing.Splitter, frame string) (items [][]byte) {
	t.Helper()
	require.NoError(t, s.Begin([]byte(frame)))
	var joined strings.Builder
	for s.More() {
		prefix := []byte("kept")
		raw, err := s.Next(prefix)
		require.NoError(t, err)
		require.Equal(t, "kept", string(raw[:4]))
		raw = raw[4:]
		require.Less(t, len(raw), acpframing.MaxItemBytes)
		canonical, err := json0.Canonical(raw)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(raw), "items are canonical")

		var f fragment
		require.NoError(t, json0.Decode(raw, &f))
		require.Equal(t, "data", *f.Kind)
		require.NotEmpty(t, *f.Text)
		require.LessOrEqual(t, len(*f.Text), 8192)
		require.True(t, utf8.ValidString(*f.Text))
		joined.WriteString(*f.Text)
		require.Equal(t, joined.Len() == len(frame), *f.End)
		require.Equal(t, !*f.End, s.More())
		if !*f.End {
			require.Greater(t, len(*f.Text), 8192-4, "no fragment is smaller than it must be")
		}
		items = append(items, raw)
	}
	require.Equal(t, frame, joined.String())
	return items
}

// rule: F-042
func TestTheWriterCutsBetweenScalars(t *testing.T) {
	for _, scalar := range []string{"a", "é", "中", "🐣", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "\"", "\n", "\x00"} {
		for before := 8192 - 5; before <= 8192+1; before++ {
			for _, after := range []string{"", "a", whole(8192), "🐣🐣"} {
				frame := whole(before) + scalar + after
				for _, d := range directions {
					items := split(t, newSplitter(t, d), frame)
					j := newJoiner(t, d)
					var f *acpframing.Frame
					for _, raw := range items {
						var err error
						f, err = j.Add(raw)
						require.NoError(t, err)
					}
					require.Equal(t, frame, string(f.Bytes()))
				}
			}
		}
	}
	// The case of the list: the scalar goes whole into the next fragment.
	items := split(t, newSplitter(t, acpframing.Requests), whole(8190)+"🐣end")
	require.Len(t, items, 2)
	require.Equal(t, `{"end":false,"kind":"data","text":"`+whole(8190)+`"}`, string(items[0]))
	require.Equal(t, `{"end":true,"kind":"data","text":"🐣end"}`, string(items[1]))
}

// rule: F-044
func TestTheWriterNeverSendsAnEmptyTerminator(t *testing.T) {
	for _, n := range []int{1, 8191, 8192, 8193, 16_384, 16_385, 81_920} {
		items := split(t, newSplitter(t, acpframing.Responses), whole(n))
		require.Len(t, items, (n+8191)/8192)
	}
}

func TestEveryByteThatNeedsAnEscapeGetsTheCanonicalOne(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x80) {
		all.WriteRune(r)
	}
	all.WriteString("\u0080\u2028\u2029\ufeff\ufffd")
	for shift := range 9 { // every position within a word
		split(t, newSplitter(t, acpframing.Responses), whole(shift)+all.String())
	}
	widest := split(t, newSplitter(t, acpframing.Responses), strings.Repeat("\x01", 8192))
	require.Len(t, widest[0], len(`{"end":true,"kind":"data","text":""}`)+6*8192)
}

// drain makes all items of a frame and looks at none.
func drain(t testing.TB, s *acpframing.Splitter, frame string) {
	t.Helper()
	require.NoError(t, s.Begin([]byte(frame)))
	var raw []byte
	for s.More() {
		var err error
		if raw, err = s.Next(raw[:0]); err != nil {
			require.NoError(t, err)
		}
	}
}

func deadSplitter(t testing.TB, s *acpframing.Splitter, err error, rule acpframing.Rule) {
	t.Helper()
	var v *acpframing.Violation
	require.ErrorAs(t, err, &v)
	require.Equal(t, rule, v.Rule)
	require.ErrorIs(t, err, acpframing.ErrViolation)
	require.False(t, s.More())
	require.Equal(t, err, s.Begin([]byte("{}")))
	dst, again := s.Next([]byte("kept"))
	require.Equal(t, err, again)
	require.Equal(t, "kept", string(dst))
	require.Equal(t, err, s.Finish())
}

// rule: F-054, F-055
func TestTheWriterIsHeldToTheSameRules(t *testing.T) {
	begin := func() *acpframing.Splitter { return newSplitter(t, acpframing.Requests) }

	s := begin()
	deadSplitter(t, s, s.Begin(nil), acpframing.RuleEmpty)
	s = begin()
	deadSplitter(t, s, s.Begin([]byte("a\xff")), acpframing.RuleUnicode)
	s = begin()
	deadSplitter(t, s, s.Begin([]byte("\xed\xa0\xbd")), acpframing.RuleUnicode)

	s = begin()
	require.NoError(t, s.Begin([]byte(whole(10_000))))
	deadSplitter(t, s, s.Begin([]byte("{}")), acpframing.RuleUnfinished)
	s = begin()
	require.NoError(t, s.Begin([]byte(whole(10_000))))
	_, err := s.Next(nil)
	require.NoError(t, err)
	deadSplitter(t, s, s.Finish(), acpframing.RuleUnfinished)

	s = begin()
	_, err = s.Next(nil)
	deadSplitter(t, s, err, acpframing.RuleEmpty)

	s = begin()
	split(t, s, "{}")
	require.NoError(t, s.Finish())
	deadSplitter(t, s, s.Begin([]byte("{}")), acpframing.RuleFinished)
	s = begin()
	require.NoError(t, s.Finish())
	deadSplitter(t, s, s.Finish(), acpframing.RuleFinished)
}

// rule: F-046, F-047, F-048, F-049, F-050, F-051
func TestTheWriterBeginsNoFrameItMayNotFinish(t *testing.T) {
	s := newSplitter(t, acpframing.Responses)
	require.NoError(t, s.Begin([]byte(whole(16_777_216))))
	s = newSplitter(t, acpframing.Responses)
	deadSplitter(t, s, s.Begin([]byte(whole(16_777_217))), acpframing.RuleFrameBytes)

	s = newSplitter(t, acpframing.Requests)
	drain(t, s, whole(8_388_607))
	drain(t, s, "a")
	deadSplitter(t, s, s.Begin([]byte("a")), acpframing.RuleTotalBytes)

	s = newSplitter(t, acpframing.Responses)
	drain(t, s, whole(16_777_216))
	drain(t, s, whole(16_777_216))
	deadSplitter(t, s, s.Begin([]byte("a")), acpframing.RuleTotalBytes)

	for d, most := range map[acpframing.Direction]int{acpframing.Requests: 64, acpframing.Responses: 8192} {
		s = newSplitter(t, d)
		for range most {
			drain(t, s, "{}")
		}
		deadSplitter(t, s, s.Begin([]byte("{}")), acpframing.RuleFrames)
	}

	narrow, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{FragmentBytes: 4, Fragments: 3})
	require.NoError(t, err)
	require.NoError(t, narrow.Begin([]byte("123456789012")))
	narrow, err = acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{FragmentBytes: 4, Fragments: 3})
	require.NoError(t, err)
	deadSplitter(t, narrow, narrow.Begin([]byte("1234567890123")), acpframing.RuleFragments)
	// Cuts between scalars may need one fragment more than the length says.
	narrow, err = acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{FragmentBytes: 4, Fragments: 3})
	require.NoError(t, err)
	deadSplitter(t, narrow, narrow.Begin([]byte("中中中中")), acpframing.RuleFragments)
}
