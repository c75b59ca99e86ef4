package sse

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const testLimit = 1 << 20

type got struct {
	name, data string
}

// readAll gives the events up to the end, and the end.
func readAll(r io.Reader, limit int) ([]got, error) {
	s := NewReader(r, limit, nil)
	var all []got
	for {
		e, err := s.Next()
		if err != nil {
			return all, err
		}
		all = append(all, got{e.Name, string(e.Data)})
	}
}

func TestEvents(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []got
		end  error
	}{
		"nothing":                            {"", nil, io.EOF},
		"one":                                {"data: a\n\n", []got{{"", "a"}}, io.EOF},
		"no space":                           {"data:a\n\n", []got{{"", "a"}}, io.EOF},
		"one space is taken, two are not":    {"data:  a\n\n", []got{{"", " a"}}, io.EOF},
		"data lines are joined":              {"data: a\ndata: b\ndata\n\n", []got{{"", "a\nb\n"}}, io.EOF},
		"empty data is an event":             {"data:\n\n", []got{{"", ""}}, io.EOF},
		"a name":                             {"event: error\ndata: a\n\ndata: b\n\n", []got{{"error", "a"}, {"", "b"}}, io.EOF},
		"a name without data is none":        {"event: ping\n\ndata: b\n\n", []got{{"", "b"}}, io.EOF},
		"CR":                                 {"data: a\rdata: b\r\rdata: c\r\r", []got{{"", "a\nb"}, {"", "c"}}, io.EOF},
		"CRLF":                               {"data: a\r\ndata: b\r\n\r\n", []got{{"", "a\nb"}}, io.EOF},
		"mixed":                              {"data: a\r\ndata: b\n\rdata: c\r\r\n", []got{{"", "a\nb"}, {"", "c"}}, io.EOF},
		"comments":                           {": hello\n:\ndata: a\n: b\n\n: bye\n\n", []got{{"", "a"}}, io.EOF},
		"id and retry are skipped":           {"id: 1\nretry: 5\ndata: a\n\n", []got{{"", "a"}}, io.EOF},
		"a byte order mark":                  {"\uFEFFdata: a\n\n", []got{{"", "a"}}, io.EOF},
		"a byte order mark and a comment":    {"\uFEFF: x\ndata: a\n\n", []got{{"", "a"}}, io.EOF},
		"a second byte order mark":           {"data: a\n\n\uFEFFdata: b\n\n", []got{{"", "a"}}, ErrField},
		"colons in the value":                {"data: {\"a\":1}\n\n", []got{{"", `{"a":1}`}}, io.EOF},
		"line ends of Unicode are no ends":   {"data: a\u2028b\u0085c\vd\n\n", []got{{"", "a\u2028b\u0085c\vd"}}, io.EOF},
		"bytes that are no UTF-8 are passed": {"data: \xe5\n\n", []got{{"", "\xe5"}}, io.EOF},
		"an unknown field":                   {"data: a\n\ndate: b\n\n", []got{{"", "a"}}, ErrField},
		"a field in capitals":                {"Data: a\n\n", nil, ErrField},
		"a body that is no stream":           {`{"error":{"message":"no"}}` + "\n", nil, ErrField},
		"unfinished: no line end":            {"data: a\n\ndata: b", []got{{"", "a"}}, io.ErrUnexpectedEOF},
		"unfinished: no empty line":          {"data: a\n\ndata: b\n", []got{{"", "a"}}, io.ErrUnexpectedEOF},
		"unfinished: half a field name":      {"data: a\n\nda", []got{{"", "a"}}, io.ErrUnexpectedEOF},
		"unfinished: a name":                 {"event: a\n", nil, io.ErrUnexpectedEOF},
		"an unfinished comment is no event":  {"data: a\n\n: pin", []got{{"", "a"}}, io.EOF},
		"an id at the end is no event":       {"data: a\n\nid: 1\n", []got{{"", "a"}}, io.EOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := readAll(strings.NewReader(tt.in), testLimit)
			require.Equal(t, tt.want, all)
			require.ErrorIs(t, err, tt.end)
			// However the bytes are split, the events are the same.
			for n := 1; n <= len(tt.in); n++ {
				all, err = readAll(io.MultiReader(strings.NewReader(tt.in[:n]), strings.NewReader(tt.in[n:])), testLimit)
				require.Equal(t, tt.want, all, "split at %d", n)
				require.ErrorIs(t, err, tt.end, "split at %d", n)
			}
			all, err = readAll(iotest.OneByteReader(strings.NewReader(tt.in)), testLimit)
			require.Equal(t, tt.want, all)
			require.ErrorIs(t, err, tt.end)
			all, err = readAll(iotest.DataErrReader(strings.NewReader(tt.in)), testLimit)
			require.Equal(t, tt.want, all)
			require.ErrorIs(t, err, tt.end)
		})
	}
}

