package wirev2

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

const recordHead = `"n":7,"at":"2026-01-02T03:04:05.678Z","type":`

func head(t RecordType) RecordHead { return RecordHead{7, "2026-01-02T03:04:05.678Z", t} }

// recordSamples are all journal records, with the optional members there.
func recordSamples() []struct {
	record Record
	want   string
} {
	return []struct {
		record Record
		want   string
	}{
		{&SessionRecord{head(RecordSession), idA, "/w", nil},
			`{` + recordHead + `"session","session_id":"` + idA + `","workspace":"/w","title":null}`},
		{&UserRecord{head(RecordUser), idA, idB, "Hi", ManifestMember{Present: true, Manifest: sampleManifest()}},
			`{` + recordHead + `"user","turn_id":"` + idA + `","operation_id":"` + idB + `","prompt":"Hi","application_manifest":` +
				manifestText + `}`},
		{&UserRecord{head(RecordUser), idA, idB, "Hi", ManifestMember{Present: true}},
			`{` + recordHead + `"user","turn_id":"` + idA + `","operation_id":"` + idB + `","prompt":"Hi","application_manifest":null}`},
		{&UserRecord{head(RecordUser), idA, idB, "Hi", ManifestMember{}},
			`{` + recordHead + `"user","turn_id":"` + idA + `","operation_id":"` + idB + `","prompt":"Hi"}`},
		{&ToolContractRecord{head(RecordToolContract), idA, idB, idC, sum, "lamp", "L", jsontext.Value(`{"a":1}`), jsontext.Value(`{}`), 1000},
			`{` + recordHead + `"tool_contract","turn_id":"` + idA + `","resource_id":"` + idB + `","revision_id":"` + idC +
				`","revision_sha256":"` + sum + `","name":"lamp","description":"L","input_schema":{"a":1},"output_schema":{},` +
				`"timeout_ms":1000}`},
		{&AssistantRecord{head(RecordAssistant), idA, "Hm.", []ID{idB, idC}},
			`{` + recordHead + `"assistant","turn_id":"` + idA + `","text":"Hm.","tool_calls":["` + idB + `","` + idC + `"]}`},
		{&ToolCallRecord{RecordHead: head(RecordToolCall), TurnID: idA, CallID: idB, ProviderCallID: "c", Minted: true, Name: "read_file", Arguments: jsontext.Value(`{"path":"a"}`)},
			`{` + recordHead + `"tool_call","turn_id":"` + idA + `","call_id":"` + idB + `","provider_call_id":"c","minted":true,` +
				`"name":"read_file","arguments":{"path":"a"},"resource_id":null,"revision_id":null,"revision_sha256":null}`},
		{&ToolCallRecord{head(RecordToolCall), idA, idB, "c", false, "lamp", nil, new("{oops"), new(ID(idC)), new(ID(idD)), new(sum)},
			`{` + recordHead + `"tool_call","turn_id":"` + idA + `","call_id":"` + idB + `","provider_call_id":"c","minted":false,` +
				`"name":"lamp","arguments":null,"arguments_text":"{oops","resource_id":"` + idC + `","revision_id":"` + idD +
				`","revision_sha256":"` + sum + `"}`},
		{&ToolResultRecord{RecordHead: head(RecordToolResult), TurnID: idA, CallID: idB, Status: OutcomeSuccess, Value: jsontext.Value(`"x"`), ExternalEffects: EffectsReported},
			`{` + recordHead + `"tool_result","turn_id":"` + idA + `","call_id":"` + idB + `","status":"success","value":"x",` +
				`"synthetic":false,"external_effects":"reported"}`},
		{&ToolResultRecord{head(RecordToolResult), idA, idB, OutcomeError, nil, new(ToolCancelled), new("stopped"), true, EffectsUncertain},
			`{` + recordHead + `"tool_result","turn_id":"` + idA + `","call_id":"` + idB + `","status":"error","code":"cancelled",` +
				`"message":"stopped","synthetic":true,"external_effects":"uncertain"}`},
		{&TerminalRecord{head(RecordTerminal), idA, idB, TerminalFailed, "Hm.", &TurnError{TurnInternal, "x"}, &Usage{1, 2}},
			`{` + recordHead + `"terminal","turn_id":"` + idA + `","operation_id":"` + idB + `","status":"failed","text":"Hm.",` +
				`"error":{"code":"internal","message":"x"},"usage":{"input_tokens":1,"output_tokens":2}}`},
	}
}

