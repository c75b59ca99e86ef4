package wirev2

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// benchRecords are records of about 16 KiB: one long text, many small members, text that is not ASCII.
func benchRecords(b *testing.B) map[string][]byte {
	b.Helper()
	request := func(prompt string) []byte {
		payload, err := EncodePayload(TurnStartRequest{Prompt: prompt})
		require.NoError(b, err)
		record, err := AppendRequest(nil, &Request{
			RequestID: "r1", Method: MethodTurnStart, SessionID: idA, ControlToken: NewSecret(), OperationID: idB,
			Payload: payload,
		})
		require.NoError(b, err)
		return record
	}
	const line = "The daemon hands each call to one executor, \"at most once\", and says so when it cannot know.\n"
	var calls []CallEvidence
	wait, left := WaitExecution, int64(59999)
	for range 30 {
		calls = append(calls, CallEvidence{
			CallID: idA, ProviderCallID: "call_0123456789", Name: "read_sensor", ExecutorID: idB, ExecutorGeneration: 2,
			RevisionSHA256: strings.Repeat("0123456789abcdef", 4), Status: CallPending, ExternalEffects: EffectsUncertain,
			WaitKind: &wait, RemainingMS: &left, ResourceID: idC, RevisionID: idD,
		})
	}
	payload, err := EncodePayload(TurnApplicationEvidenceReply{TurnID: idA, Calls: calls})
	require.NoError(b, err)
	members, err := AppendResponse(nil, &Response{RequestID: "r1", InstanceID: idA, ConnectionID: idB, Payload: payload})
	require.NoError(b, err)
	return map[string][]byte{
		"text":     request(strings.Repeat(line, 16384/len(line))),
		"members":  members,
		"nonASCII": request(strings.Repeat("Jeder Aufruf geht höchstens einmal hinaus. 呼び出しは一度だけです。", 190)),
	}
}

// BenchmarkRead16KiB validates a record and decodes its envelope; of a request the payload is copied out, too.
//
// target: >= 0.7x BenchmarkRead16KiB_LimitGJSONValid
func BenchmarkRead16KiB(b *testing.B) {
	for name, record := range benchRecords(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(record)))
			src := bytes.NewReader(record)
			r := newReader(b, readerFunc(func(p []byte) (int, error) {
				if src.Len() == 0 {
					_, _ = src.Seek(0, io.SeekStart)
				}
				return src.Read(p)
			}))
			var m Message
			for b.Loop() {
				if name == "members" {
					if err := r.ReadMessage(&m, nil); err != nil {
						b.Fatal(err)
					}
				} else if _, err := r.ReadRequest(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead16KiB_LimitGJSONValid(b *testing.B) {
	for name, record := range benchRecords(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(record)))
			for b.Loop() {
				if !gjson.ValidBytes(record) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkRead16KiB_PeerJSONTextIsValid(b *testing.B) {
	for name, record := range benchRecords(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(record)))
			for b.Loop() {
				if !jsontext.Value(record).IsValid() {
					b.Fatal("not valid")
				}
			}
		})
	}
}
