package coordinator

import (
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

// rule: A-169
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