func TestAnUnfinishedEventIsHandedOver(t *testing.T) {
	for _, in := range []string{"data: [DONE]", "data: [DONE]\n", "data: [DONE]\r\n", "data: [DONE]\r"} {
		r := NewReader(strings.NewReader(in), testLimit, nil)
		e, err := r.Next()
		require.Equal(t, io.ErrUnexpectedEOF, err)
		require.Equal(t, "[DONE]", string(e.Data), "%q", in)
		_, err = r.Next()
		require.Equal(t, io.ErrUnexpectedEOF, err, "an error is final")
	}
}

// The reader must not wait for the LF that may follow a CR: the event is complete.
func TestACarriageReturnEndsItsLineAtOnce(t *testing.T) {
	in, out := io.Pipe()
	defer func() { _ = in.Close() }()
	go func() { _, _ = io.WriteString(out, "data: a\r\r") }()
	e, err := NewReader(in, testLimit, nil).Next()
	require.NoError(t, err)
	require.Equal(t, "a", string(e.Data))
}

// rule: M-095
func TestTheLimitCountsTheJoinedData(t *testing.T) {
	const limit = 10
	tests := map[string]struct {
		in  string
		end error
	}{
		"n-1":                           {"data: 123456789\n\n", io.EOF},
		"n":                             {"data: 1234567890\n\n", io.EOF},
		"n+1":                           {"data: 12345678901\n\n", ErrTooLong},
		"n without a space":             {"data:1234567890\n\n", io.EOF},
		"n+1 without a space":           {"data:12345678901\n\n", ErrTooLong},
		"n in lines, with the LF":       {"data: 12345\ndata: 6789\n\n", io.EOF},
		"n+1 in lines, with the LF":     {"data: 12345\ndata: 67890\n\n", ErrTooLong},
		"n empty lines":                 {strings.Repeat("data\n", 11) + "\n", io.EOF},
		"n+1 empty lines":               {strings.Repeat("data\n", 12) + "\n", ErrTooLong},
		"a long comment":                {": " + strings.Repeat("x", 100) + "\ndata: 1234567890\n\n", io.EOF},
		"comments between do not count": {"data: 12345\n: 1234567890\ndata: 6789\n\n", io.EOF},
		"each event by itself":          {"data: 1234567890\n\ndata: 1234567890\n\n", io.EOF},
		"a line without end":            {"data: " + strings.Repeat("x", 100), ErrTooLong},
		"a long name":                   {"event: " + strings.Repeat("x", 100) + "\n", ErrTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				_, err := readAll(r, limit)
				require.ErrorIs(t, err, tt.end)
			}
		})
	}
}

func TestTooLongNamesTheLimit(t *testing.T) {
	_, err := readAll(strings.NewReader("data: 123456\n\n"), 5)
	require.EqualError(t, err, "sse: an event is too long: the limit is 5 bytes")
}

// zeros never end and never end a line.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	z.n += int64(len(p))
	return len(p), nil
}

func TestALineWithoutEndIsNotHeld(t *testing.T) {
	z := &zeros{}
	_, err := readAll(io.MultiReader(strings.NewReader("data: "), z), testLimit)
	require.ErrorIs(t, err, ErrTooLong)
	require.LessOrEqual(t, z.n, int64(testLimit+2*bufferBytes), "read on past the limit")
}

func TestACommentWithoutEndIsNotHeld(t *testing.T) {
	const size = 64 << 20
	in := io.MultiReader(strings.NewReader(":"), io.LimitReader(&zeros{}, size), strings.NewReader("\ndata: a\n\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, err := readAll(in, testLimit)
	runtime.ReadMemStats(&after)
	require.Equal(t, io.EOF, err)
	require.Equal(t, []got{{"", "a"}}, all)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestDataLinesAreTold(t *testing.T) {
	told := 0
	r := NewReader(strings.NewReader(": a\n\nid: 1\nevent: x\ndata: a\ndata: b\n\n: c\n"), testLimit, func() { told++ })
	_, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, 2, told)
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
	require.Equal(t, 2, told, "a comment is no data line")
}

func TestErrorsOfTheSourceComeBack(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))
	all, err := readAll(in, testLimit)
	require.Equal(t, []got{{"", "a"}}, all)
	require.Equal(t, broken, err)
}

var benchStream = strings.Repeat(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}`+"\n\n", 1000)

// It joins and copies, the limit does neither.
//
// target: <= 3x BenchmarkNext_LimitLines
func BenchmarkNext(b *testing.B) {
	b.SetBytes(int64(len(benchStream)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(benchStream), testLimit, nil)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// The limit: the standard library finding the lines, and nothing else.
func BenchmarkNext_LimitLines(b *testing.B) {
	b.SetBytes(int64(len(benchStream)))
	b.ReportAllocs()
	for b.Loop() {
		s := bufio.NewScanner(strings.NewReader(benchStream))
		for s.Scan() {
			_ = s.Bytes()
		}
	}
}
