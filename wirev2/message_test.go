package wirev2

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

var responseMembers = [][2]string{
	{"v", `2`}, {"kind", `"response"`}, {"request_id", `"r1"`}, {"instance_id", `"` + idA + `"`}, {"connection_id", `"` + idB + `"`},
	{"session_id", `"` + idC + `"`}, {"operation_id", `"` + idD + `"`}, {"grant_generation", `3`}, {"payload", `{"turn_id":"` + idA + `"}`},
	{"error", ``},
}

var eventMembers = [][2]string{
	{"v", `2`}, {"kind", `"event"`}, {"event", `"turn.text"`}, {"instance_id", `"` + idA + `"`}, {"connection_id", `"` + idB + `"`},
	{"session_id", `"` + idC + `"`}, {"operation_id", `null`}, {"grant_generation", `3`}, {"live_sequence", `4`},
	{"payload", `{"turn_id":"` + idA + `","text":"Hi"}`},
}

func response(changes ...string) string { return object(responseMembers, changes...) }
func event(changes ...string) string    { return object(eventMembers, changes...) }

func readMessage(t *testing.T, in string) (Message, error) {
	t.Helper()
	var m Message
	err := newReader(t, strings.NewReader(in+"\n")).ReadMessage(&m, nil)
	return m, err
}

// rule: W-038, W-040, W-041
func TestResponsesBothWays(t *testing.T) {
	p := Response{
		RequestID: "r1", InstanceID: idA, ConnectionID: idB, SessionID: idC, OperationID: idD, GrantGeneration: 3,
		Payload: jsontext.Value(`{"turn_id":"` + idA + `"}`),
	}
	record, err := AppendResponse([]byte("x"), &p)
	require.NoError(t, err)
	require.Equal(t, "x"+response()+"\n", string(record))
	m, err := readMessage(t, response())
	require.NoError(t, err)
	require.False(t, m.IsEvent)
	require.Equal(t, p, m.Response)

	withBody := p
	withBody.Payload, withBody.Body = nil, TurnStartReply{TurnID: idA}
	record, err = AppendResponse(nil, &withBody)
	require.NoError(t, err)
	require.Equal(t, response()+"\n", string(record))

	record, err = AppendResponse(nil, &Response{RequestID: "r1", InstanceID: idA, ConnectionID: idB})
	require.NoError(t, err)
	require.Equal(t, response("session_id", "null", "operation_id", "null", "grant_generation", "null", "payload", "{}")+"\n", string(record))
}

// rule: W-021, W-039, W-271
func TestErrorResponsesBothWays(t *testing.T) {
	null := []string{"request_id", "null", "session_id", "null", "operation_id", "null", "grant_generation", "null", "payload", ""}
	text := response(append(null, "error", `{"code":"invalid_record","message":"the line is empty"}`)...)
	p := Response{InstanceID: idA, ConnectionID: idB, Error: &Error{CodeInvalidRecord, "the line\nis empty"}}
	record, err := AppendResponse(nil, &p)
	require.NoError(t, err)
	require.Equal(t, text+"\n", string(record))
	m, err := readMessage(t, text)
	require.NoError(t, err)
	require.Equal(t, &Error{CodeInvalidRecord, "the line is empty"}, m.Response.Error)
	require.Nil(t, m.Response.Payload)
	require.Empty(t, m.Response.RequestID)

	p.Error = &Error{CodeInternal, x(600)}
	record, err = AppendResponse(nil, &p)
	require.NoError(t, err)
	require.Contains(t, string(record), `"`+x(509)+`…"`)
}

// rule: W-258
func TestTheListOfCodesIsClosed(t *testing.T) {
	const list = "invalid_record invalid_request unknown_method not_initialized already_initialized unsupported_capability " +
		"invalid_payload control_required stale_connection unknown_session session_claimed session_locked unknown_operation " +
		"operation_already_known conflict resource_not_found configuration_busy limit_exceeded turn_active unknown_turn " +
		"executor_rejected deadline_exceeded provider_unconfigured preparation_failed internal"
	want := strings.Fields(list)
	require.Len(t, want, 25)
	require.Len(t, Codes(), 25)
	for i, c := range Codes() {
		require.Equal(t, want[i], string(c))
		require.True(t, c.Known())
		_, err := AppendResponse(nil, &Response{InstanceID: idA, ConnectionID: idB, Error: &Error{Code: c}})
		require.NoError(t, err)
	}
	for _, c := range []Code{"", "nonsense", "Internal", "provider_error", "internal "} {
		require.False(t, c.Known())
		got, err := AppendResponse([]byte("x"), &Response{InstanceID: idA, ConnectionID: idB, Error: &Error{Code: c}})
		require.ErrorContains(t, err, "closed list")
		require.Equal(t, "x", string(got))
	}
	m, err := readMessage(t, response("payload", "", "error", `{"code":"brand_new","message":"x"}`))
	require.NoError(t, err, "a reader shows what it does not know")
	require.EqualError(t, m.Response.Error, "brand_new: x")
}

