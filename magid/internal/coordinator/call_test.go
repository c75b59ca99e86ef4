package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// phases are the events a peer heard.
func phases(p *peer) []string {
	var out []string
	for _, line := range p.logged() {
		if !strings.HasPrefix(line, "response") {
			out = append(out, line)
		}
	}
	return out
}

// toolResults are the durable results of the last turn, a word each.
func (r *rig) toolResults(session wirev2.ID) []string {
	r.t.Helper()
	var out []string
	for record, err := range r.store.Entries(session) {
		require.NoError(r.t, err)
		result, ok := record.(*wirev2.ToolResultRecord)
		if !ok {
			continue
		}
		word := string(result.Status)
		if result.Code != nil {
			word = string(*result.Code)
		}
		if result.Synthetic {
			word += " synthetic"
		}
		out = append(out, word+" "+string(result.ExternalEffects))
	}
	return out
}

// rule: W-242, W-248, A-157, A-158, A-162, A-092, A-093, W-047, W-282, W-283, M-123
func TestCallIsDispatchedAnsweredAndContinued(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say", "think")
		a.register("how", wirev2.KindSkill, "Speak up.", nil)
		r.model.then(asks("say", "one", "two"), says("done"))
		started := a.run("go")
		calls := a.calls()
		require.Len(t, calls, 2, "dispatched side by side")
		for i, call := range calls {
			require.Equal(t, started.TurnID, call.TurnID)
			require.Equal(t, a.executor, call.ExecutorID)
			require.Equal(t, a.generation, call.ExecutorGeneration)
			require.Equal(t, "say", call.Name)
			require.Equal(t, []string{`{"text":"one"}`, `{"text":"two"}`}[i], string(call.Arguments))
			require.Equal(t, int64(120000), call.TimeoutMS)
		}
		for _, event := range a.events {
			if event.Event == wirev2.EventTurnApplicationToolCall {
				require.Equal(t, a.session, event.SessionID)
				require.Empty(t, event.OperationID)
				require.Zero(t, event.GrantGeneration)
				require.Zero(t, event.LiveSequence)
			}
		}
		require.Equal(t, []string{"session", "user", "tool_contract", "assistant", "tool_call", "tool_call"}, r.records(a.session), "durable before dispatch")
		a.report(a.session, calls[1], said("2"))
		require.Equal(t, 1, r.model.asked(), "the other is still out")
		a.report(a.session, calls[0], said("1"))
		require.Equal(t, 2, r.model.asked())
		sent := r.model.requests[1]
		require.Equal(t, []string{`{"said":"1"}`, `{"said":"2"}`}, []string{sent.Messages[2].Text, sent.Messages[3].Text})
		require.True(t, strings.HasSuffix(sent.System, "\n\nSpeak up."))
		require.Equal(t, []string{"session", "user", "tool_contract", "assistant", "tool_call", "tool_call", "tool_result", "tool_result",
			"assistant", "terminal"}, r.records(a.session))
		require.Equal(t, "done", a.view().Terminal.Text)
		require.Equal(t, []string{"started", "application_tool_call", "tool", "application_tool_call", "tool", "tool", "tool", "text", "terminal"},
			phases(a.peer))
		sequence := int64(0)
		for _, event := range a.events {
			if event.GrantGeneration != 0 {
				sequence++
				require.Equal(t, sequence, event.LiveSequence, "executor events take no number")
			}
		}
	})
}

// rule, W-290
func TestDiskComesBeforeDispatchAndBeforeTheProvider(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		hold := make(chan struct{})
		r.model.then(func(ctx ctx, accept func(string) error) (reply, error) {
			<-hold
			return asks("say", "one")(ctx, accept)
		}, says("done"))
		a.run("go")
		gate := r.holdDisk()
		close(hold)
		synctest.Wait()
		require.Empty(t, a.calls())
		close(gate)
		synctest.Wait()
		require.Len(t, a.calls(), 1)
		gate = r.holdDisk()
		a.report(a.session, a.calls()[0], said("1")) // acknowledged, and not durable yet
		require.Equal(t, 1, r.model.asked())
		require.Equal(t, wirev2.CallSucceeded, a.evidence(a.calls()[0].TurnID).Calls[0].Status)
		close(gate)
		synctest.Wait()
		require.Equal(t, 2, r.model.asked())
	})
}

