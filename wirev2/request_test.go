package wirev2

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// turnMembers are a request that has every member.
var turnMembers = [][2]string{
	{"v", `2`}, {"kind", `"request"`}, {"request_id", `"r1"`}, {"method", `"turn.start"`}, {"session_id", `"` + idA + `"`},
	{"control_token", `"tok"`}, {"operation_id", `"` + idC + `"`}, {"deadline_ms", `5`}, {"payload", `{"prompt":"Hi"}`},
}

// object writes members as an object; a value of "" leaves the member out.
func object(members [][2]string, changes ...string) string {
	var b strings.Builder
	sep := "{"
	for _, m := range members {
		value := m[1]
		for i := 0; i < len(changes); i += 2 {
			if changes[i] == m[0] {
				value = changes[i+1]
			}
		}
		if value != "" {
			b.WriteString(sep + `"` + m[0] + `":` + value)
			sep = ","
		}
	}
	return b.String() + "}"
}

func turnRequest(changes ...string) string { return object(turnMembers, changes...) }

// requireInvalid wants in to be an invalid request that echoes what the rest of it allows.
func requireInvalid(t *testing.T, in string) *RequestError {
	t.Helper()
	r := newReader(t, strings.NewReader(in+"\n"+statusRequest+"\n"))
	_, err := r.ReadRequest()
	var bad *RequestError
	require.ErrorAs(t, err, &bad, in)
	require.ErrorIs(t, err, ErrInvalidEnvelope)
	require.NotErrorIs(t, err, ErrInvalidRecord)
	require.NotContains(t, bad.Error(), "\n")
	_, err = r.ReadRequest()
	require.NoError(t, err, "the next record is read")
	return bad
}

func TestReadRequest(t *testing.T) {
	want := Request{
		RequestID: "r1", Method: MethodTurnStart, SessionID: idA, ControlToken: "tok", OperationID: idC, DeadlineMS: 5,
		Payload: jsontext.Value(`{"prompt":"Hi"}`),
	}
	q, err := readOne(t, turnRequest())
	require.NoError(t, err)
	require.Equal(t, want, q)

	// In any order, escaped in any way, with white space.
	q, err = readOne(t, ` { "payload" : {"prompt":"Hi"} , "deadline_ms":5,"operation_id":"`+idC+`","control_token":"t\u006fk",`+
		`"session_id":"\u0030`+idA[1:]+`","m\u0065thod":"turn\u002estart","request_id":"r\u0031","kind":"r\u0065quest","v":2}`)
	require.NoError(t, err)
	require.Equal(t, want, q)

	q, err = readOne(t, turnRequest("method", `"no.such.method"`))
	require.NoError(t, err, "whether a method is known is a later check")
	require.Equal(t, Method("no.such.method"), q.Method)
}

func TestReadRequestGivesItsMemoryAway(t *testing.T) {
	first := turnRequest("payload", `{"prompt":"first first first"}`)
	r := newReader(t, strings.NewReader(first+"\n"+turnRequest("session_id", `"`+idB+`"`, "payload", `{"prompt":"other other other"}`)+"\n"))
	q, err := r.ReadRequest()
	require.NoError(t, err)
	_, err = r.ReadRequest()
	require.NoError(t, err)
	require.Equal(t, `{"prompt":"first first first"}`, string(q.Payload))
	require.Equal(t, ID(idA), q.SessionID)
}

// rule: W-030
func TestEveryMemberButTheDeadlineIsRequired(t *testing.T) {
	for _, m := range turnMembers {
		if m[0] == "deadline_ms" {
			_, err := readOne(t, turnRequest(m[0], ""))
			require.NoError(t, err)
			continue
		}
		bad := requireInvalid(t, turnRequest(m[0], ""))
		require.Equal(t, m[0]+" is missing", bad.Reason)
	}
	require.Equal(t, "v is missing", requireInvalid(t, "{}").Reason)
}

// rule: W-031
func TestUnknownMembersAreInvalidRequests(t *testing.T) {
	for _, extra := range []string{`"x":1`, `"V":2`, `"Kind":"request"`, `"deadlineMs":1`, `"":1`, `"error":null`, `"v ":2`} {
		in := turnRequest()
		requireInvalid(t, in[:len(in)-1]+","+extra+"}")
		requireInvalid(t, "{"+extra+","+in[1:])
	}
	var many strings.Builder
	for i := range 20 {
		many.WriteString(`,"x` + strconv.Itoa(i) + `":1`)
	}
	in := turnRequest()
	requireInvalid(t, in[:len(in)-1]+many.String()+"}")
}

