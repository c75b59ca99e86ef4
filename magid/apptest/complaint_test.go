package apptest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// lending is an application with an executor and a tool named alpha of the given timeout.
func (d *daemon) lending(milliseconds int) *app {
	d.t.Helper()
	a := d.application()
	a.attach()
	a.register(inline("tool", "alpha", contractWithin("text", milliseconds)), "")
	return a
}

func alpha(id, text string) toolCall {
	return toolCall{id, "alpha", fmt.Sprintf(`{"text":%q}`, text)}
}

// persisted counts the records of one type that a session's journal has.
func (a *app) persisted(kind string) int {
	a.t.Helper()
	return len(ofType(a.d.journal(a.session), kind))
}

// complaint: 1 openai/codex#35894 - one tool call went to every subscriber, and whoever had no handler answered first
// rule: A-157, W-235, W-253, W-263
func TestComplaint1Codex35894OneOwnerAnswersACall(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(60000)
	b, third, ordinary := d.selected(), d.selected(), d.ordinary()
	d.model.will(calls(alpha("p1", "x")), text("done"))
	turn := a.start("x").text("turn_id")
	call := a.call()
	require.Len(t, a.resume(b).list("pending_calls"), 1) // a is fenced
	q := a.result(call, said("no handler"))
	for _, c := range []*conn{a.conn, third} {
		code, _ := c.refused(q)
		require.Equal(t, "stale_connection", code)
	}
	code, _ := ordinary.refused(q)
	require.Equal(t, "unsupported_capability", code)
	b.ok(a.result(call, said("b did it")))
	require.Equal(t, "completed", a.terminal()["status"])
	require.Equal(t, []string{`{"said":"b did it"}`}, messages(d.model.asked()[1], "tool"))
	require.Equal(t, 1, a.persisted("tool_result"))
	for _, c := range []*conn{a.conn, b, third, ordinary} {
		require.Zero(t, c.came("turn.application_tool_call"), "the call went out once, to one")
	}
	require.Equal(t, "reported", a.evidence(turn).list("calls")[0]["external_effects"])
}

// complaint: 3 frontman-ai/frontman#643 - a disconnect made up errors, and the reconnect sent calls that nobody waited for
// complaint: 10 langchain-ai/langgraph#7417 - calls that took minutes ran again without a word
// rule, W-224, W-225, A-108
func TestComplaint10Langgraph7417LongCallSurvivesThreeReconnectsAndIsSentOnce(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(600000)
	d.model.will(calls(alpha("p1", "x")), text("done"))
	turn := a.start("x").text("turn_id")
	call := a.call()
	left := int64(600001)
	for range 3 {
		a.close()
		var resumed object
		a, resumed = a.again()
		pending := resumed.list("pending_calls")
		require.Len(t, pending, 1)
		require.Equal(t, call["call_id"], pending[0]["call_id"])
		require.NotContains(t, pending[0], "arguments")
		require.Less(t, pending[0].number("remaining_ms"), left, "the deadline runs on")
		left = pending[0].number("remaining_ms")
		evidence := a.evidence(turn).list("calls")[0]
		require.Equal(t, "pending", evidence["status"])
		require.Equal(t, "uncertain", evidence["external_effects"])
		require.Zero(t, a.came("turn.application_tool_call"))
		require.Zero(t, a.persisted("tool_result"), "nobody made up an answer")
	}
	require.EqualValues(t, 4, a.generation)
	a.report(call, said("the original"))
	require.Equal(t, "completed", a.terminal()["status"])
	require.Zero(t, a.came("turn.application_tool_call"))
	require.Equal(t, 1, a.persisted("tool_result"))
	require.Equal(t, []string{`{"said":"the original"}`}, messages(d.model.asked()[1], "tool"))
}

