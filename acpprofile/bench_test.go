package acpprofile_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpprofile"
)

func line() []byte {
	return []byte(update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"` + strings.Repeat("A sentence of an answer. ", 80) + `"}}`))
}

// private is the same line with a member that the adapter may not see.
func private() []byte {
	return []byte(strings.Replace(string(line()), `"messageId"`, `"_meta":{"usage":{"input":1234,"output":56}},"messageId"`, 1))
}

// A line that has only what the adapter may see.
//
// target: <= 2x BenchmarkUpdate_LimitIsValid
// target: <= 4 allocs
func BenchmarkUpdate(b *testing.B)              { benchNative(b, line()) }
func BenchmarkUpdate_LimitIsValid(b *testing.B) { benchValid(b, line()) }

// A line that has more, so that its projection has to be written.
//
// target: <= 2x BenchmarkPrivateUpdate_LimitIsValid
// target: <= 4 allocs
func BenchmarkPrivateUpdate(b *testing.B)              { benchNative(b, private()) }
func BenchmarkPrivateUpdate_LimitIsValid(b *testing.B) { benchValid(b, private()) }

func benchNative(b *testing.B, native []byte) {
	c := plain()
	c.Limits = acpprofile.Limits{NativeBytes: 1 << 50, NativeFrames: 1 << 50, Updates: 1 << 50, TextBytes: 1 << 50}
	m, err := acpprofile.New(c)
	if err != nil {
		b.Fatal(err)
	}
	step := func(_ acpprofile.Decision, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	step(m.Adapter([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)))
	step(m.Native([]byte(`{"jsonrpc":"2.0","id":1,"result":` + capable + `}`)))
	step(m.Adapter([]byte(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":` + work + `}`)))
	step(m.Native([]byte(`{"jsonrpc":"2.0","id":2,"result":` + owned + `}`)))
	step(m.Adapter([]byte(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":` + prompt(`"x"`) + `}`)))
	b.SetBytes(int64(len(native)))
	b.ReportAllocs()
	for b.Loop() {
		step(m.Native(native))
	}
}

// benchValid checks the same bytes and does no more.
func benchValid(b *testing.B, native jsontext.Value) {
	b.SetBytes(int64(len(native)))
	b.ReportAllocs()
	for b.Loop() {
		if !native.IsValid() {
			b.Fatal("invalid")
		}
	}
}