// rule: W-243
// complaint: 8 anthropics/claude-agent-sdk-typescript#41 - concurrent tool calls failed with a closed stream
func TestComplaint8ClaudeAgentSDK41EightCallsAnsweredInAnyOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		var texts []string
		for i := range 8 {
			texts = append(texts, fmt.Sprint(i))
		}
		r.model.then(asks("say", texts...), says("done"))
		a.run("go")
		calls := a.calls()
		require.Len(t, calls, 8)
		for _, i := range []int{5, 2, 7, 0, 1, 6, 3, 4} {
			a.report(a.session, calls[i], said(fmt.Sprint(i)))
		}
		for i := range 8 {
			require.Equal(t, fmt.Sprintf(`{"said":"%d"}`, i), r.model.requests[1].Messages[2+i].Text)
		}
		require.Equal(t, "done", a.view().Terminal.Text)
	})
}

// rule: W-253, A-079, A-097
// complaint: 1 openai/codex#35894 - every subscriber was sent one call, one answered that it had no handler, and the work was done twice
func TestComplaint1Codex35894OneOwnerACall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		third, ordinary := r.connect(true), r.connect(false)
		third.attach()
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		call := a.calls()[0]
		b := r.connect(true)
		a.resume(b)
		require.Empty(t, b.calls(), "it was dispatched, and is not sent again")
		require.Empty(t, third.calls())

		a.refused(result(a.session, call, said("old")), wirev2.CodeStaleConnection)
		third.refused(result(a.session, call, said("foreign")), wirev2.CodeStaleConnection)
		current := call
		current.ExecutorGeneration = a.generation
		a.refused(result(a.session, current, said("old connection")), wirev2.CodeStaleConnection)
		third.refused(result(a.session, current, said("foreign")), wirev2.CodeStaleConnection)
		b.refused(result(a.session, call, said("old generation")), wirev2.CodeStaleConnection)
		mine, _ := r.c.core.executors.Held(third.conn.executorConn(), r.c.core.now)
		own := call
		own.ExecutorID, own.ExecutorGeneration = wirev2.ID(mine.ID), mine.Generation
		third.refused(result(a.session, own, said("by another executor")), wirev2.CodeStaleConnection)
		require.Empty(t, ordinary.events) // that an ordinary one may not even ask is the server's check
		b.report(a.session, current, said("b"))
		require.Equal(t, `{"said":"b"}`, r.model.requests[1].Messages[2].Text)
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
	})
}

// rule: W-244, W-245, A-156
// complaint: 2 github/copilot-sdk#2368 - the event that starts a tool was dropped, and the turn waited for ever
func TestComplaint2CopilotSDK2368ALostCallEventEndsByItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) { // the record never got into the queue
		a := r.application("say")
		a.mu.Lock()
		a.full = true
		a.mu.Unlock()
		r.model.then(asks("say", "x"))
		q := a.startRequest("go")
		var started wirev2.TurnStartReply
		a.ok(q, &started)
		require.Equal(t, wirev2.EffectsNotDispatched, a.evidence(started.TurnID).Calls[0].ExternalEffects)
		a.leave() // the server ends the connection
		after(availability)
		require.Equal(t, []string{"executor_unavailable synthetic not_dispatched"}, r.toolResults(a.session))
	})
	inBubble(t, func(t *testing.T, r *rig) { // it did, and the queue was thrown away
		a := r.application("say")
		r.model.then(asks("say", "x"))
		a.run("go")
		a.leave()
		b := r.connect(true)
		require.Equal(t, wirev2.EffectsUncertain, a.resume(b).PendingCalls[0].ExternalEffects)
		after(120 * time.Second)
		require.Empty(t, b.calls())
		require.Equal(t, []string{"tool_timeout synthetic uncertain"}, r.toolResults(a.session))
		terminal := b.claim(a.session, false).snapshot.Terminal
		require.Equal(t, wirev2.TurnToolFailed, terminal.Error.Code)
	})
}

