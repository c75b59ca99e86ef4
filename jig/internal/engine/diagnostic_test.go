package engine_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine"
)

// split runs standard error through a Stderr, in pieces of one size.
func split(t *testing.T, raw string, size int) (text string, found []engine.Diagnostic) {
	t.Helper()
	var out strings.Builder
	s := &engine.Stderr{Text: &out, Each: func(d engine.Diagnostic) { found = append(found, d) }}
	for len(raw) > 0 {
		n := min(size, len(raw))
		written, err := s.Write([]byte(raw[:n]))
		require.NoError(t, err)
		require.Equal(t, n, written)
		raw = raw[n:]
	}
	require.NoError(t, s.Close())
	return out.String(), found
}

func TestStandardErrorIsTakenApart(t *testing.T) {
	d := engine.Diagnostic{Code: "MODULE_REFUSED", Message: "no", Path: "FLOW.ts", Line: 2, Column: 3, Hint: "try"}
	line := "\x1e" + `{"code":"MODULE_REFUSED","column":3,"hint":"try","line":2,"message":"no","path":"FLOW.ts"}` + "\n"
	for _, c := range []struct {
		raw, text string
		found     int
	}{
		{"", "", 0},
		{"plain\ntext", "plain\ntext", 0},
		{line, "", 1},
		{"a\n" + line + "b\n" + line + line + "c", "a\nb\nc", 3},
		{"a\x1e" + `{"code":"X","message":"m"}` + "\n", "a\x1e" + `{"code":"X","message":"m"}` + "\n", 0}, // not where a line begins
		{"\x1eno json\n" + line, "no json\n", 1},
		{"\x1e" + `{"code":"X","message":"m","more":1}` + "\nx", `{"code":"X","message":"m","more":1}` + "\nx", 0},
		{"\x1e" + `{"message":"m"}` + "\n", `{"message":"m"}` + "\n", 0},
		{"\x1e" + `{"code":"X"`, `{"code":"X"`, 0},
		{"\x1e" + strings.Repeat("x", 40_000) + "\n" + line, strings.Repeat("x", 40_000) + "\n", 1},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			text, found := split(t, c.raw, size)
			require.Equal(t, c.text, text, "%.80q in pieces of %d", c.raw, size)
			require.Len(t, found, c.found)
			for _, f := range found {
				require.Equal(t, d, f)
			}
		}
	}
}

func TestAParserThatRanOutOfStackIsNamed(t *testing.T) {
	const words = "runtime: goroutine stack exceeds "
	for _, size := range []int{1, 7, 1 << 20} {
		text, found := split(t, "said\n"+words+"201326592-byte limit\nfatal error: stack overflow\n\ngoroutine 1:\n\x1e{}", size)
		require.Equal(t, "said\n", text)
		require.Len(t, found, 1)
		require.Equal(t, engine.CodeStack, found[0].Code)
		for _, plain := range []string{"x " + words + "1\n", words[:len(words)-1] + "\n", words[:9], "r", "runtime\nrun"} {
			text, found = split(t, plain, size)
			require.Equal(t, plain, text)
			require.Empty(t, found)
		}
	}
}

func TestStandardErrorReportsItsSink(t *testing.T) {
	broken := errors.New("full")
	s := &engine.Stderr{Text: failing{broken}, Each: func(engine.Diagnostic) {}}
	_, err := s.Write([]byte("x"))
	require.ErrorIs(t, err, broken)
	_, err = s.Write([]byte("\x1eno json\n"))
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzStderr(f *testing.F) {
	f.Add("runtime\nruntime: goroutine stack exceeds 1\nmore", 5)
	f.Add("a\n\x1e{\"code\":\"X\",\"message\":\"m\"}\nb", 3)
	f.Fuzz(func(t *testing.T, raw string, size int) {
		// How it arrives makes no difference.
		size = max(1, size%64)
		a, x := split(t, raw, size)
		b, y := split(t, raw, 1<<20)
		require.Equal(t, b, a)
		require.Equal(t, y, x)
		require.LessOrEqual(t, len(a), len(raw))
	})
}

func TestTypesAreThere(t *testing.T) {
	for _, module := range []string{`"@jigging/flow"`, `"@jigging/jig"`, `"@jigging/agent-method"`} {
		require.Contains(t, engine.Types, "declare module "+module+" {")
	}
	require.False(t, bytes.ContainsRune([]byte(engine.Types), '\t'))
}
