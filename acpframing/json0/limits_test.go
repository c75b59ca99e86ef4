package json0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// rule: R-037
func TestDocumentLimits(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		doc := []byte(strings.Repeat(" ", json0.MaxBytes-1) + "1")
		require.NoError(t, json0.Check(doc))
		require.ErrorIs(t, json0.Check(append(doc, ' ')), json0.ErrLimit)
	})
	t.Run("depth", func(t *testing.T) {
		nest := func(open, inner, end string, n int) string {
			return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
		}
		accepted(t, nest("[", "", "]", 127))
		accepted(t, nest("[", "", "]", 128))
		refused(t, nest("[", "", "]", 129), json0.ErrLimit)
		accepted(t, nest("[", "1", "]", 127))
		refused(t, nest("[", "1", "]", 128), json0.ErrLimit) // the number is the 129th
		accepted(t, nest(`{"a":`, "{}", "}", 127))
		refused(t, nest(`{"a":`, "{}", "}", 128), json0.ErrLimit)
		refused(t, nest("[", "", "]", 1_000_000), json0.ErrLimit)
		refused(t, strings.Repeat("[", 1_000_000), json0.ErrLimit)
		accepted(t, "["+strings.Repeat(nest("[", "", "]", 127)+",", 50)+"1]") // depth goes down again
	})
	t.Run("nodes", func(t *testing.T) {
		// 4 arrays of up to 65,536 numbers: 1 + 4 + the numbers.
		doc := func(numbers int) string {
			var b strings.Builder
			for i := range 4 {
				n := min(numbers, 65_536)
				numbers -= n
				fmt.Fprintf(&b, "%s[%s]", [...]string{"[", ",", ",", ","}[i], strings.TrimSuffix(strings.Repeat("1,", n), ","))
			}
			return b.String() + "]"
		}
		accepted(t, doc(262_144-5-1))
		accepted(t, doc(262_144-5))
		refused(t, doc(262_144-5+1), json0.ErrLimit)
		// Names are no nodes.
		accepted(t, `{"a":1,"b":`+doc(262_144-5-2)+`}`)
		refused(t, `{"a":1,"b":`+doc(262_144-5-1)+`}`, json0.ErrLimit)
	})
	t.Run("entries", func(t *testing.T) {
		items := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
		members := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `,"%d":1`, i)
			}
			return "{" + b.String()[1:] + "}"
		}
		for _, build := range []func(int) string{items, members} {
			accepted(t, build(65_535))
			accepted(t, build(65_536))
			refused(t, build(65_537), json0.ErrLimit)
		}
	})
}

// rule: R-038
func TestTokenLimits(t *testing.T) {
	t.Run("string", func(t *testing.T) {
		const most = 8_388_608
		accepted(t, `"`+strings.Repeat("a", most-1)+`"`)
		accepted(t, `"`+strings.Repeat("a", most)+`"`)
		refused(t, `"`+strings.Repeat("a", most+1)+`"`, json0.ErrLimit)
		accepted(t, `"`+strings.Repeat("é", most/2)+`"`)
		refused(t, `"`+strings.Repeat("é", most/2)+`a"`, json0.ErrLimit)
		// What counts is the decoded text.
		accepted(t, `"`+strings.Repeat("a", most-1)+`\u0061"`)
		refused(t, `"`+strings.Repeat("a", most-1)+`\u00e9"`, json0.ErrLimit)
		accepted(t, `"`+strings.Repeat("a", most-4)+`\ud83d\udc23"`)
		refused(t, `"`+strings.Repeat("a", most-3)+`\ud83d\udc23"`, json0.ErrLimit)
	})
	t.Run("name", func(t *testing.T) {
		accepted(t, `{"`+strings.Repeat("a", 1023)+`":1}`)
		accepted(t, `{"`+strings.Repeat("a", 1024)+`":1}`)
		refused(t, `{"`+strings.Repeat("a", 1025)+`":1}`, json0.ErrLimit)
		accepted(t, `{"`+strings.Repeat(`\u0061`, 1024)+`":1}`)
		refused(t, `{"`+strings.Repeat(`\u0061`, 1025)+`":1}`, json0.ErrLimit)
		accepted(t, `{"`+strings.Repeat("🐣", 256)+`":1}`)
		refused(t, `{"`+strings.Repeat("🐣", 256)+`a":1}`, json0.ErrLimit)
	})
	t.Run("number", func(t *testing.T) {
		accepted(t, `0.`+strings.Repeat("1", 125))
		accepted(t, `0.`+strings.Repeat("1", 126))
		refused(t, `0.`+strings.Repeat("1", 127), json0.ErrLimit)
		accepted(t, `-0.`+strings.Repeat("0", 125))
		refused(t, `-0.`+strings.Repeat("0", 126), json0.ErrLimit)
		accepted(t, `[1.`+strings.Repeat("0", 126)+`]`)
		refused(t, `[1.`+strings.Repeat("0", 127)+`]`, json0.ErrLimit)
	})
}

