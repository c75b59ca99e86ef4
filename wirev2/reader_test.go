package wirev2

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const (
	idA = "0a0a0a0a-0000-4000-8000-00000000000a"
	idB = "0b0b0b0b-0000-4000-8000-00000000000b"
	idC = "0c0c0c0c-0000-1000-8000-00000000000c" // not version 4
	idD = "0d0d0d0d-0000-4000-8000-00000000000d"
)

func newReader(t testing.TB, src io.Reader) *Reader {
	t.Helper()
	r, err := NewReader(src, Limits{})
	require.NoError(t, err)
	return r
}

// readOne reads in, to which it adds the LF, as one request.
func readOne(t testing.TB, in string) (Request, error) {
	t.Helper()
	return newReader(t, strings.NewReader(in+"\n")).ReadRequest()
}

const statusRequest = `{"v":2,"kind":"request","request_id":"r1","method":"daemon.status","session_id":null,` +
	`"control_token":null,"operation_id":null,"payload":{}}`

// padded returns a request record of exactly n bytes with its LF.
func padded(n int) string { return statusRequest + strings.Repeat(" ", n-len(statusRequest)-1) + "\n" }

func requireRecordError(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrInvalidRecord)
	var broken *RecordError
	require.ErrorAs(t, err, &broken)
}

// rule: W-008, W-018
func TestRecordSizeLimit(t *testing.T) {
	for n, ok := range map[int]bool{65535: true, 65536: true, 65537: false, 70000: false} {
		r := newReader(t, strings.NewReader(padded(n)))
		_, err := r.ReadRequest()
		if ok {
			require.NoError(t, err, n)
			_, err = r.ReadRequest()
			require.Equal(t, io.EOF, err)
		} else {
			requireRecordError(t, err)
		}
	}
}

// interruptedOnce is interrupted at its third read.
type interruptedOnce struct {
	io.Reader
	reads int
}

func (i *interruptedOnce) Read(p []byte) (int, error) {
	if i.reads++; i.reads == 3 {
		return 0, os.ErrDeadlineExceeded
	}
	return i.Reader.Read(p)
}

// countingReader gives bytes for ever and counts them.
type countingReader struct{ given int }

func (c *countingReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.given += len(p)
	return len(p), nil
}

// rule: W-024
func TestOverlongInputIsNotReadPastTheLimit(t *testing.T) {
	src := &countingReader{}
	r := newReader(t, src)
	_, err := r.ReadRequest()
	requireRecordError(t, err)
	require.LessOrEqual(t, src.given, 65536)
	require.LessOrEqual(t, cap(r.buf), 65536)
	_, again := r.ReadRequest()
	require.Equal(t, err, again)
}

// rule: W-012, W-013, W-014, W-015, W-016, W-017, W-019, W-020
func TestBrokenRecords(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	with := func(payload string) string { return strings.Replace(statusRequest, `{}`, payload, 1) }
	for _, in := range []string{
		"", " ", "\t", "\r", "null", "1", `"x"`, "[]", "[" + statusRequest + "]", statusRequest + statusRequest,
		statusRequest + " x", "\xef\xbb\xbf" + statusRequest, with("{\"a\":\"\xff\"}"), with("{\"\xc3\":1}"),
		with(`{"a":"\ud800"}`), with(`{"\udc00":1}`), with(`{"a":1,"a":2}`), with(`{"a":{"b":[{"c":1,"\u0063":2}]}}`),
		strings.Replace(statusRequest, `"v":2`, `"v":2,"v":2`, 1), strings.Replace(statusRequest, `"v":2`, `"v":2,"\u0076":2`, 1),
		with(`{"a":` + deep(31) + `}`), "hello", "GET / HTTP/1.1", statusRequest[:len(statusRequest)-1], "\x00",
	} {
		r := newReader(t, strings.NewReader(in+"\n"+statusRequest+"\n"))
		_, err := r.ReadRequest()
		requireRecordError(t, err)
		require.NotContains(t, err.Error(), "\n")
		_, again := r.ReadRequest()
		require.Equal(t, err, again, "the reader is spent")
	}
	_, err := readOne(t, with(`{"a":`+deep(30)+`}`))
	require.NoError(t, err, "depth 32")
	_, err = readOne(t, " \t\r"+statusRequest+"\r \t")
	require.NoError(t, err, "white space around")
}

// A read that was interrupted loses nothing of the record that was coming.
func TestReadingGoesOnAfterADeadline(t *testing.T) {
	record := statusRequest + "\n"
	r := newReader(t, io.MultiReader(
		&interruptedOnce{Reader: iotest.OneByteReader(strings.NewReader(record[:7]))}, strings.NewReader(record[7:]+record)))
	interrupted := 0
	for range 3 {
		_, err := r.ReadRequest()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			interrupted++
			continue
		}
		require.NoError(t, err)
	}
	require.Equal(t, 1, interrupted)
}

