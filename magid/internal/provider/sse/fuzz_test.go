package sse

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// simple reads events the plain way: all lines first. It knows no limit.
func simple(in string) ([]got, bool) {
	in = strings.TrimPrefix(in, "\uFEFF")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var all []got
	var name string
	var data []string
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				all = append(all, got{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		case field == "", field == "id", field == "retry":
		default:
			return all, false
		}
	}
	return all, true
}

func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "data:a\r\n\r\n", "data: a\rdata: b\r\r", ": c\n\nevent: x\ndata: 1\ndata: 2\n\n",
		"\uFEFFdata: a\n\n", "id: 1\nretry: 2\n\n", "date: a\n\n", "data: [DONE]", "data\n\n", "\r\n\n\r",
	} {
		f.Add([]byte(seed), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		want, known := simple(string(in))
		whole, err := readAll(bytes.NewReader(in), testLimit)
		if known {
			require.Contains(t, []error{io.EOF, io.ErrUnexpectedEOF}, err)
		} else {
			require.ErrorIs(t, err, ErrField)
		}
		require.Equal(t, want, whole)
		// The split does not matter.
		split, splitErr := readAll(iotest.OneByteReader(bytes.NewReader(in)), testLimit)
		require.Equal(t, whole, split)
		require.Equal(t, err, splitErr)
		if n = n % (len(in) + 1); n < 0 {
			n = -n
		}
		split, splitErr = readAll(io.MultiReader(bytes.NewReader(in[:n]), bytes.NewReader(in[n:])), testLimit)
		require.Equal(t, whole, split)
		require.Equal(t, err, splitErr)
		// A small limit gives the same events up to the first that is too long.
		few, err := readAll(bytes.NewReader(in), 8)
		require.LessOrEqual(t, len(few), len(whole))
		for i := range few {
			require.Equal(t, whole[i], few[i])
		}
		if err == io.EOF {
			require.Len(t, few, len(whole))
		}
	})
}