// rule, W-249
// complaint: 3 frontman-ai/frontman#643 - a disconnect sent made-up errors, and a reconnect dispatched calls nobody waited for
func TestComplaint3Frontman643ADisconnectChangesNothingButTheClock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"), says("done"))
		started := a.run("go")
		call := a.calls()[0]
		a.leave()
		after(time.Minute)
		require.Empty(t, r.toolResults(a.session))
		b := r.connect(true)
		pending := a.resume(b).PendingCalls
		require.Equal(t, []wirev2.PendingCall{{
			SessionID: a.session, TurnID: call.TurnID, CallID: call.CallID, ProviderCallID: call.ProviderCallID, Name: "say",
			ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256, Status: wirev2.CallPending,
			ExternalEffects: wirev2.EffectsUncertain, WaitKind: new(wirev2.WaitExecution), RemainingMS: new(int64(60000)),
		}}, pending)
		call.ExecutorGeneration = a.generation
		b.report(a.session, call, said("original"))
		require.Empty(t, b.calls())
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
		h := b.claim(a.session, false)
		evidence := h.evidence(started.TurnID)
		require.Equal(t, int64(1), evidence.Calls[0].ExecutorGeneration, "evidence carries the accepted pair")
		require.Equal(t, int64(1), evidence.ApplicationManifest.AcceptedExecutor.ExecutorGeneration)
	})
}

// rule: W-223, W-224, W-225, A-102
// complaint: 5 letta-ai/letta-code#2578 - what an old session had open took minutes to resolve after a reconnect
func TestComplaint5LettaCode2578ThirtyTwoCallsAreToldAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		var texts []string
		for i := range 32 {
			texts = append(texts, fmt.Sprintf("%02d", i))
		}
		r.model.then(asks("say", texts...), says("done"))
		a.run("go")
		calls := a.calls()
		require.Len(t, calls, 32)
		a.report(a.session, calls[7], said("7"))
		a.leave()
		after(100 * time.Millisecond)
		b := r.connect(true)
		pending := a.resume(b).PendingCalls
		require.Len(t, pending, 31, "unsettled ones only")
		for _, p := range pending {
			require.Equal(t, int64(119900), *p.RemainingMS)
		}
		for _, call := range calls {
			if call.CallID != calls[7].CallID {
				call.ExecutorGeneration = a.generation
				b.report(a.session, call, said(string(call.Arguments[9:11])))
			}
		}
		for i := range 32 {
			require.Equal(t, fmt.Sprintf(`{"said":"%02d"}`, i), strings.Replace(r.model.requests[1].Messages[2+i].Text, `"7"`, `"07"`, 1))
		}
	})
}

// complaint: 7 anthropics/claude-agent-sdk-typescript#348 - the control channel closed early, and later calls and results were lost
func TestComplaint7ClaudeAgentSDK348TheResultPathOutlivesTheControl(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		gate := make(chan struct{})
		r.model.then(func(ctx ctx, accept func(string) error) (reply, error) {
			<-gate
			return asks("say", "x")(ctx, accept)
		}, says("done"))
		a.run("go")
		a.leave()
		b := r.connect(true)
		require.Empty(t, a.resume(b).PendingCalls)
		close(gate)
		synctest.Wait()
		b.report(a.session, b.calls()[0], said("x"))
		require.Equal(t, "done", b.claim(a.session, false).snapshot.Terminal.Text)
	})
}

// rule
// complaint: 10 langchain-ai/langgraph#7417 - calls above some minutes silently ran again
func TestComplaint10LangGraph7417ALongCallIsSentOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		a.register("say", wirev2.KindTool, contractWith(600000), nil)
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		call := a.calls()[0]
		require.Equal(t, int64(600000), call.TimeoutMS)
		sent := 1
		at := a.peer
		for i := range 3 {
			at.leave()
			after(time.Minute)
			at = r.connect(true)
			pending := a.resume(at).PendingCalls
			require.Equal(t, int64(600000-(i+1)*120000+60000), *pending[0].RemainingMS)
			after(time.Minute)
			sent += len(at.calls())
		}
		require.Equal(t, 1, sent)
		call.ExecutorGeneration = a.generation
		at.report(a.session, call, said("late, and original"))
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
	})
}

// complaint: 12 agno-agi/agno#10366 - the model call after a good tool failed, and the retry ran the tool again
func TestComplaint12Agno10366AFailedModelCallRunsNoToolAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"), func(ctx, func(string) error) (reply, error) {
			return reply{}, provider.NewError(provider.CodeUnavailable, "HTTP 500", nil)
		})
		a.run("pay")
		a.report(a.session, a.calls()[0], said("paid"))
		require.Equal(t, wirev2.TurnProviderUnavailable, a.view().Terminal.Error.Code)
		r.model.then(says("it was paid"))
		a.run("and now?")
		require.Len(t, a.calls(), 1)
		require.Equal(t, `{"said":"paid"}`, r.model.requests[2].Messages[2].Text, "the next turn knows the result")
	})
}

