package adapter

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// all reads lines to their end.
func all(l *lines) (out []string, err error) {
	for {
		line, err := l.next()
		if err != nil {
			return out, err
		}
		out = append(out, string(line))
	}
}

// rule: N-039
func TestLinesEndAtLFAlone(t *testing.T) {
	const text = "{\"a\":\"x\u2028y\u2029z\"}\r\n\n{\"b\":\"\u0085\v\f\"}\n"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		got, err := all(newLines(r, -1))
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, []string{"{\"a\":\"x\u2028y\u2029z\"}\r", "", "{\"b\":\"\u0085\v\f\"}"}, got)
	}
}

func TestEndInsideALineIsNoEnd(t *testing.T) {
	got, err := all(newLines(strings.NewReader("a\nb"), -1))
	require.ErrorIs(t, err, errHalf)
	require.Equal(t, []string{"a"}, got)
}

// filler is n bytes without an end of a line.
func filler(n int) io.Reader { return io.LimitReader(endless{}, int64(n)) }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// rule: J-173
func TestLineHasSixteenMebibytes(t *testing.T) {
	for _, n := range []int{maxLineBytes - 1, maxLineBytes, maxLineBytes + 1} {
		// As if all but the last KiB had been read before.
		l := newLines(io.MultiReader(filler(1<<10+n-maxLineBytes), strings.NewReader("\n")), -1)
		l.part = make([]byte, maxLineBytes-1<<10, maxLineBytes+1<<10)
		line, err := l.next()
		if n > maxLineBytes {
			require.ErrorIs(t, err, errBreach)
			continue
		}
		require.NoError(t, err)
		require.Len(t, line, n)
	}
	line, err := newLines(strings.NewReader("a\nb\n"), -1).next()
	require.NoError(t, err)
	require.Equal(t, "a", string(line))
}

// rule: J-173
func TestOutputHasThirtyTwoMebibytesWithItsNewlines(t *testing.T) {
	for _, more := range []int{-1, 0, 1} {
		// As if all but the last KiB had been read before.
		l := newLines(io.MultiReader(filler(1<<10+more-1), strings.NewReader("\n")), maxStdoutBytes)
		l.read = maxStdoutBytes - 1<<10
		got, err := all(l)
		if more > 0 {
			require.ErrorIs(t, err, errBreach)
			require.Empty(t, got)
			continue
		}
		require.ErrorIs(t, err, io.EOF)
		require.Len(t, got, 1)
	}
	l := newLines(strings.NewReader("a\n\nbc\n"), maxStdoutBytes)
	_, err := all(l)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 6, l.read, "every byte counts, and the newlines of empty lines")
}

// rule: J-173, P-033
func TestErrorsHaveSixtyFourKiB(t *testing.T) {
	for _, n := range []int{0, maxStderrBytes - 1, maxStderrBytes} {
		require.NoError(t, drain(filler(n)))
	}
	require.ErrorIs(t, drain(filler(maxStderrBytes+1)), errBreach)
	require.NoError(t, drain(iotest.OneByteReader(filler(10))))
	gone := errors.New("gone")
	require.ErrorIs(t, drain(iotest.ErrReader(gone)), gone)
}

// rule: J-173, J-239
func TestBreachIsANativeError(t *testing.T) {
	breaches := map[string]func(r *rig){
		"a long line": func(r *rig) {
			io.Copy(r.stdout, io.MultiReader(filler(maxLineBytes+1), strings.NewReader("\n")))
		},
		"many errors": func(r *rig) { io.Copy(r.stderr, filler(maxStderrBytes+1)) },
	}
	if !*long {
		delete(breaches, "a long line") // which takes its time
	}
	for name, breach := range breaches {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.prompted()
				go breach(r)
				r.gets(diagnostic("s", "error", 1))
				r.ends()
			})
		})
	}
}

// rule: J-239
func TestProgramThatDoesNotReadIsANativeError(t *testing.T) {
	bubble(t, func(r *rig) {
		r.prompted()
		go func() {
			for range maxQueued + 2 { // one is being written
				r.stdout.Write([]byte("send something\n"))
			}
		}()
		r.gets(diagnostic("s", "error", 1))
	})
}

func TestQueueZeroesWhatItWrote(t *testing.T) {
	var got bytes.Buffer
	q := newQueue(nopCloser{&got})
	roomy := append(make([]byte, 0, 64), "a secret"...)
	q.add(roomy)
	exact := []byte("another!")[:8:8]
	q.add(exact)
	require.Equal(t, make([]byte, 8), exact, "a copy was made, and this one goes at once")
	q.close()
	<-q.written
	require.Equal(t, "a secret\nanother!\n", got.String())
	require.Equal(t, make([]byte, 8), roomy)
	late := []byte("late")
	q.add(late)
	require.Equal(t, make([]byte, 4), late)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