// complaint: 5 letta-ai/letta-code#2578 - what an old session had open took minutes to be told after a reconnect
// rule: W-224, W-223, A-102
func TestComplaint5LettaCode2578ResumeTellsOfThirtyTwoCallsAtOnce(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(600000)
	var all []toolCall
	for i := range 32 {
		all = append(all, alpha(fmt.Sprint("p", i), fmt.Sprint(i)))
	}
	d.model.will(calls(all...), text("done"))
	a.start("x")
	open := make(map[any]object)
	for range 32 {
		call := a.call()
		open[call["call_id"]] = call
	}
	a.close()
	a, resumed := a.again()
	pending := resumed.list("pending_calls")
	require.Len(t, pending, 32)
	for i, p := range pending {
		require.Contains(t, open, p["call_id"])
		require.Equal(t, fmt.Sprint("p", i), p["provider_call_id"], "in the order of their need")
		require.Equal(t, "execution", p["wait_kind"])
		require.Positive(t, p.number("remaining_ms"))
		a.report(open[p["call_id"]], said(fmt.Sprint(i)))
		if i == 15 { // what is settled is not pending
			require.Len(t, a.resume(a.conn).list("pending_calls"), 16)
		}
	}
	require.Equal(t, "completed", a.terminal()["status"])
}

// complaint: 7 anthropics/claude-agent-sdk-typescript#348 - the control channel closed early, and later calls and results were lost
// rule: W-071, W-070
func TestComplaint7ClaudeAgentSDKTypescript348HalfClosedApplicationIsFreeAndItsTurnGoesOn(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(60000)
	free := make(chan struct{})
	d.model.will(held(free, "", alpha("p1", "x")), calls(alpha("p2", "y")), text("done"))
	a.start("x")
	<-d.model.arrived
	require.NoError(t, a.sock.CloseWrite())
	// Without a takeover: the end of input has freed control and executor.
	b := *a
	b.conn = d.selected()
	until(t, "the session is free", func() bool {
		answer := b.ask(request{method: "session.claim", session: a.session})
		if answer["error"] != nil {
			require.Equal(t, "session_claimed", answer.object("error")["code"])
			return false
		}
		b.token = answer.object("payload").text("control_token")
		return true
	})
	require.Empty(t, b.resume(b.conn).list("pending_calls"))
	close(free)
	for range 2 {
		b.report(b.call(), said("b"))
	}
	require.Equal(t, "completed", b.terminal()["status"])
	require.Zero(t, a.came("turn.application_tool_call"))
}

// complaint: 8 anthropics/claude-agent-sdk-typescript#41 - tool calls side by side failed with a closed stream
// rule: W-242, W-243
func TestComplaint8ClaudeAgentSDKTypescript41CallsSideBySideAreIndependent(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(60000)
	var all []toolCall
	var want []string
	for i := range 8 {
		all = append(all, alpha(fmt.Sprint("p", i), fmt.Sprint(i)))
		want = append(want, fmt.Sprintf(`{"said":"%d"}`, i))
	}
	d.model.will(calls(all...), text("done"))
	a.start("x")
	var open []object
	for range 8 {
		open = append(open, a.call())
	}
	rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	for _, call := range open {
		a.report(call, said(call.object("arguments").text("text")))
	}
	require.Equal(t, "completed", a.terminal()["status"])
	require.Equal(t, want, messages(d.model.asked()[1], "tool"), "in the model's order, whatever order they came in")
}

// complaint: 12 agno-agi/agno#10366 - the model failed after a good tool, and the retry ran the tool again
// complaint: 13 crewAIInc/crewAI#5802 - a task that was retried had no guard against a second effect
// rule: A-093
func TestComplaint12Agno10366ModelThatFailsAfterAToolIsAskedAgainAndTheToolIsNot(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{1, 2, 3} {
		d := start(t)
		a := d.lending(60000)
		d.model.will(calls(alpha("p1", "x")))
		for range failures {
			d.model.will(refuses(http.StatusInternalServerError, "overloaded"))
		}
		d.model.will(text("done"))
		a.start("x")
		a.report(a.call(), said("ran"))
		terminal := a.terminal()
		require.Zero(t, a.came("turn.application_tool_call"), "the tool ran once")
		require.Equal(t, 1, a.persisted("tool_result"))
		if failures < 3 { // it is asked again twice
			require.Equal(t, "completed", terminal["status"], failures)
			require.Len(t, d.model.asked(), failures+2)
			continue
		}
		require.Equal(t, "provider_unavailable", terminal.object("error")["code"])
		// The person asks again: the history has the call and its result, and nothing runs by itself.
		d.model.will(text("done after all"))
		a.start("y")
		require.Equal(t, "completed", a.terminal()["status"])
		asked := d.model.asked()
		require.Equal(t, []string{`{"said":"ran"}`}, messages(asked[len(asked)-1], "tool"))
		require.Zero(t, a.came("turn.application_tool_call"))
	}
}

