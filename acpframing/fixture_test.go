package acpframing_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

var directions = []acpframing.Direction{acpframing.Requests, acpframing.Responses}

func newJoiner(t testing.TB, d acpframing.Direction) *acpframing.Joiner {
	t.Helper()
	j, err := acpframing.NewJoiner(d, acpframing.Limits{})
	require.NoError(t, err)
	return j
}

func newSplitter(t testing.TB, d acpframing.Direction) *acpframing.Splitter {
	t.Helper()
	s, err := acpframing.NewSplitter(d, acpframing.Limits{})
	require.NoError(t, err)
	return s
}

// item writes a fragment as people write it.
func item(t testing.TB, text string, end bool) []byte {
	t.Helper()
	quoted, err := json0.Marshal(text)
	require.NoError(t, err)
	if end {
		return []byte(`{"kind":"data","text":` + string(quoted) + `,"end":true}`)
	}
	return []byte(`{"kind":"data","text":` + string(quoted) + `,"end":false}`)
}

// add requires that a fragment is taken, and returns the frame it completes.
func add(t testing.TB, j *acpframing.Joiner, text string, end bool) *acpframing.Frame {
	t.Helper()
	f, err := j.Add(item(t, text, end))
	require.NoError(t, err)
	require.Equal(t, end, f != nil)
	return f
}

// dead requires that the error is that violation, and that the joiner refuses
// everything from then on with the same one.
func dead(t testing.TB, j *acpframing.Joiner, err error, rule acpframing.Rule) {
	t.Helper()
	var v *acpframing.Violation
	require.ErrorAs(t, err, &v)
	require.Equal(t, rule, v.Rule)
	require.ErrorIs(t, err, acpframing.ErrViolation)
	require.Regexp(t, `^[ -~]+$`, err.Error())
	require.Zero(t, j.Held(), "what was kept is dropped")
	for range 2 {
		f, again := j.Add(item(t, "fine", true))
		require.Nil(t, f)
		require.Equal(t, err, again)
		f, again = j.AddText([]byte("fine"), true)
		require.Nil(t, f)
		require.Equal(t, err, again)
		require.Equal(t, err, j.Finish())
	}
	require.Zero(t, j.Held())
}

// refused requires that a fresh joiner refuses the item.
func refused(t testing.TB, raw string, rule acpframing.Rule) {
	t.Helper()
	for _, d := range directions {
		j := newJoiner(t, d)
		add(t, j, "kept", false)
		f, err := j.Add([]byte(raw))
		require.Nil(t, f, "%.200q", raw)
		dead(t, j, err, rule)
	}
}

func whole(n int) string { return strings.Repeat("a", n) }
