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

// target: <= 2x BenchmarkUpdate_LimitIsValid
func BenchmarkUpdate(b *testing.B) {
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
	native := line()
	b.SetBytes(int64(len(native)))
	b.ReportAllocs()
	for b.Loop() {
		step(m.Native(native))
	}
}

// BenchmarkUpdate_LimitIsValid checks the same bytes and does no more.
func BenchmarkUpdate_LimitIsValid(b *testing.B) {
	native := jsontext.Value(line())
	b.SetBytes(int64(len(native)))
	b.ReportAllocs()
	for b.Loop() {
		if !native.IsValid() {
			b.Fatal("invalid")
		}
	}
}
