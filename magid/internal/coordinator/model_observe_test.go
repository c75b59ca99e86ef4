package coordinator

import (
	"fmt"

	"github.com/magi-jig/magi-jig/wirev2"
)

// observe holds everything that comes out of the core against the model.
func (w *world) observe(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case respond:
			e.response = encoded(e.response)
			w.answer(e)
		case notify:
			if e.grant == nil {
				w.cancelled(e)
				continue
			}
			w.event(e.conn, e.event, e.grant)
		case dispatchCall:
			w.dispatch(e)
		case markCall, unmarkCall, captureSource:
			w.slow(e)
		case notifyText:
			w.event(e.conn, e.event, e.grant)
			s := w.sessionOf(e.event.SessionID)
			must(s.turn != nil && s.turn.real.id == e.turn && s.turn.told, "text of a turn that has not started")
		case openLease:
			w.opened(e.session)
		case closeLease:
			w.disk = append(w.disk, job{"the closing of " + string(e.session.id[:8]), func(error) { w.leaseClosed(e.session) }})
		case startTurn:
			w.started(e.turn)
		case cancelTurn:
		default:
			panic(fmt.Sprintf("an effect %T", e))
		}
	}
}

func (w *world) sessionOf(id wirev2.ID) *modelSession {
	for _, s := range w.sessions {
		if s.id == id {
			return s
		}
	}
	panic("another session")
}

// started follows a turn's goroutine to its user record.
func (w *world) started(real *turn) {
	// By its operation: the core may be further than this effect, and have ended
	// the preparation in the same step by a takeover that waited beside it.
	var r *modelRequest
	for _, sent := range w.requests {
		if sent.q.Method == wirev2.MethodTurnStart && sent.q.OperationID == real.operation.id && sent.expect == "" && !sent.answered {
			r = sent
		}
	}
	s := r.session
	must(s.turn == nil, "a second turn")
	t := &modelTurn{real: real, start: r, app: r.app}
	s.turn = t
	w.disk = append(w.disk, job{"the preparation of " + string(real.id[:8]), func(err error) {
		user := w.admitTurn(real, 0, err)
		if user == nil {
			return
		}
		must(err == nil && s.turn == t && s.holder == r.peer, "a turn was accepted without its controller")
		must(user.OperationID == r.q.OperationID && user.TurnID == real.id, "a user record of something else")
		t.accepted = true
		s.turns = append(s.turns, real.id)
		w.disk = append(w.disk, job{"the user record of " + string(real.id[:8]), func(err error) {
			if err != nil {
				w.freeTurn(s)
				s.turns = s.turns[:len(s.turns)-1]
			}
			w.userRecorded(real, err)
		}})
	}})
}

// event checks that an event belongs to a grant that lives.
func (w *world) event(conn *Conn, e wirev2.Event, grant *Grant) {
	s := w.sessionOf(e.SessionID)
	must(grant != nil && grant.generation == e.GrantGeneration, "an event with another's grant")
	must(!s.lost[e.GrantGeneration] || e.Event == wirev2.EventSessionControlLost, "an event after its grant")
	must(s.holder != nil && s.holder.conn == conn && s.generation == e.GrantGeneration, "an event to somebody else")
	switch e.Event {
	case wirev2.EventSessionControlLost:
		w.met("session.control_lost")
		w.unhold(s)
	case wirev2.EventTurnStarted:
		must(s.turn != nil && s.turn.start.answered, "turn.started before its answer")
	case wirev2.EventTurnTerminal:
		var terminal wirev2.Terminal
		decodeAs(e.Payload, &terminal)
		t := s.last
		must(t != nil && t.real.id == terminal.TurnID && s.turn == nil, "a terminal of another turn")
		must(terminal.Text == t.text, "the terminal's text is not what was accepted")
		must(t.failed == (terminal.Error != nil && terminal.Error.Code == wirev2.TurnJournalFailed), "journal_failed without cause")
		must(!t.stop || t.failed || terminal.Status == wirev2.TerminalCancelled, "stopping was promised")
		if terminal.Error != nil {
			w.met("turn.terminal %s", terminal.Error.Code)
		} else {
			w.met("turn.terminal %s", terminal.Status)
		}
	}
}