func TestEndOfInput(t *testing.T) {
	r := newReader(t, strings.NewReader(statusRequest+"\n"))
	_, err := r.ReadRequest()
	require.NoError(t, err)
	_, err = r.ReadRequest()
	require.Equal(t, io.EOF, err)

	_, err = newReader(t, strings.NewReader(statusRequest)).ReadRequest()
	require.Equal(t, io.ErrUnexpectedEOF, err)

	broken := errors.New("broken pipe")
	_, err = newReader(t, iotest.ErrReader(broken)).ReadRequest()
	require.ErrorIs(t, err, broken)

	_, err = newReader(t, iotest.DataErrReader(strings.NewReader(statusRequest+"\n"))).ReadRequest()
	require.NoError(t, err, "a record that comes together with the end counts")

	_, err = newReader(t, readerFunc(func([]byte) (int, error) { return 0, nil })).ReadRequest()
	require.Equal(t, io.ErrNoProgress, err)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLimitsOfAReader(t *testing.T) {
	_, err := NewReader(nil, Limits{MaxDepth: -1})
	require.ErrorContains(t, err, "MaxDepth is negative")
	r, err := NewReader(strings.NewReader(statusRequest+"\n"), Limits{MaxRecordBytes: 64})
	require.NoError(t, err)
	_, err = r.ReadRequest()
	requireRecordError(t, err)
}

// complaint: 30 anthropics/claude-code#58648 - the second of two long lines sent back to back lost its tail
func TestComplaint30ClaudeCode58648(t *testing.T) {
	long := strings.Replace(padded(65536), `"r1"`, `"r2"`, 1)
	both := padded(65000) + long + padded(len(statusRequest)+1)
	for name, src := range map[string]io.Reader{
		"one write":     strings.NewReader(both),
		"1-byte writes": iotest.OneByteReader(strings.NewReader(both)),
		"halves":        iotest.HalfReader(strings.NewReader(both)),
	} {
		r := newReader(t, src)
		for _, want := range []string{"r1", "r2", "r1"} {
			q, err := r.ReadRequest()
			require.NoError(t, err, name)
			require.Equal(t, want, q.RequestID, name)
		}
		_, err := r.ReadRequest()
		require.Equal(t, io.EOF, err, name)
	}
}

// complaint: 31 tyrchen/claude-agent-sdk-rs#28 - a size counter that was never reset killed the stream after 10 MB in total
func TestComplaint31ClaudeAgentSDKRs28(t *testing.T) {
	const records = 10000
	record := []byte(strings.Replace(statusRequest, `{}`, `{"a":"`+x(10<<10-len(statusRequest)-len(`"a":""`)-1)+`"}`, 1) + "\n")
	require.Len(t, record, 10<<10)
	left := records
	var rest []byte
	r := newReader(t, readerFunc(func(p []byte) (int, error) {
		if len(rest) == 0 {
			if left == 0 {
				return 0, io.EOF
			}
			left--
			rest = record
		}
		n := copy(p, rest)
		rest = rest[n:]
		return n, nil
	}))
	for range records {
		_, err := r.ReadRequest()
		require.NoError(t, err)
	}
	_, err := r.ReadRequest()
	require.Equal(t, io.EOF, err)
	require.LessOrEqual(t, cap(r.buf), 65536)
}

// complaint: 29 anthropics/claude-agent-sdk-typescript#137 - U+2028 in a tool result was taken for the end of the line
func TestComplaint29ClaudeAgentSDKTypescript137(t *testing.T) {
	const odd = "a\u2028b\u2029c\u0085d\ve\ufefff\u0000g"
	result := TurnApplicationToolResultRequest{
		TurnID: idA, CallID: idB, ExecutorID: idC, ExecutorGeneration: 1, ResourceID: idA, RevisionID: idB,
		Outcome: Outcome{Status: OutcomeSuccess, Value: AppendString(nil, odd)},
	}
	payload, err := EncodePayload(result)
	require.NoError(t, err)
	record, err := AppendRequest(nil, &Request{
		RequestID: "r1", Method: MethodTurnApplicationToolResult, SessionID: idA, OperationID: idB, Payload: payload,
	})
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(record, []byte("\n")))
	// The same value with everything unescaped that JSON allows unescaped.
	raw := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(record))
	for _, in := range []string{string(record), raw} {
		r := newReader(t, strings.NewReader(in))
		q, err := r.ReadRequest()
		require.NoError(t, err)
		var got TurnApplicationToolResultRequest
		require.NoError(t, DecodePayload(q.Payload, &got))
		value, ok := text(got.Outcome.Value)
		require.True(t, ok)
		require.Equal(t, odd, value)
		_, err = r.ReadRequest()
		require.Equal(t, io.EOF, err)
	}
}
