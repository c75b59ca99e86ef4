package acp

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// all reads lines to their end.
func all(r io.Reader, l Limits) (got []string, err error) {
	l, err = l.withDefaults()
	if err != nil {
		return nil, err
	}
	in := newLines(r, l)
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, string(line))
	}
}

// repeated is n times the same line, without the memory.
func repeated(line string, n int) io.Reader {
	var parts []io.Reader
	for range n {
		parts = append(parts, strings.NewReader(line))
	}
	return io.MultiReader(parts...)
}

func TestTheDefaultsAreThoseOfTheProtocol(t *testing.T) {
	// rule: P-031, P-032
	const line, total, count = 16_777_216, 33_554_432, 8_192
	l, err := Limits{}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, []int{line, total, count, 65_536}, []int{l.LineBytes, l.OutputBytes, l.Lines, l.ErrorBytes})
	for lines, ok := range map[int]bool{count: true, count + 1: false} {
		_, err := all(repeated("x\n", lines), Limits{})
		require.Equal(t, ok, err == nil, lines)
	}
	if flag.Lookup("long").Value.String() != "true" {
		return
	}
	piece := strings.Repeat("x", line-1)
	for _, c := range []struct {
		r  io.Reader
		n  int // lines; -1: refused
		in string
	}{
		{repeated(piece+"x\n", 1), 1, "a line of 16 MiB"},
		{repeated(piece+"xx\n", 1), -1, "one byte more"},
		{repeated(piece+"\n", 2), 2, "32 MiB, newlines included"},
		{io.MultiReader(repeated(piece+"\n", 1), repeated(piece+"x\n", 1)), -1, "one byte more"},
	} {
		got, err := all(c.r, Limits{})
		if c.n < 0 {
			require.Error(t, err, c.in)
			continue
		}
		require.NoError(t, err, c.in)
		require.Len(t, got, c.n, c.in)
	}
}

func TestLinesComeOutAsTheyWentIn(t *testing.T) {
	text := "one\n" + strings.Repeat("long ", 40_000) + "\n中 🐣\n{}\n"
	want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		got, err := all(r, Limits{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"\n", "a\n\nb\n", "a", "a\nb", "\r"} {
		_, err := all(strings.NewReader(bad), Limits{})
		require.Error(t, err, "%q", bad)
	}
	got, err := all(iotest.TimeoutReader(strings.NewReader("a\nb\n")), Limits{})
	require.NoError(t, err, "however a stream ends: what there was is complete")
	require.Equal(t, []string{"a", "b"}, got)
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\n", "a\nb", "\n", "aaaa\n", "a\n\nb\n", "\x00\n", "12345678\n1\n"} {
		f.Add([]byte(s))
	}
	limits := Limits{LineBytes: 8, OutputBytes: 24, Lines: 3}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := all(iotest.OneByteReader(bytes.NewReader(b)), limits)
		again, err2 := all(bytes.NewReader(b), limits)
		require.Equal(t, err == nil, err2 == nil, "how the bytes come makes a difference")
		want, ok := reference(b)
		require.Equal(t, ok, err == nil, "%q: %v", b, err)
		if ok {
			require.Equal(t, want, got)
			require.Equal(t, want, again)
		}
	})
}

// reference says the same as the limits of FuzzLines in another way.
func reference(b []byte) (lines []string, ok bool) {
	if len(b) == 0 {
		return nil, true
	}
	if len(b) > 24 || b[len(b)-1] != '\n' {
		return nil, false
	}
	lines = strings.Split(string(b[:len(b)-1]), "\n")
	for _, l := range lines {
		if l == "" || len(l) > 8 {
			return nil, false
		}
	}
	return lines, len(lines) <= 3
}

func TestAnExplanationIsOfAKindAndNotOfAText(t *testing.T) {
	// rule: P-080, F-117
	forged := errors.New("acpprofile: native: the client reported a failure of its session")
	f := explain(forged)
	require.Nil(t, f.Details)
	require.Equal(t, sayBroke, f.Message)
	f = explain(&lookalike{Reason: "native-session"})
	require.Nil(t, f.Details)
	require.NotContains(t, f.Message, "/home/somebody")
	require.Empty(t, note(forged))
	require.Empty(t, note(&lookalike{}))
}

// lookalike has the members of a real failure.
type lookalike struct{ Reason string }

func (*lookalike) Error() string { return "sk-canary at /home/somebody" }
