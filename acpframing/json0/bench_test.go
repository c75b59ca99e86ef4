package json0_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// An update as a native agent sends it.
var update = []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0198c7d2-7f2e-7b31-9c55-3a3f1f2d9b10",` +
	`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"A sentence of prose,\nand \"another\" one."},` +
	`"_meta":{"usage":{"input":1234,"output":56.5,"cached":true}}}}}`)

// Prose in one string, and a schema-like tree.
var (
	prose = []byte(`{"text":"` + strings.Repeat(`A sentence of ordinary prose, as a model writes it.\n`, 300) + `"}`)
	tree  = []byte(`[` + strings.Repeat(`{"name":"n","type":"object","items":[1,2,3.5,null,true],"more":{"a":"b"}},`, 200) + `0]`)
)

func benchCheck(b *testing.B, doc []byte) {
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := json0.Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func benchValid(b *testing.B, doc []byte) {
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if !jsontext.Value(doc).IsValid() {
			b.Fatal("not valid")
		}
	}
}

// target: <= 1x BenchmarkCheckUpdate_LimitIsValid
// target: <= 0 allocs
func BenchmarkCheckUpdate(b *testing.B)              { benchCheck(b, update) }
func BenchmarkCheckUpdate_LimitIsValid(b *testing.B) { benchValid(b, update) }

// target: <= 1x BenchmarkCheckProse_LimitIsValid
// target: <= 0 allocs
func BenchmarkCheckProse(b *testing.B)              { benchCheck(b, prose) }
func BenchmarkCheckProse_LimitIsValid(b *testing.B) { benchValid(b, prose) }

// target: <= 1.5x BenchmarkCheckTree_LimitIsValid
// target: <= 0 allocs
func BenchmarkCheckTree(b *testing.B)              { benchCheck(b, tree) }
func BenchmarkCheckTree_LimitIsValid(b *testing.B) { benchValid(b, tree) }