// rule: W-279, W-280, W-281, W-282, W-284, W-285, W-287, W-288
func TestJournalRecords(t *testing.T) {
	for _, s := range recordSamples() {
		got, err := EncodeRecord(s.record)
		require.NoError(t, err)
		require.Equal(t, s.want, string(got))
		back, err := DecodeRecord(got)
		require.NoError(t, err)
		if call, ok := back.(*ToolCallRecord); ok && string(call.Arguments) == "null" {
			call.Arguments = nil
		}
		require.Equal(t, s.record, back)
		require.Equal(t, int64(7), back.Head().N)
		require.Equal(t, s.record.RecordType(), back.Head().Type)

		for _, m := range spots(t, s.want, []string{"application_manifest", "input_schema", "output_schema", "arguments", "value"}) {
			end := m.objectEnd - 1
			for what, text := range map[string]string{
				"unknown": s.want[:end] + `,"more":1` + s.want[end:],
				"twice":   s.want[:end] + `,` + s.want[m.nameAt:m.valueEnd] + s.want[end:],
				"case":    s.want[:m.nameAt+1] + strings.ToUpper(s.want[m.nameAt+1:m.nameAt+2]) + s.want[m.nameAt+2:],
				"without": without(s.want, m),
			} {
				optional := strings.Contains(" application_manifest arguments_text value code message ", " "+m.path+" ")
				_, err := DecodeRecord(jsontext.Value(text))
				if what == "without" && optional {
					require.NoError(t, err, text)
				} else {
					require.Error(t, err, text)
				}
			}
		}
		for i := range s.want {
			_, err := DecodeRecord(jsontext.Value(s.want[:i]))
			require.Error(t, err)
		}
	}
}

// rule: W-278
func TestHeadsOfJournalRecords(t *testing.T) {
	text := func(n, at, kind string) jsontext.Value {
		return jsontext.Value(`{"n":` + n + `,"at":` + at + `,"type":` + kind + `,"turn_id":"` + idA + `","text":"","tool_calls":[]}`)
	}
	const at, kind = `"2026-01-02T03:04:05.678Z"`, `"assistant"`
	for _, n := range []string{"1", "2", "9007199254740991"} {
		_, err := DecodeRecord(text(n, at, kind))
		require.NoError(t, err)
	}
	for _, n := range []string{"0", "-1", "1.0", `"1"`, "null"} {
		_, err := DecodeRecord(text(n, at, kind))
		require.Error(t, err, n)
	}
	for _, bad := range []string{
		`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.6789Z"`, `"2026-01-02T03:04:05.67Z"`, `"2026-01-02T03:04:05.678+00:00"`,
		`"2026-01-02 03:04:05.678Z"`, `"2026-02-30T03:04:05.678Z"`, `""`, `1`, `null`,
	} {
		_, err := DecodeRecord(text("1", bad, kind))
		require.Error(t, err, bad)
	}
	for _, bad := range []string{`"Assistant"`, `"note"`, `""`, `1`, `null`} {
		_, err := DecodeRecord(text("1", at, bad))
		require.Error(t, err, bad)
	}
	_, err := EncodeRecord(&AssistantRecord{RecordHead: head(RecordUser), TurnID: idA})
	require.ErrorContains(t, err, "says it is of type")
	require.Nil(t, RecordType("note").New())
	for _, s := range recordSamples() {
		require.Equal(t, s.record.RecordType(), s.record.RecordType().New().RecordType())
	}
}

func TestTimestamps(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	ts := NewTimestamp(time.Date(2026, 1, 2, 4, 4, 5, 678_999_999, zone))
	require.Equal(t, Timestamp("2026-01-02T03:04:05.678Z"), ts, "UTC, rounded down")
	at, err := ts.Time()
	require.NoError(t, err)
	require.True(t, at.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)))
	require.Equal(t, Timestamp("2026-01-02T03:04:05.000Z"), NewTimestamp(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
}

// rule: W-016
func TestARecordFitsTheDepthOfAHistoryReply(t *testing.T) {
	for depth, ok := range map[int]bool{27: true, 28: true, 29: false} {
		nested := jsontext.Value(strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth))
		raw, err := EncodeRecord(&ToolResultRecord{RecordHead: head(RecordToolResult), TurnID: idA, CallID: idB, Value: nested})
		require.Equal(t, ok, err == nil, depth)
		if !ok {
			continue
		}
		_, err = DecodeRecord(raw)
		require.NoError(t, err)
		record, err := AppendResponse(nil, &Response{
			RequestID: "r1", InstanceID: idA, ConnectionID: idB, Method: MethodSessionHistory,
			Body: SessionHistoryReply{Records: []jsontext.Value{raw}},
		})
		require.NoError(t, err)
		var m Message
		require.NoError(t, newReader(t, strings.NewReader(string(record))).ReadMessage(&m, nil))
	}
}
