package jsonline_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
)

// piece is a line as a client writes one for every few letters of an answer.
var piece = []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few letters "}},` +
	`"session_id":"3113376d-1dd1-4b56-a1f2-fe74e3b04aba","parent_tool_use_id":null,"uuid":"3922965c-660e-4bad-b3ca-9d289f16ff8d","api_message_id":"msg_1"}`)

// target: <= 3x BenchmarkParse_LimitCheck
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		v, err := jsonline.Parse(piece)
		if err != nil || jsonline.Text(v.Get("event.delta.text")) == "" {
			b.Fatal(err)
		}
	}
}

// The check alone, without reading anything.
func BenchmarkParse_LimitCheck(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		if !jsontext.Value(piece).IsValid(jsontext.AllowInvalidUTF8(true)) {
			b.Fatal("not valid")
		}
	}
}