// complaint: 15 ComposioHQ/composio#3654 - a result whose answer was late was sent again and counted twice
// rule: W-256, W-257, A-107
func TestComplaint15Composio3654ResultWhoseAnswerIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(60000)
	d.model.will(calls(alpha("p1", "x")), text("done"))
	turn := a.start("x").text("turn_id")
	call := a.call()
	first := a.result(call, said("ran"))
	first.operation = newID()
	a.post(first)
	until(t, "it has been admitted", func() bool { return a.persisted("tool_result") == 1 })
	a.close() // the answer is lost
	a, resumed := a.again()
	require.Empty(t, resumed.list("pending_calls"))
	code, _ := a.refused(first)
	require.Equal(t, "operation_already_known", code)
	code, _ = a.refused(a.result(call, said("ran")))
	require.Equal(t, "unknown_turn", code)
	known := a.ok(a.in("operation.lookup", object{"operation_id": first.operation}))
	require.Equal(t, "completed", known["state"])
	require.Equal(t, `{"call_id":"`+call.text("call_id")+`","status":"accepted"}`, encode(known["result"]))
	require.Equal(t, "reported", a.evidence(turn).list("calls")[0]["external_effects"], "settled, and not late")
	require.Equal(t, 1, a.persisted("tool_result"))
}

// complaint: 26 openai/codex#24808, openai/codex#39086 - what was given after a reconnect was accepted and ignored
// rule, W-164
func TestComplaint26Codex24808WhatIsStaleAfterATakeoverIsRefused(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(60000)
	old := a.list().list("entries")[0].text("revision_id")
	stale := a.selection()
	b := &app{conn: d.selected(), d: d, session: a.session}
	b.claim()
	b.attach()
	b.register(inline("tool", "alpha", contract("other")), old)
	replacing := func(on *app, revision any) request {
		return on.in("session.resources.register", object{"expected_revision": revision, "resource": inline("tool", "alpha", contract("mine"))})
	}
	code, _ := a.refused(replacing(a, old))
	require.Equal(t, "stale_connection", code, "the control is gone")
	b.refuses("conflict", replacing(b, old), "a stale revision")
	b.refuses("conflict", replacing(b, nil), "as if it were not there")
	b.refuses("conflict", b.in("turn.start", object{"prompt": "x", "application": stale}), "a stale registry")
	b.register(inline("tool", "alpha", contract("mine")), b.list().list("entries")[0].text("revision_id"))
	d.model.will(text("done"))
	b.start("x")
	b.terminal()
	require.Contains(t, encode(offered(d.model.asked()[0])), "mine", "what was taken is what the model sees")
}

// complaint: 60 simonx1/ruby-mcp-client#178, anomalyco/opencode#32477 - a request that timed out was sent again under a new id
// rule: W-247, W-254, W-257, A-106, A-171, A-172, M-094, W-250, W-251
func TestComplaint60RubyMCPClient178CallThatTimesOutIsUncertainAndNotSentAgain(t *testing.T) {
	t.Parallel()
	d := start(t)
	a := d.lending(1000)
	d.model.will(calls(alpha("p1", "x")))
	turn := a.start("x").text("turn_id")
	call := a.call()
	terminal := a.terminal()
	require.Equal(t, "failed", terminal["status"])
	require.Equal(t, "tool_failed", terminal.object("error")["code"])
	cancel := a.event("turn.application_tool_cancel")
	require.Equal(t, object{
		"turn_id": turn, "call_id": call["call_id"], "executor_id": a.executor,
		"executor_generation": cancel.object("payload")["executor_generation"], "reason": "tool_timeout",
	}, object(cancel.object("payload")))
	code, _ := a.refused(a.result(call, said("late")))
	require.Equal(t, "unknown_turn", code)
	evidence := a.evidence(turn).list("calls")[0]
	require.Equal(t, "failed", evidence["status"])
	require.Equal(t, "uncertain", evidence["external_effects"])
	require.Nil(t, evidence["wait_kind"])
	require.Nil(t, evidence["remaining_ms"])
	require.Zero(t, a.came("turn.application_tool_call"))
	result := ofType(d.journal(a.session), "tool_result")[0]
	require.Equal(t, "tool_timeout", result["code"])
	require.Equal(t, true, result["synthetic"])
	require.Equal(t, "uncertain", result["external_effects"])
}
