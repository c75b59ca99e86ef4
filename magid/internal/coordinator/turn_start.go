package coordinator

import (
	"slices"

	"github.com/magi-jig/magi-jig/wirev2"
)

// turnStart is turn.start: it is answered once the turn is accepted and its user
// record is durable (wire-v2 4: Turns).
func (k *core) turnStart(a *ask) (func(), *wirev2.Error) {
	var q wirev2.TurnStartRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		if a.session.turn != nil {
			k.refuse(a, wirev2.CodeTurnActive, "a turn of this session prepares or runs")
			return
		}
		if !k.needLease(a) {
			return
		}
		hold, app, refusal := k.selectResources(a, q.Application)
		if refusal == nil {
			if refusal = k.checkTurn(&q); refusal != nil {
				k.resources.Release(hold, k.now)
			}
		}
		if refusal != nil {
			k.fail(a, refusal)
			return
		}
		k.prepareTurn(&turn{
			id: k.newID(), session: a.session, operation: a.operation, ask: a, prompt: q.Prompt,
			journal: a.session.journal, hold: hold, app: app,
		})
	}, nil
}

// checkTurn makes the state checks that follow those of selectResources, in the
// order of wire-v2 4.
func (k *core) checkTurn(q *wirev2.TurnStartRequest) *wirev2.Error {
	switch {
	case len(q.Prompt) > maxPromptBytes:
		return limitExceeded("the prompt has more than max_prompt_bytes (24,576)")
	case wirev2.EncodedStringLen(q.Prompt) > maxPromptBytes:
		return limitExceeded("the prompt takes more than max_prompt_bytes (24,576) as it is encoded")
	case k.unconfigured != "":
		return &wirev2.Error{Code: wirev2.CodeProviderUnconfigured, Message: k.unconfigured}
	case k.stopping:
		return &wirev2.Error{Code: wirev2.CodePreparationFailed, Message: errShutdown.Error()}
	}
	return nil
}

func limitExceeded(message string) *wirev2.Error {
	return &wirev2.Error{Code: wirev2.CodeLimitExceeded, Message: message}
}

// prepareTurn takes the session's place for a turn and has its settings prepared.
func (k *core) prepareTurn(t *turn) {
	a := t.ask
	a.request.Payload = nil // the turn has what it needs of it, and lives long
	before := k.idle()
	a.session.turn = t
	k.turns[t.id] = t
	k.active++
	k.settleIdle(before)
	// The deadline holds until admission decides the request.
	k.timers.disarm(a.timer)
	a.timer = k.timers.arm(a.deadline, func() {
		k.dropTurn(t, &wirev2.Error{
			Code:    wirev2.CodeDeadlineExceeded,
			Message: "the deadline passed while the turn was being prepared; nothing was done",
		})
	})
	k.do(startTurn{t})
}

// preparing gives the turns that are being prepared, in a stable order.
func (k *core) preparing() []*turn {
	var out []*turn
	for _, t := range k.turns {
		if t.phase == preparing {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, byTurn)
	return out
}

// dropTurn ends a turn that was not accepted: nothing of it stays but the
// rejected operation, and a terminal of an earlier turn shows again.
func (k *core) dropTurn(t *turn, refusal *wirev2.Error) {
	k.do(cancelTurn{t, errDropped})
	k.leaveTurn(t, dropped)
	delete(k.turns, t.id)
	k.fail(t.ask, refusal)
	t.ask = nil
}

// leaveTurn frees the session's place for a turn.
func (k *core) leaveTurn(t *turn, end phase) {
	before := k.idle()
	k.letGo(t)
	t.phase, t.prompt = end, ""
	t.session.turn = nil
	k.change(t.session)
	k.active--
	k.settleIdle(before)
}

// admitTurn comes from the turn's goroutine when everything is prepared, and
// gives the user record of an accepted turn: the recheck, the stamping and the
// admission are this one step. err is a failed preparation.
func (k *core) admitTurn(t *turn, omitted int, err error) *wirev2.UserRecord {
	switch {
	case t.phase != preparing:
		return nil // stopped, out of time, or its control is lost: answered already
	case err != nil:
		k.dropTurn(t, &wirev2.Error{
			Code:    wirev2.CodePreparationFailed,
			Message: "the session's history could not be read; the log says why",
		})
		return nil
	}
	if refusal := k.stamp(t); refusal != nil {
		k.dropTurn(t, refusal)
		return nil
	}
	t.phase, t.omitted = admitted, omitted
	k.decide(t.ask)
	return &wirev2.UserRecord{
		TurnID:              t.id,
		OperationID:         t.operation.id,
		Prompt:              t.prompt,
		ApplicationManifest: t.manifestFor(true),
	}
}

// userRecorded comes from the turn's goroutine when the user record is durable,
// or could not be made so.
func (k *core) userRecorded(t *turn, err error) {
	s := t.session
	if err != nil {
		s.broken = true
		k.leaveTurn(t, dropped)
		delete(k.turns, t.id)
		k.refuse(t.ask, wirev2.CodeInternal, "the prompt could not be made durable; the turn did not run")
		t.ask = nil
		return
	}
	t.phase = running
	t.operation.turn = t
	k.accept(t.operation, t.outcome)
	k.acknowledge(t.ask, wirev2.TurnStartReply{TurnID: t.id, ApplicationManifest: t.manifestFor(t.ask.conn.selected)})
	t.ask = nil
	k.emit(s, wirev2.EventTurnStarted, t.operation.id, wirev2.TurnStartedEvent{
		TurnID:       t.id,
		OmittedTurns: int64(t.omitted),
	})
	k.change(s)
}