// rule: W-043, W-047
func TestEventsBothWays(t *testing.T) {
	e := Event{
		Event: EventTurnText, InstanceID: idA, ConnectionID: idB, SessionID: idC, GrantGeneration: 3, LiveSequence: 4,
		Payload: jsontext.Value(`{"turn_id":"` + idA + `","text":"Hi"}`),
	}
	record, err := AppendEvent([]byte("x"), &e)
	require.NoError(t, err)
	require.Equal(t, "x"+event()+"\n", string(record))
	m, err := readMessage(t, event())
	require.NoError(t, err)
	require.True(t, m.IsEvent)
	require.Equal(t, e, m.Event)

	cancel := TurnApplicationToolCancelEvent{idA, idB, idC, 2, CancelCancelled}
	executor := Event{Event: EventTurnApplicationToolCancel, InstanceID: idA, ConnectionID: idB, SessionID: idC, Body: cancel}
	record, err = AppendEvent(nil, &executor)
	require.NoError(t, err)
	require.Contains(t, string(record), `"session_id":"`+idC+`","operation_id":null,"grant_generation":null,"live_sequence":null,"payload":{"turn_id":`)
	m, err = readMessage(t, strings.TrimSuffix(string(record), "\n"))
	require.NoError(t, err)
	back, err := m.Event.Decode()
	require.NoError(t, err)
	require.Equal(t, &cancel, back)
}

func TestMessagesAreReadStrictly(t *testing.T) {
	big := func(n int) string { return `{"a":"` + x(n-len(`{"a":""}`)) + `"}` }
	bad := []string{
		`{}`, `{"kind":"response"}`, `{"kind":"event"}`, `{"kind":1}`, turnRequest(),
		response("payload", ""), response("error", `{"code":"internal","message":"x"}`), response("error", "null"),
		response("payload", "null"), response("payload", "[]"), response("payload", "", "error", "null"),
		response("payload", "", "error", `{"code":"internal"}`), response("payload", "", "error", `{"code":"internal","message":"x","more":1}`),
		response("payload", "", "error", `{"code":1,"message":"x"}`), response("payload", "", "error", `"x"`),
		response("request_id", "null"), response("payload", big(49153)), event("payload", big(32769)),
		event("event", "null"), event("event", "1"), event("live_sequence", "null"), event("grant_generation", "null"),
		event("payload", "null"), event("live_sequence", "0"),
		event("live_sequence", "1.0"), event("live_sequence", "-1"),
	}
	for _, members := range [][][2]string{responseMembers, eventMembers} {
		for _, m := range members {
			if m[0] == "error" || m[0] == "payload" {
				continue
			}
			bad = append(bad, object(members, m[0], ""), object(members, m[0], "[]"), object(members, m[0], `"x y"`))
			if m[0] == "event" {
				bad = bad[:len(bad)-1] // any name is a name
			}
			if m[0] == "v" || m[0] == "kind" || m[0] == "instance_id" || m[0] == "connection_id" {
				bad = append(bad, object(members, m[0], "null"))
			}
		}
		text := object(members)
		bad = append(bad, text[:len(text)-1]+`,"extra":1}`, strings.Replace(text, `"v"`, `"V"`, 1))
		var many strings.Builder
		for _, c := range "abcdefghijklmnop" {
			many.WriteString(`"` + string(c) + `":1,`)
		}
		bad = append(bad, "{"+many.String()+text[1:], text[:len(text)-1]+","+strings.TrimSuffix(many.String(), ",")+"}")
	}
	for _, in := range bad {
		r := newReader(t, strings.NewReader(in+"\n"+event()+"\n"))
		var m Message
		err := r.ReadMessage(&m, nil)
		require.ErrorIs(t, err, ErrInvalidEnvelope, in)
		require.NotErrorIs(t, err, ErrInvalidRecord)
		require.Equal(t, err, r.ReadMessage(&m, nil), "the reader is spent")
	}
	for _, in := range []string{
		response("payload", big(49152)), event("payload", big(32768)), response("grant_generation", "9007199254740993"),
		event("session_id", "null", "grant_generation", "null", "live_sequence", "null"),
		response("request_id", `"\u0072"`), event("event", `"a name of its own"`),
	} {
		_, err := readMessage(t, in)
		require.NoError(t, err, in)
	}
	_, err := readMessage(t, `{"kind":"response","kind":"response"}`)
	requireRecordError(t, err)
}