// complaint: 13 crewAIInc/crewAI#5802 - the retry of a task had no guard against its effect happening twice
func TestComplaint13CrewAI5802ThreeFailuresRunTheToolOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		fails := func(ctx, func(string) error) (reply, error) {
			return reply{}, provider.NewError(provider.CodeUnavailable, "HTTP 503", nil)
		}
		r.model.then(asks("say", "x"), fails, fails, fails, says("done"))
		a.run("pay")
		a.report(a.session, a.calls()[0], said("paid"))
		for range 3 {
			a.run("again")
		}
		require.Len(t, a.calls(), 1)
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
		require.Equal(t, "done", a.view().Terminal.Text)
	})
}

// rule: W-256, W-257
// complaint: 15 ComposioHQ/composio#3654 - a result whose answer was late was sent a second time and counted twice
func TestComplaint15Composio3654ALostAcknowledgementPersistsNothingTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"), says("done"))
		started := a.run("go")
		q := result(a.session, a.calls()[0], said("paid"))
		q.operation = wirev2.NewID()
		require.Nil(t, a.call(q).Error)
		a.refused(q, wirev2.CodeOperationAlreadyKnown)
		q.operation = ""
		a.refused(q, wirev2.CodeUnknownTurn)
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
		call := a.evidence(started.TurnID).Calls[0]
		require.Equal(t, wirev2.EffectsReported, call.ExternalEffects, "evidence tells that it was settled")
	})
}

// rule: A-125, W-247, W-251, W-254, W-257, A-171, A-172, A-167, M-094, M-125, A-106
// complaint: 60 simonx1/ruby-mcp-client#178 - a request that timed out was sent again under a new id
func TestComplaint60RubyMCPClient178ALateResultIsLateAndNothingIsResent(t *testing.T) {
	for _, offset := range []time.Duration{-1, 0, 1} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application()
			a.register("say", wirev2.KindTool, contractWith(1000), nil)
			r.model.then(asks("say", "x"), says("done"))
			started := a.run("go")
			call := a.calls()[0]
			after(time.Second + offset)
			if offset < 0 {
				a.report(a.session, call, said("just in time"))
				require.Equal(t, "done", a.view().Terminal.Text)
				require.Empty(t, a.cancels())
				return
			}
			a.refused(result(a.session, call, said("late")), wirev2.CodeUnknownTurn)
			require.Len(t, a.calls(), 1)
			require.Equal(t, []wirev2.TurnApplicationToolCancelEvent{{
				TurnID: started.TurnID, CallID: call.CallID, ExecutorID: a.executor, ExecutorGeneration: 1, Reason: wirev2.CancelToolTimeout,
			}}, a.cancels())
			terminal := a.view().Terminal
			require.Equal(t, wirev2.TurnToolFailed, terminal.Error.Code)
			evidence := a.evidence(started.TurnID).Calls[0]
			require.Equal(t, wirev2.CallFailed, evidence.Status)
			require.Equal(t, wirev2.EffectsUncertain, evidence.ExternalEffects)
			require.Equal(t, []string{"tool_timeout synthetic uncertain"}, r.toolResults(a.session))
		})
	}
}

// rule, W-247, W-251, A-171, W-183
func TestAbsentExecutorIsWaitedForSixtySeconds(t *testing.T) {
	for _, offset := range []time.Duration{-1, 0, 1} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			gate := make(chan struct{})
			r.model.then(func(ctx ctx, accept func(string) error) (reply, error) {
				<-gate
				return asks("say", "x")(ctx, accept)
			}, says("done"))
			turn := a.run("go").TurnID
			a.leave()
			close(gate)
			synctest.Wait()
			h := r.connect(true).claim(a.session, false)
			waiting := h.evidence(turn).Calls[0]
			require.Equal(t, wirev2.CallWaitingForExecutor, waiting.Status)
			require.Equal(t, wirev2.EffectsNotDispatched, waiting.ExternalEffects)
			require.Equal(t, wirev2.WaitAvailability, *waiting.WaitKind)
			after(30 * time.Second)
			b := r.connect(true) // comes, but its queue takes nothing: the time goes on
			b.full = true
			a.resume(b)
			require.Equal(t, wirev2.CallWaitingForExecutor, h.evidence(turn).Calls[0].Status)
			b.leave()
			after(30*time.Second + offset)
			c := r.connect(true)
			pending := a.resume(c).PendingCalls
			if offset < 0 {
				require.Equal(t, int64(1), *pending[0].RemainingMS, "rounded up")
				require.Equal(t, []string{"response r1", "application_tool_call"}, c.logged(), "the reply precedes the call")
				require.Equal(t, int64(3), c.calls()[0].ExecutorGeneration)
				c.report(a.session, c.calls()[0], said("x"))
				require.Equal(t, "done", h.view().Terminal.Text)
				return
			}
			require.Empty(t, pending)
			require.Empty(t, c.calls())
			require.Empty(t, c.cancels(), "what was not dispatched is not cancelled")
			require.Equal(t, []string{"executor_unavailable synthetic not_dispatched"}, r.toolResults(a.session))
			require.Equal(t, wirev2.TurnToolFailed, h.view().Terminal.Error.Code)
			require.Equal(t, []wirev2.TurnToolEvent{{TurnID: turn, CallID: waiting.CallID, Name: "say", Phase: wirev2.ToolFailed}},
				named[wirev2.TurnToolEvent](h.peer, wirev2.EventTurnTool), "failed alone")
		})
	}
}

