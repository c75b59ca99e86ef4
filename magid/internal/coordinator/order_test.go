package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-265, W-266, W-267, W-270, W-268
func TestTheFirstCheckThatFailsAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		known := h.with(wirev2.MethodTurnStart, `{"prompt":"go"}`)
		known.operation = wirev2.NewID()
		require.Nil(t, h.call(known).Error) // a turn is active now: the state step would say so

		// Everything is wrong at once, and is put right check by check.
		q := request{method: wirev2.MethodTurnStart, session: wirev2.NewID(), operation: known.operation, payload: `{"prompt":1}`}
		h.refused(q, wirev2.CodeOperationAlreadyKnown)
		q.operation = ""
		h.refused(q, wirev2.CodeUnknownSession)
		q.session = h.session
		h.refused(q, wirev2.CodeControlRequired)
		q.token = "wrong"
		h.refused(q, wirev2.CodeStaleConnection)
		q.token = h.token
		h.refused(q, wirev2.CodeInvalidPayload)
		q.payload = `{"prompt":"x"}`
		h.refused(q, wirev2.CodeTurnActive)

		claim := request{method: wirev2.MethodSessionClaim, session: h.session, payload: `{"takeover":null}`}
		other := r.connect(false)
		other.refused(claim, wirev2.CodeInvalidPayload)
		claim.payload = `{}`
		other.refused(claim, wirev2.CodeSessionClaimed)
		close(feed)
	})
}

// rule: W-268
func TestPayloadsAreReadStrictlyForEachMethod(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		id := string(wirev2.NewID())
		for method, payloads := range map[wirev2.Method][]string{
			wirev2.MethodDaemonStatus:    {`{"x":1}`},
			wirev2.MethodSessionCreate:   {`{}`, `{"workspace":1}`, `{"workspace":"/","x":1}`, `{"Workspace":"/"}`, `{"workspace":null}`},
			wirev2.MethodSessionList:     {`{"limit":"1"}`, `{"limit":1.5}`, `{"limit":null}`, `{"x":1}`, `{"cursor":1}`},
			wirev2.MethodSessionClaim:    {`{"takeover":1}`, `{"takeover":null}`, `{"x":1}`},
			wirev2.MethodSessionRelease:  {`{"x":1}`},
			wirev2.MethodSessionSnapshot: {`{"x":1}`},
			wirev2.MethodSessionHistory:  {`{"after":"1"}`, `{"limit":1.5}`, `{"x":1}`, `{"after":null}`},
			wirev2.MethodTurnStart:       {`{}`, `{"prompt":null}`, `{"prompt":["x"]}`, `{"prompt":"x","x":1}`, `{"prompt":"x","application":null}`},
			wirev2.MethodTurnStop:        {`{}`, `{"turn_id":1}`, `{"turn_id":"x"}`, `{"turn_id":"` + id + `","x":1}`, `{"turn_id":null}`},
			wirev2.MethodOperationLookup: {`{}`, `{"operation_id":null}`, `{"operation_id":"X"}`, `{"operation_id":"` + id + `","x":1}`},
		} {
			info, _ := method.Lookup()
			for _, payload := range payloads {
				q := request{method: method, payload: payload}
				if info.Session != wirev2.Null {
					q.session = h.session
				}
				if info.Control != wirev2.Null {
					q.token = h.token
				}
				refusal := h.refused(q, wirev2.CodeInvalidPayload)
				require.LessOrEqual(t, len(refusal.Message), 300)
			}
		}
	})
}

// rule: W-040, W-041
func TestResponsesEchoTheirRequestAndNameTheGrant(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		instance := r.c.core.instance
		check := func(q request, grant int64) {
			t.Helper()
			q.operation = ""
			if info, _ := q.method.Lookup(); info.Operation == wirev2.Required {
				q.operation = wirev2.NewID()
			}
			response := h.call(q)
			require.Equal(t, instance, response.InstanceID)
			require.Equal(t, h.id, response.ConnectionID)
			require.Equal(t, q.session, response.SessionID)
			require.Equal(t, q.operation, response.OperationID)
			require.Equal(t, grant, response.GrantGeneration)
			require.NotEqual(t, response.Payload == nil, response.Error == nil, "one of the two")
		}
		check(request{method: wirev2.MethodDaemonStatus}, 0)
		check(request{method: wirev2.MethodSessionCreate, payload: `{}`}, 0)
		check(h.with(wirev2.MethodSessionSnapshot, nil), 1)
		check(h.with(wirev2.MethodSessionSnapshot, `{"x":1}`), 1)
		check(h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: wirev2.NewID()}), 1)
		bad := h.with(wirev2.MethodTurnStop, nil)
		bad.token = "wrong"
		check(bad, 0)
		check(request{method: wirev2.MethodSessionClaim, session: h.session}, 2)
		check(request{method: wirev2.MethodSessionClaim, session: h.session, payload: `{"x":1}`}, 0)
		check(request{method: "no.such"}, 0)
	})
}

// rule: W-272, W-271
func TestRefusalsShowNoTokenAndNoPath(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		feed := make(line)
		r.model.then(feed.step)
		h.turn("the prompt")
		canary := wirev2.Secret("canary-token")
		for _, q := range []request{
			{method: wirev2.MethodSessionCreate, payload: `{"workspace":"/canary/path"}`},
			{method: wirev2.MethodSessionCreate, payload: `{"workspace":"canary"}`},
			{method: wirev2.MethodSessionSnapshot, session: h.session, token: canary},
			{method: wirev2.MethodTurnStart, session: h.session, token: h.token, payload: `{"prompt":"canary"}`},
			{method: wirev2.MethodTurnStart, session: h.session, token: h.token, payload: `{"prompt":"canary","canary":1}`},
			{method: wirev2.MethodSessionList, payload: `{"cursor":"canary"}`},
		} {
			response := h.call(q)
			require.NotNil(t, response.Error)
			require.NotContains(t, response.Error.Message, "/canary")
			require.NotContains(t, response.Error.Message, "canary-token")
			require.NotContains(t, response.Error.Message, h.token.Reveal())
			require.NotContains(t, response.Error.Message, r.workspace)
			require.NotContains(t, response.Error.Message, "\n")
		}
		close(feed)
	})
}