func TestAResponseMustEchoItsRequest(t *testing.T) {
	asked := Request{RequestID: "r1", Method: MethodTurnStart, SessionID: idC, OperationID: idD}
	pending := func(id []byte) (*Request, bool) { return &asked, string(id) == "r1" }
	read := func(in string) (Message, error) {
		var m Message
		err := newReader(t, strings.NewReader(in+"\n")).ReadMessage(&m, pending)
		return m, err
	}
	m, err := read(response())
	require.NoError(t, err)
	require.Equal(t, MethodTurnStart, m.Response.Method)
	for _, in := range []string{
		response("request_id", `"r2"`), response("session_id", "null"), response("operation_id", "null"),
		response("session_id", `"`+idA+`"`), response("operation_id", `"`+idA+`"`),
	} {
		_, err = read(in)
		require.ErrorIs(t, err, ErrInvalidEnvelope, in)
	}
	asked.SessionID, asked.OperationID = "", ""
	_, err = read(response("session_id", "null", "operation_id", "null"))
	require.NoError(t, err)
	_, err = read(response("operation_id", "null"))
	require.ErrorIs(t, err, ErrInvalidEnvelope)
	_, err = read(response("request_id", "null", "session_id", "null", "operation_id", "null", "payload", "", "error", `{"code":"invalid_record","message":"x"}`))
	require.NoError(t, err, "the answer to a broken record")
}

// rule: W-010, W-011, A-110
func TestPayloadBudgetsOfReplies(t *testing.T) {
	payload := func(n int) jsontext.Value { return jsontext.Value(`{"a":"` + x(n-len(`{"a":""}`)) + `"}`) }
	for _, info := range Methods() {
		limit := 32768
		switch info.Method {
		case MethodSessionHistory:
			limit = 49152
		case MethodTurnApplicationEvidence:
			limit = 30720
		}
		asked := Request{RequestID: "r1", Method: info.Method}
		for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false} {
			p := Response{RequestID: "r1", InstanceID: idA, ConnectionID: idB, Method: info.Method, Payload: payload(n)}
			record, err := AppendResponse(nil, &p)
			if !ok {
				require.ErrorIs(t, err, ErrTooLarge)
				p.Method = MethodSessionHistory // to have a record that is too large to read
				if record, err = AppendResponse(nil, &p); info.Method == MethodSessionHistory {
					continue
				}
			}
			require.NoError(t, err)
			require.LessOrEqual(t, len(record), 65536)
			var m Message
			err = newReader(t, strings.NewReader(string(record))).ReadMessage(&m, func([]byte) (*Request, bool) { return &asked, true })
			if ok {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrInvalidEnvelope)
			}
		}
	}
	for n, ok := range map[int]bool{32767: true, 32768: true, 32769: false} {
		_, err := AppendEvent(nil, &Event{Event: EventTurnText, InstanceID: idA, ConnectionID: idB, Payload: payload(n)})
		require.Equal(t, ok, err == nil)
	}
}

// The longest record that can be written fits into the record limit, whatever its members are.
func TestTheLongestResponseFitsARecord(t *testing.T) {
	p := Response{
		RequestID: x(64), InstanceID: idA, ConnectionID: idB, SessionID: idC, OperationID: idD, GrantGeneration: 1<<63 - 1,
		Method: MethodSessionHistory, Payload: jsontext.Value(`{"a":"` + x(49152-len(`{"a":""}`)) + `"}`),
	}
	record, err := AppendResponse(nil, &p)
	require.NoError(t, err)
	require.LessOrEqual(t, len(record), 65536)
	p.Error = &Error{CodeOperationAlreadyKnown, strings.Repeat("\u2028\x01\"", 1000)}
	record, err = AppendResponse(nil, &p)
	require.NoError(t, err)
	require.LessOrEqual(t, len(record), 65536)
}