// rule: W-032, W-048, W-050, W-055, W-260
func TestFormsOfRequestMembers(t *testing.T) {
	long := func(n int) string { return `"` + x(n) + `"` }
	for member, values := range map[string]struct{ good, bad []string }{
		"v":    {[]string{`2`}, []string{`1`, `3`, `2.0`, `2e0`, `"2"`, `null`, `true`, `[2]`, `{}`, `-2`}},
		"kind": {[]string{`"request"`}, []string{`"response"`, `"event"`, `"Request"`, `"request "`, `""`, `null`, `1`, `{}`}},
		"request_id": {
			[]string{`"a"`, `"aZ09._-"`, long(2), long(63), long(64)},
			[]string{`""`, long(65), `"a b"`, `"a/b"`, `"é"`, `"a\n"`, `"a\u0000"`, `null`, `1`, `[]`, `{}`, `"a:b"`},
		},
		"method":     {[]string{`"capabilities"`, `""`, `"é"`}, []string{`null`, `1`, `[]`, `{}`, `true`}},
		"session_id": idForms(),
		"control_token": {
			[]string{`null`, `"a"`, long(2), long(127), long(128), `"\u0000 é\""`},
			[]string{`""`, long(129), `1`, `{}`, `[]`, `false`, `"` + strings.Repeat("é", 65) + `"`},
		},
		"operation_id": idForms(),
		"deadline_ms":  {[]string{`1`, `2`, `599999`, `600000`}, []string{`0`, `600001`, `-1`, `null`, `1.5`, `1.0`, `1e3`, `"5"`, `{}`, `-0`, `99999999999999999999`}},
		"payload":      {[]string{`{}`, `{"a":1}`}, []string{`null`, `[]`, `"{}"`, `1`, `true`}},
	} {
		for _, value := range values.good {
			_, err := readOne(t, turnRequest(member, value))
			require.NoError(t, err, "%s %s", member, value)
		}
		for _, value := range values.bad {
			require.Equal(t, member+" is malformed", requireInvalid(t, turnRequest(member, value)).Reason, "%s %s", member, value)
		}
	}
}

func idForms() struct{ good, bad []string } {
	return struct{ good, bad []string }{
		[]string{`null`, `"` + idA + `"`, `"` + idC + `"`},
		[]string{`""`, `"` + strings.ToUpper(idA) + `"`, `"{` + idA + `}"`, `"` + strings.ReplaceAll(idA, "-", "") + `"`, `1`, `{}`, `[]`, `true`},
	}
}

// rule: W-033, W-034
func TestDeadline(t *testing.T) {
	for value, want := range map[string]int64{"": 30000, "1": 1, "600000": 600000} {
		q, err := readOne(t, turnRequest("deadline_ms", value))
		require.NoError(t, err)
		require.Equal(t, want, q.DeadlineMS)
	}
	for _, value := range []string{"0", "600001", "null", "1.5", `"5"`} {
		require.Equal(t, "r1", requireInvalid(t, turnRequest("deadline_ms", value)).Request.RequestID)
	}
}

// rule: W-009, W-260
func TestPayloadSizeLimit(t *testing.T) {
	payload := func(n int) string { return `{"a":"` + x(n-len(`{"a":""}`)) + `"}` }
	for n, ok := range map[int]bool{32767: true, 32768: true, 32769: false} {
		in := turnRequest("payload", payload(n))
		if ok {
			q, err := readOne(t, in)
			require.NoError(t, err)
			require.Len(t, q.Payload, n)
		} else {
			require.Equal(t, "payload is longer than 32768 bytes", requireInvalid(t, in).Reason)
		}
	}
	// White space inside the payload is on the wire and counts; what stands around it does not.
	spaced := `{` + strings.Repeat(" ", 32768-2) + `}`
	_, err := readOne(t, turnRequest("payload", "  "+spaced+"  "))
	require.NoError(t, err)
	requireInvalid(t, turnRequest("payload", strings.Replace(spaced, " ", "  ", 1)))
}