// rule, W-250, W-251, M-094, M-126, A-106
func TestStopCancelsOpenCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "one", "two", "three"), says("next"))
		turn := a.run("go").TurnID
		calls := a.calls()
		a.report(a.session, calls[1], said("2"))
		b := r.connect(true)
		a.resume(b)
		require.Equal(t, wirev2.StopStopping, a.stop(turn))
		require.Empty(t, a.cancels(), "they go to the connection that is attached now")
		cancels := b.cancels()
		require.Len(t, cancels, 2)
		for _, c := range cancels {
			require.Equal(t, wirev2.CancelCancelled, c.Reason)
			require.Equal(t, int64(2), c.ExecutorGeneration)
		}
		late := calls[0]
		late.ExecutorGeneration = a.generation
		b.refused(result(a.session, late, said("late")), wirev2.CodeUnknownTurn)
		require.Equal(t, wirev2.TerminalCancelled, a.view().Terminal.Status)
		require.ElementsMatch(t, []string{"cancelled synthetic uncertain", "success reported", "cancelled synthetic uncertain"}, r.toolResults(a.session))
		evidence := a.evidence(turn).Calls
		require.Equal(t, []wirev2.CallStatus{wirev2.CallCancelled, wirev2.CallSucceeded, wirev2.CallCancelled},
			[]wirev2.CallStatus{evidence[0].Status, evidence[1].Status, evidence[2].Status})
		for _, c := range evidence {
			require.Nil(t, c.WaitKind)
			require.Nil(t, c.RemainingMS)
		}
		a.resume(a.peer)
		a.run("again") // the model's provider checks that every call has its result
	})
	inBubble(t, func(t *testing.T, r *rig) { // one that waits was never dispatched, and nobody is told
		a := r.application("say")
		r.model.then(asks("say", "x"))
		a.full = true
		turn := a.run("go").TurnID
		a.stop(turn)
		require.Equal(t, []string{"cancelled synthetic not_dispatched"}, r.toolResults(a.session))
	})
}

func TestOneCallThatFailsTheTurnCancelsTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		a.register("say", wirev2.KindTool, contractWith(1000), nil)
		a.register("slow", wirev2.KindTool, contractWith(600000), nil)
		r.model.then(says("", provider.Call{ID: "1", Name: "slow", Arguments: `{"text":"x"}`}, provider.Call{ID: "2", Name: "say", Arguments: `{"text":"x"}`}))
		a.run("go")
		after(time.Second)
		require.ElementsMatch(t, []string{"cancelled synthetic uncertain", "tool_timeout synthetic uncertain"}, r.toolResults(a.session))
		require.ElementsMatch(t, []wirev2.CancelReason{wirev2.CancelToolTimeout, wirev2.CancelCancelled},
			[]wirev2.CancelReason{a.cancels()[0].Reason, a.cancels()[1].Reason})
		require.Equal(t, wirev2.TurnToolFailed, a.view().Terminal.Error.Code)
	})
}

// rule: W-252, W-255, A-159, A-160, A-161, A-080, A-179, A-180, M-072
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

// rule: A-178, W-239, W-285
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