// answer checks an answer against what the model believes, and learns from it.
func (w *world) answer(e respond) {
	r := w.requests[e.response.RequestID]
	must(r != nil && !r.answered && r.peer.conn == e.conn, "an answer without its request")
	r.answered = true
	code := wirev2.Code("ok")
	if e.response.Error != nil {
		code = e.response.Error.Code
	}
	w.trace("  %s: %s", r.id, code)
	w.met("%s %s", r.q.Method, code)
	must(r.expect == "" || r.expect == code, fmt.Sprintf("%s: %s instead of %s", r.id, code, r.expect))
	must(!r.ok || code == "ok", fmt.Sprintf("%s: %s instead of a reply", r.id, code))
	s := r.session
	if code != "ok" {
		w.refused(r, code)
		return
	}
	if o := w.used[r.q.OperationID]; o != nil && r.q.Method != wirev2.MethodTurnStart {
		w.settle(r, wirev2.OperationCompleted)
	}
	switch r.q.Method {
	case wirev2.MethodSessionClaim:
		var reply wirev2.SessionClaimReply
		decodeAs(e.response.Payload, &reply)
		must(!e.conn.gone, "a connection that ended was given control")
		must(s.holder == nil || s.holder == r.peer, "the loser was not told")
		must(s.turn == nil || s.turn.accepted, "a turn prepares on")
		must(reply.GrantGeneration == s.generation+1, "a generation was left out or given twice")
		if s.holder != nil {
			w.unhold(s)
		}
		w.protect(s)
		s.holder, s.generation, s.token = r.peer, reply.GrantGeneration, reply.ControlToken
		r.peer.tokens[s] = reply.ControlToken
		w.snapshot(s, reply.Snapshot)
	case wirev2.MethodSessionSnapshot:
		var reply wirev2.SessionSnapshotReply
		decodeAs(e.response.Payload, &reply)
		w.snapshot(s, reply.Snapshot)
	case wirev2.MethodTurnStart:
		var reply wirev2.TurnStartReply
		decodeAs(e.response.Payload, &reply)
		must(s.turn != nil && s.turn.start == r && s.turn.accepted && reply.TurnID == s.turn.real.id, "an answer of another turn")
		s.turn.told = true
		w.accepted(r, reply)
		w.used[r.q.OperationID].state = wirev2.OperationAccepted
	case wirev2.MethodTurnStop:
		var reply wirev2.TurnStopReply
		decodeAs(e.response.Payload, &reply)
		t := r.target
		if reply.Status == wirev2.StopStopping {
			must(t != nil && s.turn == t && t.real.phase == running, "stopping what does not run")
			t.stop = true
			must(t.open() == 0, "a call is open after the stop")
			return
		}
		must(t == nil || t.real.phase >= closing, "terminal of a turn that runs")
	case wirev2.MethodOperationLookup:
		var reply wirev2.OperationLookupReply
		decodeAs(e.response.Payload, &reply)
		o := w.used[reply.OperationID]
		must(o.state == reply.State, fmt.Sprintf("a lookup says %s of what is %s", reply.State, o.state))
		must((reply.Error != nil) == (o.state == wirev2.OperationRejected), "an error in another state")
	case wirev2.MethodSessionRelease:
	default:
		w.appAnswer(r, e.response)
	}
}

// refused learns from an error.
func (w *world) refused(r *modelRequest, code wirev2.Code) {
	s := r.session
	switch code {
	case wirev2.CodeOperationAlreadyKnown, wirev2.CodeControlRequired:
		return
	case wirev2.CodeStaleConnection:
		if info, _ := r.q.Method.Lookup(); r.expect == code && info.Control != wirev2.Null {
			return // before admission
		}
	}
	if r.q.OperationID != "" {
		w.settle(r, wirev2.OperationRejected)
	}
	if r.q.Method == wirev2.MethodTurnStart && s.turn != nil && s.turn.start == r {
		must(!s.turn.told, "a turn that runs was refused")
		w.freeTurn(s)
	}
}

// snapshot checks what a client is shown of a session.
func (w *world) snapshot(s *modelSession, got wirev2.Snapshot) {
	if t := s.turn; t != nil {
		must(got.Turn != nil && got.Turn.TurnID == t.real.id && got.Turn.Text == t.text, "a snapshot of another turn or text")
		must((got.Turn.State == wirev2.TurnPreparing) == !t.accepted, "a snapshot in another state")
		must((got.Turn.State == wirev2.TurnStopping) == t.stop, "a snapshot that knows no stop")
		return
	}
	must(got.Turn == nil, "a snapshot of a turn that is none")
	if t := s.last; t != nil && w.now < t.ended+retention {
		must(got.Terminal != nil && got.Terminal.TurnID == t.real.id && got.Terminal.Text == t.text, "a snapshot without its terminal")
		return
	}
	must(got.Terminal == nil, "a terminal after its time")
}

func decodeAs(payload []byte, dst any) {
	if err := wirev2.DecodePayload(payload, dst); err != nil {
		panic(err)
	}
}
