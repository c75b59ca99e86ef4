package coordinator

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// rule: W-045, W-126, W-180, W-181, W-184, W-185
func TestTurnIsAnsweredStartedToldAndEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		h := r.open(false)
		r.model.then(says("hello"))
		id := h.begin("hi")
		synctest.Wait()
		response, _ := h.answered(id)
		require.Equal(t, []string{"response r1", "response r2", "response r3", "started", "text", "terminal"}, h.logged())
		var reply wirev2.TurnStartReply
		r.decode(response, &reply)
		require.JSONEq(t, `{"turn_id":"`+string(reply.TurnID)+`"}`, string(response.Payload))
		require.Equal(t, []wirev2.TurnStartedEvent{{TurnID: reply.TurnID}}, named[wirev2.TurnStartedEvent](h.peer, wirev2.EventTurnStarted))
		require.Equal(t, []wirev2.TurnTextEvent{{TurnID: reply.TurnID, Text: "hello"}}, named[wirev2.TurnTextEvent](h.peer, wirev2.EventTurnText))
		end := named[wirev2.Terminal](h.peer, wirev2.EventTurnTerminal)
		require.Equal(t, []wirev2.Terminal{{
			TurnID: reply.TurnID, OperationID: response.OperationID, Status: wirev2.TerminalCompleted, Text: "hello",
		}}, end)
		require.Equal(t, []string{"session", "user", "assistant", "terminal"}, r.records(h.session))
		for i, event := range h.events {
			require.Equal(t, int64(i+1), event.LiveSequence)
			require.Equal(t, h.generation, event.GrantGeneration)
			require.Equal(t, response.OperationID, event.OperationID)
			require.Equal(t, h.session, event.SessionID)
			require.Equal(t, h.id, event.ConnectionID)
		}
	})
}