// rule: W-236, W-237, A-141, M-023
func TestReleasedExecutorLeavesItsCallsToTheirDeadlines(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		r.model.then(asks("say", "x"))
		turn := a.run("go").TurnID
		call := a.calls()[0]
		require.Nil(t, a.call(releaseExecutor(a.executor, 1)).Error)
		other, _, _ := a.attach()
		a.refused(result(a.session, call, said("x")), wirev2.CodeStaleConnection)
		moved := call
		moved.ExecutorID = other
		a.refused(result(a.session, moved, said("x")), wirev2.CodeStaleConnection)
		require.Equal(t, wirev2.CallPending, a.evidence(turn).Calls[0].Status)
		after(120 * time.Second)
		require.Empty(t, a.cancels())
		require.Equal(t, []string{"tool_timeout synthetic uncertain"}, r.toolResults(a.session))
	})
	inBubble(t, func(t *testing.T, r *rig) { // a pinned executor outlives its idle time
		a := r.application()
		a.register("say", wirev2.KindTool, contractWith(600000), nil)
		feed := make(line)
		r.model.then(feed.step)
		a.run("go")
		a.leave()
		after(time.Hour)
		_, idle := r.c.Idle()
		require.False(t, idle)
		a.resume(r.connect(true))
		close(feed)
	})
}

// rule: W-244
func TestMarkOfAWaitingCallIsTakenBackBeforeItsDispatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		a.full = true
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		a.leave()
		synctest.Wait()
		fails := true
		r.failJournal(func(s journal.Step) error {
			if s == journal.StepUnmark && fails {
				return errors.New("input/output error")
			}
			return nil
		})
		b := r.connect(true)
		a.resume(b)
		require.Empty(t, b.calls(), "while the mark may stand the call is not dispatched")
		fails = false
		a.resume(b)
		require.Len(t, b.calls(), 1)
		b.report(a.session, b.calls()[0], said("x"))
	})
}

func TestExecutorThatComesAndGoesWhileTheDiskIsSlow(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application("say")
		a.full = true
		r.model.then(asks("say", "x"), says("done"))
		a.run("go")
		gate := make(chan struct{})
		r.failJournal(func(s journal.Step) error {
			if s == journal.StepMark || s == journal.StepUnmark {
				<-gate
			}
			return nil
		})
		a.leave() // the mark is on its way
		b := r.connect(true)
		a.resume(b) // and is already of no use
		b.leave()
		c := r.connect(true)
		a.resume(c)
		require.Empty(t, c.calls())
		close(gate)
		synctest.Wait()
		require.Len(t, c.calls(), 1)
		require.Empty(t, b.calls())
		call := c.calls()[0]
		c.report(a.session, call, said("x"))
		require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
	})
}

// rule: W-295, W-296, W-297
// complaint: 11 microsoft/agent-framework#3938 - a retry from a checkpoint repeated what had been dispatched
func TestComplaint11AgentFramework3938ACrashDispatchesNothingAgain(t *testing.T) {
	for _, attached := range []bool{true, false} {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			a.full = !attached
			r.model.then(asks("say", "pay"))
			turn := a.run("go").TurnID
			if !attached {
				a.leave() // the call waits
				synctest.Wait()
			}
			other := r.crash(a.session) // another daemon finds what this one left
			h := other.connect(true).claim(a.session, false)
			want := "cancelled synthetic uncertain"
			if !attached {
				want = "cancelled synthetic not_dispatched"
			}
			require.Equal(t, []string{want}, other.toolResults(a.session))
			other.model.then(says("I do not know whether it was paid"))
			h.turn("and now?")
			require.Empty(t, h.calls())
			require.True(t, other.model.requests[0].Messages[2].IsError)
			other.close()
			if attached {
				a.stop(turn)
			}
		})
	}
}

// complaint: 26 openai/codex#24808 - tools given after a reconnect were accepted and ignored
func TestComplaint26Codex24808ARegistrationIsAppliedOrRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a := r.application()
		old := a.register("say", wirev2.KindTool, fmt.Sprintf(contract, ""), nil)
		b := &app{held: r.connect(true).claim(a.session, true)}
		current := b.register("say", wirev2.KindTool, contractWith(5000), &old.RevisionID)
		b.refused(b.registration(inline("say", wirev2.KindTool, contractWith(9000)), &old.RevisionID), wirev2.CodeConflict)
		b.executor, b.generation, b.secret = b.attach()
		r.model.then(asks("say", "x"), says("done"))
		b.run("go")
		require.Equal(t, current.RevisionID, b.calls()[0].RevisionID)
		require.Equal(t, int64(5000), b.calls()[0].TimeoutMS)
		b.report(a.session, b.calls()[0], said("x"))
	})
}

