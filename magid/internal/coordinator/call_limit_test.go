package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-252, W-255, A-159, A-160, A-161, A-080, A-179, A-180
func TestResultIsCheckedInItsOrderAndARefusedOneLeavesTheCallOpen(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"), says("done"))
		turn := a.run("go").TurnID
		call := a.calls()[0]
		code, denied, other := wirev2.ToolExecutionFailed, wirev2.ToolPermissionDenied, wirev2.ToolTimeout
		message := func(n int) *string { return new(strings.Repeat("m", n)) }
		text := func(n int) wirev2.Outcome { // encoded in exactly n bytes
			pad := n - len(`{"said":""}`)
			return wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{"said":"` + strings.Repeat(`\u0001`, pad/6) + strings.Repeat("a", pad%6) + `"}`)}
		}
		refused := func(outcome wirev2.Outcome) {
			t.Helper()
			a.refused(result(a.session, call, outcome), wirev2.CodeInvalidPayload)
			require.Equal(t, wirev2.CallPending, a.evidence(turn).Calls[0].Status)
		}
		for _, value := range []string{`{}`, `{"said":1}`, `{"said":"x","more":1}`, `[]`, `"x"`, `{"said":"` + strings.Repeat("é", 4097) + `"}`} {
			refused(wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(value)})
		}
		refused(text(16385))
		refused(wirev2.Outcome{Status: wirev2.OutcomeError, Code: &code, Message: message(513)})
		refused(wirev2.Outcome{Status: wirev2.OutcomeError, Code: &other, Message: message(1)})
		for _, change := range []func(c *wirev2.TurnApplicationToolCallEvent){
			func(c *wirev2.TurnApplicationToolCallEvent) { c.ResourceID = wirev2.NewID() },
			func(c *wirev2.TurnApplicationToolCallEvent) { c.RevisionID = wirev2.NewID() },
			func(c *wirev2.TurnApplicationToolCallEvent) { c.RevisionSHA256 = strings.Repeat("0", 64) },
		} {
			wrong := call
			change(&wrong)
			a.refused(result(a.session, wrong, said("x")), wirev2.CodeInvalidPayload)
		}

		// Everything is wrong, and is put right check by check.
		p := wirev2.TurnApplicationToolResultRequest{
			TurnID: wirev2.NewID(), CallID: wirev2.NewID(), ExecutorID: wirev2.NewID(), ExecutorGeneration: 9,
			ResourceID: wirev2.NewID(), RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256,
			Outcome: wirev2.Outcome{Status: "perhaps"},
		}
		q := request{method: wirev2.MethodTurnApplicationToolResult, session: a.session}
		step := func(want wirev2.Code, change func()) {
			t.Helper()
			change()
			q.payload = p
			a.refused(q, want)
		}
		step(wirev2.CodeInvalidPayload, func() {})
		step(wirev2.CodeStaleConnection, func() { p.Outcome = wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{}`)} })
		step(wirev2.CodeStaleConnection, func() { p.ExecutorID = a.executor })
		step(wirev2.CodeUnknownTurn, func() { p.ExecutorGeneration = a.generation })
		step(wirev2.CodeUnknownTurn, func() { p.TurnID = call.TurnID })
		step(wirev2.CodeInvalidPayload, func() { p.CallID = call.CallID })
		step(wirev2.CodeInvalidPayload, func() { p.ResourceID = call.ResourceID })
		p.Outcome = text(16384)
		q.payload = p
		q.session = r.open(true).session
		a.refused(q, wirev2.CodeUnknownTurn) // a call of another session
		q.session = a.session
		require.Nil(t, a.call(q).Error)
		require.Equal(t, "done", a.view().Terminal.Text)

		r.model.then(asks("say", "y"), says("told"))
		a.run("again")
		a.report(a.session, a.calls()[1], wirev2.Outcome{Status: wirev2.OutcomeError, Code: &denied, Message: message(512)})
		require.Equal(t, "told", a.view().Terminal.Text, "an application's error is the model's to deal with")
		require.Equal(t, "permission_denied reported", r.toolResults(a.session)[1])
		require.Equal(t, wirev2.CallFailed, a.evidence(a.calls()[1].TurnID).Calls[0].Status)
	})
}

