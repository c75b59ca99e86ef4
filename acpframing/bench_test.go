package acpframing_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing"
)

// The three kinds of frame: an ACP message whose text is mostly JSON punctuation,
// one that is mostly prose, and one that is mostly not ASCII. Each has 1 MiB.
func benchFrame(kind string) []byte {
	unit := map[string]string{
		"json": `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ok"},"n":[1,2,3]},` + "\n",
		"text": `A sentence of ordinary prose, as a model writes it, with a \"quotation\" now and then.\n`,
		"cjk":  `北京は今日も晴れ。Ордината, naïve façade — 🐣 `,
	}[kind]
	frame := []byte(strings.Repeat(unit, 1<<20/len(unit)+1))[:1<<20]
	for frame[len(frame)-1] >= 0x80 {
		frame = frame[:len(frame)-1]
	}
	return frame
}

func benchSplit(b *testing.B, kind string) {
	frame := benchFrame(kind)
	item := make([]byte, 0, acpframing.MaxItemBytes)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	fragments := 0
	for b.Loop() {
		s, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Begin(frame); err != nil {
			b.Fatal(err)
		}
		for fragments = 0; s.More(); fragments++ {
			if item, err = s.Next(item[:0]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchQuote(b *testing.B, kind string) {
	frame := benchFrame(kind)
	dst := make([]byte, 0, 2*len(frame))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = jsontext.AppendQuote(dst[:0], frame); err != nil {
			b.Fatal(err)
		}
	}
}

func benchItems(b *testing.B, frame []byte) [][]byte {
	s, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Begin(frame); err != nil {
		b.Fatal(err)
	}
	var items [][]byte
	for s.More() {
		item, err := s.Next(nil)
		if err != nil {
			b.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

func benchJoin(b *testing.B, kind string) {
	frame := benchFrame(kind)
	items := benchItems(b, frame)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	var j *acpframing.Joiner
	for left := 0; b.Loop(); left-- {
		if left == 0 { // a stream carries 32 MiB
			var err error
			if j, err = acpframing.NewJoiner(acpframing.Responses, acpframing.Limits{}); err != nil {
				b.Fatal(err)
			}
			left = 32
		}
		for _, item := range items {
			f, err := j.Add(item)
			if err != nil || f != nil && f.Len() != len(frame) {
				b.Fatal(err)
			}
			j.Recycle(f)
		}
	}
}

func benchUnquote(b *testing.B, kind string) {
	frame := benchFrame(kind)
	quoted, err := jsontext.AppendQuote(nil, frame)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, len(quoted))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = jsontext.AppendUnquote(dst[:0], quoted); err != nil || !bytes.Equal(dst[:8], frame[:8]) {
			b.Fatal(err)
		}
	}
}

// target: >= 1.15x BenchmarkSplitJSON_LimitAppendQuote
// target: <= 2 allocs
func BenchmarkSplitJSON(b *testing.B)                  { benchSplit(b, "json") }
func BenchmarkSplitJSON_LimitAppendQuote(b *testing.B) { benchQuote(b, "json") }

// target: >= 1.15x BenchmarkSplitText_LimitAppendQuote
// target: <= 2 allocs
func BenchmarkSplitText(b *testing.B)                  { benchSplit(b, "text") }
func BenchmarkSplitText_LimitAppendQuote(b *testing.B) { benchQuote(b, "text") }

// target: >= 1.15x BenchmarkSplitCJK_LimitAppendQuote
// target: <= 2 allocs
func BenchmarkSplitCJK(b *testing.B)                  { benchSplit(b, "cjk") }
func BenchmarkSplitCJK_LimitAppendQuote(b *testing.B) { benchQuote(b, "cjk") }

// target: >= 0.9x BenchmarkJoinJSON_LimitAppendUnquote
// target: <= 8 allocs
func BenchmarkJoinJSON(b *testing.B)                    { benchJoin(b, "json") }
func BenchmarkJoinJSON_LimitAppendUnquote(b *testing.B) { benchUnquote(b, "json") }

// target: >= 0.9x BenchmarkJoinText_LimitAppendUnquote
// target: <= 8 allocs
func BenchmarkJoinText(b *testing.B)                    { benchJoin(b, "text") }
func BenchmarkJoinText_LimitAppendUnquote(b *testing.B) { benchUnquote(b, "text") }

// target: >= 0.9x BenchmarkJoinCJK_LimitAppendUnquote
// target: <= 8 allocs
func BenchmarkJoinCJK(b *testing.B)                    { benchJoin(b, "cjk") }
func BenchmarkJoinCJK_LimitAppendUnquote(b *testing.B) { benchUnquote(b, "cjk") }
