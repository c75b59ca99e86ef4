package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-242, W-248, A-157, A-158, A-162, A-092, W-047, W-282, W-283
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
		a.report(a.session, calls[1], said("2"))
		require.Equal(t, 1, r.model.asked(), "the other is still out")
		a.report(a.session, calls[0], said("1"))
		require.Equal(t, 2, r.model.asked())
		sent := r.model.requests[1]
		require.Equal(t, []string{`{"said":"1"}`, `{"said":"2"}`}, []string{sent.Messages[2].Text, sent.Messages[3].Text})
		require.Contains(t, sent.System, "\n\nSpeak up.")
		require.Equal(t, []string{"session", "user", "tool_contract", "assistant", "tool_call", "tool_call", "tool_result", "tool_result",
			"assistant", "terminal"}, r.records(a.session))
		require.Equal(t, "done", a.view().Terminal.Text)
		require.Equal(t, []string{"started", "application_tool_call", "tool", "application_tool_call", "tool", "tool", "tool", "text", "terminal"},
			phases(a.peer))
	})
}

// phases are the events a peer heard.
func phases(p *peer) []string {
	var out []string
	for _, line := range p.logged() {
		if len(line) < 8 || line[:8] != "response" {
			out = append(out, line)
		}
	}
	return out
}