// rule: A-178, W-239
func TestArgumentsThatDoNotFitTheContractAreNeverDispatched(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		wide := `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","maxLength":4096},"b":{"type":"string","maxLength":4096},` +
			`"c":{"type":"string","maxLength":4096},"d":{"type":"string","maxLength":4096}},"required":["a","b","c","d"]},` +
			`"output_schema":{"type":"object","additionalProperties":false,"properties":{},"required":[]}}`
		a.register("wide", wirev2.KindTool, wide, nil)
		exact := func(n int) string { // two bytes a letter
			body := `{"a":"` + strings.Repeat("é", 4096) + `","b":"` + strings.Repeat("é", 4000) + `","c":"","d":"`
			return body + strings.Repeat("x", n-len(body)-2) + `"}`
		}
		r.model.then(
			says("", provider.Call{ID: "1", Name: "wide", Arguments: exact(16385)}, provider.Call{ID: "2", Name: "wide", Arguments: exact(16384)},
				provider.Call{ID: "3", Name: "wide", Arguments: `{"a":"","b":"","c":"","d":1}`}),
			says("done"))
		a.run("go")
		require.Len(t, a.calls(), 1)
		require.Equal(t, "2", a.calls()[0].ProviderCallID)
		require.Equal(t, exact(16384), string(a.calls()[0].Arguments))
		require.Equal(t, []string{"invalid_arguments synthetic not_dispatched", "invalid_arguments synthetic not_dispatched"}, r.toolResults(a.session))
		a.report(a.session, a.calls()[0], wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{}`)})
		require.Equal(t, "done", a.view().Terminal.Text)
		require.Len(t, a.evidence(a.calls()[0].TurnID).Calls, 1, "evidence lists what was accepted")
	})
}

// rule: W-246, A-173
func TestTheThirtyThirdCallIsAToolError(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var texts []string
		for i := range 17 {
			texts = append(texts, fmt.Sprintf("%02d", i))
		}
		a, b := r.application("say"), r.application("say")
		r.model.then(asks("say", texts[:16]...), asks("say", texts...), says("b done"))
		a.run("go")
		first := a.calls()
		a.report(a.session, first[0], said("x")) // settled, and still counted: its turn is active
		b.run("go")
		require.Len(t, b.calls(), 16)
		require.Equal(t, []string{"limit_exceeded synthetic not_dispatched"}, r.toolResults(b.session))
		for _, call := range b.calls() {
			b.report(b.session, call, said("x"))
		}
		require.Equal(t, "b done", b.view().Terminal.Text, "the turn goes on")
		var status wirev2.DaemonStatusReply
		b.ok(request{method: wirev2.MethodDaemonStatus}, &status)
		require.Equal(t, int64(15), status.PendingCalls)
		r.model.then(asks("say", "again"))
		b.run("again")
		require.Len(t, b.calls(), 17, "the places of a turn that ended are free")
		a.stop(first[0].TurnID)
	})
}

// rule, M-082, W-246
func TestCallsThatNoEvidenceCanHoldAreToolErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		for i := range 14 { // a manifest of its own size
			resource := inline(fmt.Sprintf("s%02d", i), wirev2.KindSkill, "")
			resource.Description = strings.Repeat("d", 500)
			require.Nil(t, a.call(a.registration(resource, nil)).Error)
		}
		var texts []string
		for i := range 32 {
			texts = append(texts, fmt.Sprintf("%02d", i))
		}
		r.model.then(asks("say", texts...), says("done"))
		turn := a.run("go").TurnID
		sent := len(a.calls())
		require.Greater(t, sent, 10)
		require.Less(t, sent, 32)
		require.Contains(t, string(*lastResult(r, a.session).Message), "max_evidence_bytes")
		worst := 0
		for _, c := range a.r.c.core.turns[turn].calls {
			worst += c.evidence + 1
		}
		require.LessOrEqual(t, a.r.c.core.turns[turn].evidenceBase()+worst, maxEvidenceBytes)
		a.evidence(turn)
		for _, call := range a.calls() {
			a.report(a.session, call, said("x"))
		}
		a.evidence(turn)
		require.Equal(t, "done", a.view().Terminal.Text)
	})
	inBubble(t, func(t *testing.T, r *rig) { // the resume payload of one executor
		a := r.application("say")
		var calls []provider.Call
		for i := range 32 {
			calls = append(calls, provider.Call{ID: fmt.Sprintf("%02d", i) + strings.Repeat("\x01", 126), Name: "say", Arguments: `{"text":"x"}`})
		}
		r.model.then(says("", calls...), says("done"))
		a.run("go")
		require.Less(t, len(a.calls()), 32)
		for _, result := range r.toolResults(a.session) {
			require.Equal(t, "limit_exceeded synthetic not_dispatched", result)
		}
		b := r.connect(true)
		response := b.call(resume(a.executor, a.secret))
		require.LessOrEqual(t, len(response.Payload), maxResumeBytes)
	})
}

func lastResult(r *rig, session wirev2.ID) *wirev2.ToolResultRecord {
	var last *wirev2.ToolResultRecord
	for record, err := range r.store.Entries(session) {
		require.NoError(r.t, err)
		if result, ok := record.(*wirev2.ToolResultRecord); ok {
			last = result
		}
	}
	return last
}

// rule: W-110, A-110, A-174
func TestManyExecutorsAndCallsStayInsideTheirBudgets(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		for range 255 {
			r.connect(true).attach()
		}
		var calls []provider.Call
		for i := range 32 {
			calls = append(calls, provider.Call{ID: fmt.Sprintf("%02d", i) + strings.Repeat("i", 126), Name: "say", Arguments: `{"text":"` + strings.Repeat("a", 4096) + `"}`})
		}
		r.model.then(says("", calls...), says("done"))
		turn := a.run("go").TurnID
		require.Len(t, a.calls(), 32)
		for _, event := range a.events {
			require.LessOrEqual(t, len(event.Payload), maxPayloadBytes)
		}
		evidence := a.call(a.with(wirev2.MethodTurnApplicationEvidence, wirev2.TurnApplicationEvidenceRequest{TurnID: turn}))
		require.LessOrEqual(t, len(evidence.Payload), maxEvidenceBytes)
		b := r.connect(true)
		shown := b.call(resume(a.executor, a.secret))
		require.LessOrEqual(t, len(shown.Payload), maxResumeBytes)
		require.Equal(t, 32, strings.Count(string(shown.Payload), `"call_id"`))
		var status wirev2.DaemonStatusReply
		b.ok(request{method: wirev2.MethodDaemonStatus}, &status)
		require.Equal(t, int64(256), status.Executors)
		require.Equal(t, int64(32), status.PendingCalls)
		require.LessOrEqual(t, status.Retained.Bytes, int64(8<<20))
		a.stop(turn)
		b.ok(request{method: wirev2.MethodDaemonStatus}, &status)
		require.Zero(t, status.PendingCalls)
	})
}
