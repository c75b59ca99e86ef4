package coordinator

import "github.com/magi-jig/magi-jig/wirev2"

// turnStop is turn.stop (wire-v2 4: Turns).
func (k *core) turnStop(a *ask) (func(), *wirev2.Error) {
	var q wirev2.TurnStopRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		t := k.turns[q.TurnID]
		if t == nil || t.session != a.session {
			k.refuse(a, wirev2.CodeUnknownTurn, "this session has no such turn, or its outcome is no longer retained")
			return
		}
		status := wirev2.StopTerminal
		switch t.phase {
		case preparing:
			k.dropTurn(t, &wirev2.Error{
				Code:    wirev2.CodeConflict,
				Message: "the turn was stopped while it was being prepared; nothing was recorded",
			})
		case admitted:
			// Whether there is a turn to stop is known once its user record is
			// durable, or is not.
			k.wait(a)
			return
		case running:
			status = wirev2.StopStopping
			k.stopTurn(t)
		case closing, ended, dropped:
		}
		k.answer(a, wirev2.TurnStopReply{TurnID: t.id, Status: status}, nil)
	}, nil
}

// stopTurn promises that a running turn ends as cancelled.
func (k *core) stopTurn(t *turn) {
	if !t.stop {
		t.stop = true
		k.do(cancelTurn{t, errStopped})
		k.cancelCalls(t)
	}
}