// complaint: 19 NousResearch/hermes-agent#85016 - the disconnect of a client killed its long turn
func TestComplaint19HermesAgent85016ADisconnectAtAnyMomentEndsNoTurn(t *testing.T) {
	for moment := range 12 {
		inBubble(t, func(t *testing.T, r *rig) {
			a := r.application("say")
			leave := func(at int) {
				if at == moment {
					a.leave()
				}
			}
			step := 0
			r.failJournal(func(s journal.Step) error {
				if s == journal.StepSync { // of user, calls, result, terminal
					leave(step)
					step += 3
				}
				return nil
			})
			r.model.then(
				func(ctx ctx, accept func(string) error) (reply, error) {
					leave(1)
					if err := accept("thinking "); err != nil {
						return reply{}, err
					}
					leave(2)
					return asks("say", "x")(ctx, accept)
				},
				func(ctx ctx, accept func(string) error) (reply, error) {
					leave(7)
					if err := accept("done"); err != nil {
						return reply{}, err
					}
					leave(8)
					return reply{}, nil
				})
			id := a.send(a.startRequest("go"))
			synctest.Wait()
			leave(4)
			response, _ := a.answered(id)
			require.Nil(t, response.Error)
			var calls []wirev2.TurnApplicationToolCallEvent
			at := a.peer
			if a.conn.gone { // somebody else comes for the executor
				at = r.connect(true)
				a.resume(at)
			}
			calls = append(a.calls(), at.calls()...)[:1]
			leave(5)
			if a.conn.gone && at == a.peer {
				at = r.connect(true)
				a.resume(at)
			}
			calls[0].ExecutorGeneration = a.generation
			at.report(a.session, calls[0], said("x"))
			for _, left := range []int{10, 11} {
				leave(left)
			}
			require.True(t, a.conn.gone, "moment %d was never reached", moment)
			h := r.connect(true).claim(a.session, true)
			require.Equal(t, wirev2.TerminalCompleted, h.snapshot.Terminal.Status, moment)
			require.Equal(t, "thinking \n\ndone", h.snapshot.Terminal.Text)
			require.Equal(t, []string{"success reported"}, r.toolResults(a.session))
			require.Equal(t, wirev2.CallSucceeded, h.evidence(h.snapshot.Terminal.TurnID).Calls[0].Status)
		})
	}
}

// rule: M-121
// complaint: 42 anthropics/claude-code#3003 - an interrupted call had no result, and every later request of the session was refused
func TestComplaint42ClaudeCode3003EveryEndOfACallIsAResult(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, r *rig, a *app, turn wirev2.ID) *rig{
		"stop": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig { a.stop(turn); return r },
		"time": func(_ *testing.T, r *rig, _ *app, _ wirev2.ID) *rig { after(120 * time.Second); return r },
		"gone": func(_ *testing.T, r *rig, a *app, _ wirev2.ID) *rig { a.leave(); after(120 * time.Second); return r },
		"shutdown": func(t *testing.T, r *rig, _ *app, _ wirev2.ID) *rig {
			require.NoError(t, r.c.Shutdown(t.Context()))
			r.start(r.model)
			return r
		},
		"crash": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig {
			other := r.crash(a.session)
			a.stop(turn)
			return other
		},
		"disk": func(_ *testing.T, r *rig, a *app, turn wirev2.ID) *rig {
			r.failWrites()
			a.stop(turn)
			r.failJournal(nil)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				a := r.application("say")
				r.model.then(asks("say", "one", "two"))
				turn := a.run("go").TurnID
				next := end(t, r, a, turn)
				h := next.connect(true).claim(a.session, true)
				if n := len(h.resources().Entries); n > 0 {
					require.Nil(t, h.call(h.with(wirev2.MethodSessionResourcesClear, wirev2.SessionResourcesClearRequest{
						ExpectedRegistryRevision: h.resources().RegistryRevision,
					})).Error)
				}
				next.model.then(says("well formed")) // the model of these tests refuses a call without its result
				h.turn("and now?")
				require.Equal(t, "well formed", h.view().Terminal.Text)
				require.Len(t, next.toolResults(a.session), 2)
				if next != r {
					next.close()
				}
			})
		})
	}
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