// rule: R-039
func TestTheLimitsBindTheWholeFrame(t *testing.T) {
	payload := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	accepted(t, payload)
	refused(t, `{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":`+payload+`}}`, json0.ErrLimit)
	fits := strings.Repeat("[", 126) + strings.Repeat("]", 126)
	accepted(t, `{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":`+fits+`}}`)
}

func TestNarrowerLimits(t *testing.T) {
	for _, c := range []struct {
		limits    json0.Limits
		fits, not string
	}{
		{json0.Limits{Bytes: 3}, `123`, `1234`},
		{json0.Limits{Depth: 2}, `[1]`, `[[1]]`},
		{json0.Limits{Nodes: 3}, `[1,2]`, `[1,2,3]`},
		{json0.Limits{Entries: 2}, `{"a":1,"b":2}`, `{"a":1,"b":2,"c":3}`},
		{json0.Limits{Entries: 2}, `[1,2]`, `[1,2,3]`},
		{json0.Limits{StringBytes: 2}, `{"abc":"é"}`, `"éa"`},
		{json0.Limits{NameBytes: 2}, `{"é":"abc"}`, `{"éa":1}`},
		{json0.Limits{NumberBytes: 2}, `-1`, `-10`},
	} {
		require.NoError(t, c.limits.Check([]byte(c.fits)))
		require.ErrorIs(t, c.limits.Check([]byte(c.not)), json0.ErrLimit)
		_, err := c.limits.Parse([]byte(c.fits))
		require.NoError(t, err)
		_, err = c.limits.Parse([]byte(c.not))
		require.ErrorIs(t, err, json0.ErrLimit)
	}
}

func TestLimitsAreNeverWiderThanJSON0(t *testing.T) {
	for _, l := range []json0.Limits{
		{Bytes: -1}, {Depth: -1}, {Nodes: -1}, {Entries: -1}, {StringBytes: -1}, {NameBytes: -1}, {NumberBytes: -1},
		{Bytes: json0.MaxBytes + 1}, {Depth: json0.MaxDepth + 1}, {Nodes: json0.MaxNodes + 1}, {Entries: json0.MaxEntries + 1},
		{StringBytes: json0.MaxStringBytes + 1}, {NameBytes: json0.MaxNameBytes + 1}, {NumberBytes: json0.MaxNumberBytes + 1},
	} {
		require.ErrorIs(t, l.Check([]byte(`1`)), json0.ErrConfig)
		require.ErrorIs(t, l.Decode([]byte(`1`), new(any)), json0.ErrConfig)
	}
}

func TestManyMembersWithLongCommonNamesStayCheap(t *testing.T) {
	var b strings.Builder
	prefix := strings.Repeat("x", 1000)
	for i := range 12_000 {
		fmt.Fprintf(&b, `,"%s%05d":1`, prefix, (i*7919)%12_000)
	}
	accepted(t, "{"+b.String()[1:]+"}")
	refused(t, "{"+b.String()[1:]+`,"`+prefix+`00000":1}`, json0.ErrDuplicate)
}
