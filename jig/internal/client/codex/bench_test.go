package codex

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

const deltaLine = `{"method":"item/agentMessage/delta","params":{"threadId":"01990000-0000-7000-8000-000000000001","turnId":"01990000-0000-7000-8000-000000000002","itemId":"msg_00000000000000000000000000000001","delta":" a few words"},"emittedAtMs":1796009492433}`

// quiet is a host that only counts.
type quiet struct {
	adapter.Host

	texts int
}

func (q *quiet) Text(string, string) { q.texts++ }

func (q *quiet) After(time.Duration, func()) func() { return func() {} }

// target: <= 6x BenchmarkDelta_LimitValid
func BenchmarkDelta(b *testing.B) {
	c, q := New().(*client), &quiet{}
	c.Start(q)
	c.thread, c.prompting, c.turn, c.streamed = "01990000-0000-7000-8000-000000000001", true, "01990000-0000-7000-8000-000000000002", map[string]bool{}
	line := []byte(deltaLine)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Line(line); err != nil {
			b.Fatal(err)
		}
	}
	require.NotZero(b, q.texts)
}

func BenchmarkDelta_LimitValid(b *testing.B) {
	line := jsontext.Value(deltaLine)
	b.ReportAllocs()
	for b.Loop() {
		if !line.IsValid() {
			b.Fatal("invalid")
		}
	}
}

// An answer of 20,000 pieces through the whole adapter, without a process.
func BenchmarkAnswer(b *testing.B) {
	const pieces = 20_000
	input := bytes.Repeat([]byte(deltaLine+"\n"), pieces)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		c := New().(*client)
		exited := make(chan struct{})
		close(exited)
		c.thread, c.prompting, c.turn, c.streamed = "01990000-0000-7000-8000-000000000001", true, "01990000-0000-7000-8000-000000000002", map[string]bool{}
		err := adapter.Serve(c, adapter.Streams{
			In: bytes.NewReader(nil), Out: io.Discard, Stdin: discard{}, Stdout: bytes.NewReader(input), Stderr: bytes.NewReader(nil), Exited: exited,
		}, func(launch.Category) {})
		if err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