func TestWritersRefuseBadIDs(t *testing.T) {
	for _, change := range []func(*Response, *Event){
		func(p *Response, e *Event) { p.InstanceID, e.InstanceID = "", "" },
		func(p *Response, e *Event) { p.ConnectionID, e.ConnectionID = "x", "x" },
		func(p *Response, e *Event) { p.SessionID, e.SessionID = "x", "x" },
		func(p *Response, e *Event) { p.OperationID, e.OperationID = ID(strings.ToUpper(idA)), "x" },
		func(p *Response, e *Event) { p.Payload, e.Payload = jsontext.Value("x"), jsontext.Value("[]") },
		func(p *Response, e *Event) { p.RequestID, e.Body = "a b", 1 },
	} {
		p, e := Response{RequestID: "r", InstanceID: idA, ConnectionID: idB}, Event{Event: "x", InstanceID: idA, ConnectionID: idB}
		change(&p, &e)
		_, err := AppendResponse(nil, &p)
		require.Error(t, err)
		_, err = AppendEvent(nil, &e)
		require.Error(t, err)
	}
}

func TestWriterWritesWholeRecordsOnly(t *testing.T) {
	var writes []string
	w := NewWriter(writerFunc(func(p []byte) (int, error) {
		writes = append(writes, string(p))
		return len(p), nil
	}))
	require.NoError(t, w.WriteRequest(&Request{RequestID: "r1", Method: MethodDaemonStatus}))
	require.Error(t, w.WriteRequest(&Request{}))
	require.NoError(t, w.WriteResponse(&Response{RequestID: "r1", InstanceID: idA, ConnectionID: idB}))
	require.Error(t, w.WriteResponse(&Response{}))
	require.NoError(t, w.WriteEvent(&Event{Event: EventTurnText, InstanceID: idA, ConnectionID: idB}))
	require.Error(t, w.WriteEvent(&Event{}))
	require.Len(t, writes, 3)
	for _, record := range writes {
		require.Equal(t, 1, strings.Count(record, "\n"))
		require.True(t, strings.HasSuffix(record, "}\n"))
	}
	broken := errors.New("broken")
	w = NewWriter(writerFunc(func([]byte) (int, error) { return 0, broken }))
	require.ErrorIs(t, w.WriteRequest(&Request{RequestID: "r1", Method: MethodDaemonStatus}), broken)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

var _ io.Writer = writerFunc(nil)

func TestDecodeEvents(t *testing.T) {
	for name, body := range map[EventName]any{
		EventSessionControlLost:        &SessionControlLostEvent{ControlLostTakeover},
		EventTurnStarted:               &TurnStartedEvent{idA, 0},
		EventTurnText:                  &TurnTextEvent{idA, "x"},
		EventTurnTool:                  &TurnToolEvent{idA, idB, "read_file", ToolFailed},
		EventTurnTerminal:              sampleTerminal(),
		EventTurnApplicationToolCall:   &TurnApplicationToolCallEvent{idA, idB, "c", idA, 1, idC, idD, sum, "lamp", jsontext.Value(`{}`), 1000},
		EventTurnApplicationToolCancel: &TurnApplicationToolCancelEvent{idA, idB, idC, 2, CancelToolTimeout},
	} {
		payload, err := EncodePayload(body)
		require.NoError(t, err)
		e := Event{Event: name, Payload: payload}
		got, err := e.Decode()
		require.NoError(t, err, name)
		require.Equal(t, body, got)
		e.Payload = jsontext.Value(`{}`)
		_, err = e.Decode()
		require.Error(t, err)
	}
	unknown := Event{Event: "turn.dreamt", Payload: jsontext.Value(`{}`)}
	got, err := unknown.Decode()
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestClonedEventsKeepTheirPayload(t *testing.T) {
	raw := []byte(`{"a":1}`)
	e := Event{Payload: raw}
	c := e.Clone()
	clear(raw)
	require.Equal(t, `{"a":1}`, string(c.Payload))
}