// rule: W-042
func TestEchoOfABadRequest(t *testing.T) {
	for _, m := range turnMembers {
		if m[0] == "request_id" {
			continue
		}
		bad := requireInvalid(t, turnRequest(m[0], "[]"))
		require.Equal(t, "r1", bad.Request.RequestID, "with a bad %s", m[0])
		if m[0] != "session_id" {
			require.Equal(t, ID(idA), bad.Request.SessionID)
		}
		if m[0] != "operation_id" {
			require.Equal(t, ID(idC), bad.Request.OperationID)
		}
	}
	everything := `{"request_id":"r9","v":1,"kind":null,"method":1,"session_id":2,"control_token":3,"operation_id":4,"payload":5,"deadline_ms":6,"x":7}`
	require.Equal(t, Request{RequestID: "r9", DeadlineMS: 6}, requireInvalid(t, everything).Request)
	require.Empty(t, requireInvalid(t, turnRequest("request_id", `"a b"`)).Request.RequestID)
	require.Empty(t, requireInvalid(t, turnRequest("request_id", `""`)).Request.RequestID)
	require.Empty(t, requireInvalid(t, turnRequest("session_id", `"`+strings.ToUpper(idA)+`"`)).Request.SessionID)
}

func TestAppendRequest(t *testing.T) {
	q := Request{
		RequestID: "r1", Method: MethodTurnStart, SessionID: idA, ControlToken: "to\"k", OperationID: idC, DeadlineMS: 5,
		Payload: jsontext.Value(` { "prompt" : "H\u0069" } `),
	}
	want := turnRequest("control_token", `"to\"k"`) + "\n"
	got, err := AppendRequest([]byte("before"), &q)
	require.NoError(t, err)
	require.Equal(t, "before"+want, string(got))

	q.Payload, q.Body = nil, TurnStartRequest{Prompt: "Hi"}
	got, err = AppendRequest(nil, &q)
	require.NoError(t, err)
	require.Equal(t, want, string(got))

	got, err = AppendRequest(nil, &Request{RequestID: "r1", Method: MethodDaemonStatus})
	require.NoError(t, err)
	require.Equal(t, statusRequest+"\n", string(got))
}

func TestAppendRequestRefusesWhatADaemonWould(t *testing.T) {
	payload := func(n int) jsontext.Value { return jsontext.Value(`{"a":"` + x(n-len(`{"a":""}`)) + `"}`) }
	for what, change := range map[string]func(*Request){
		"no request_id":       func(q *Request) { q.RequestID = "" },
		"bad request_id":      func(q *Request) { q.RequestID = "a b" },
		"long request_id":     func(q *Request) { q.RequestID = x(65) },
		"bad session_id":      func(q *Request) { q.SessionID = "x" },
		"bad operation_id":    func(q *Request) { q.OperationID = ID(strings.ToUpper(idA)) },
		"long control_token":  func(q *Request) { q.ControlToken = Secret(x(129)) },
		"negative deadline":   func(q *Request) { q.DeadlineMS = -1 },
		"long deadline":       func(q *Request) { q.DeadlineMS = 600001 },
		"payload no object":   func(q *Request) { q.Payload = jsontext.Value(`[]`) },
		"payload no JSON":     func(q *Request) { q.Payload = jsontext.Value(`{`) },
		"payload of two":      func(q *Request) { q.Payload = jsontext.Value(`{}{}`) },
		"payload of LF":       func(q *Request) { q.Payload = jsontext.Value("{}\n}") },
		"payload empty":       func(q *Request) { q.Payload = jsontext.Value{} },
		"payload too large":   func(q *Request) { q.Payload = payload(32769) },
		"body too large":      func(q *Request) { q.Body = TurnStartRequest{Prompt: x(32768)} },
		"body of another age": func(q *Request) { q.Body = 1 },
	} {
		q := Request{RequestID: "r1", Method: MethodTurnStart, Payload: payload(32768)}
		_, err := AppendRequest(nil, &q)
		require.NoError(t, err)
		change(&q)
		got, err := AppendRequest([]byte("before"), &q)
		require.Error(t, err, what)
		require.Equal(t, "before", string(got), what)
		if strings.HasSuffix(what, "too large") {
			require.ErrorIs(t, err, ErrTooLarge)
		}
	}
}
