package coordinator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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

// rule: W-242, W-248, A-157, A-158, A-162, A-092, A-093, W-047, W-283, M-123
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
