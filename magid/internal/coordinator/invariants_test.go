package coordinator

import (
	"github.com/magi-jig/magi-jig/wirev2"
)

// verify looks for what must never be, after each verb of every test of this
// package. It panics, because a verb may run on any goroutine.
func verify(k *core) {
	active := 0
	for id, s := range k.sessions {
		at := "session " + string(id) + ": "
		must(id == s.id, at+"filed under another id")
		must((s.holder == nil) == (s.grant == nil), at+"a holder without a grant, or the reverse")
		must((s.holder == nil) == (s.token == digest{}), at+"a token without a holder, or the reverse")
		if s.holder != nil {
			must(!s.holder.gone, at+"controlled by a connection that ended")
			_, controls := s.holder.controls[s]
			must(controls, at+"not in its holder's list")
			must(s.grant.generation == s.generation, at+"an old grant")
		}
		must((s.lease == leaseOpen || s.lease == leaseClosing) == (s.journal != nil), at+"a journal without its lease")
		if t := s.turn; t != nil {
			active++
			must(t.session == s && k.turns[t.id] == t, at+"a turn of another session")
			must(t.phase < ended, at+"an active turn has ended")
			must(s.lease == leaseOpen, at+"a turn without the writer lease")
			must(t.phase != preparing || !t.ask.answered && s.grant == t.ask.grant, at+"a turn prepares without its controller")
			must(t.phase != admitted || t.ask.decided && !t.ask.answered, at+"an accepted turn is not decided, or answered too early")
			must((t.ask == nil) == (t.phase >= running), at+"an answered request is kept, or an open one lost")
			must((t.phase >= running) == (t.operation.state == wirev2.OperationAccepted), at+"the operation tells otherwise")
		}
		if s.last != nil {
			must(s.last.phase == ended && s.last.session == s, at+"a last turn that has not ended")
			must(k.operations[s.last.operation.id] != nil, at+"a terminal outlived its outcome")
		}
		for _, selected := range []bool{true, false} {
			view := s.snapshot(selected)
			must(view.Turn == nil || view.Terminal == nil, at+"a snapshot shows two turns")
			if view.Turn != nil && len(view.Turn.Text)%101 != 0 {
				continue // encoding a long text at each of its pieces takes minutes
			}
			raw, err := wirev2.EncodePayload(view)
			must(err == nil && len(raw) <= 24576, at+"a snapshot over its budget")
		}
		for _, a := range s.waiting {
			must(a.waits && !a.decided && !a.answered && a.session == s, at+"a decided request waits")
			must(a.grant == nil || a.grant == s.grant, at+"a request waits with an old grant")
			must(a.timer != nil && a.timer.index >= 0 && a.timer.at > k.now, at+"a request waits without a deadline")
		}
		must(len(s.waiting) == 0 || s.lease != leaseClosed, at+"somebody waits for a lease that nobody opens")
		must(len(s.then) == 0 || s.lease == leaseClosing, at+"an answer waits for nothing")
		must(s.lease != leaseOpen || s.holder != nil || s.turn != nil || len(s.waiting) > 0, at+"a lease that nobody needs")
		must(!s.changed, at+"not settled")
	}
	must(active == k.active, "the number of active turns is wrong")
	must(len(k.changed) == 0, "a verb ended unsettled")
	for c := range k.conns {
		must(!c.gone, "a connection that ended is listed")
		for s := range c.controls {
			must(s.holder == c, "a connection lists a session that it does not control")
		}
	}
	must(len(k.operations) <= maxOperations, "too many operations")
	for _, o := range k.operations {
		at := "an operation of " + string(o.method) + ": "
		settled := o.state == wirev2.OperationCompleted || o.state == wirev2.OperationRejected
		must(!settled || o.expires > k.now && o.expires <= k.now+retention, at+"kept beyond its time")
		must((o.refusal != nil) == (o.state == wirev2.OperationRejected), at+"an error in another state than rejected")
		must(o.state != wirev2.OperationPending || o.result == nil, at+"a result of a pending one")
		must(o.state != wirev2.OperationAccepted || o.turn != nil, at+"accepted without a turn")
	}
	for id, t := range k.turns {
		must(t.id == id && t.phase != dropped, "a turn that was dropped is known")
		must(t.phase != ended || t.prompt == "" && (t.app == nil || t.app.snapshot == nil), "a turn that is over keeps its prompt or its snapshot")
		must((t.phase == ended) == (t.session.turn != t), "a turn is active and ended")
		must((t.terminal != nil) == (t.phase == closing || t.phase == ended), "a terminal out of its time")
	}
	verifyCalls(k)
	for i, d := range k.timers.heap {
		must(d.index == i, "the heap of deadlines is torn")
		must(i == 0 || k.timers.heap[(i-1)/2].at <= d.at, "the heap of deadlines is out of order")
		must(d.at > k.now, "a deadline has passed and not fired")
	}
}

func must(holds bool, what string) {
	if !holds {
		panic("invariant: " + what)
	}
}

// verifyCalls looks at what the profile adds.
func verifyCalls(k *core) {
	must(len(k.peers) == len(k.conns), "a connection that executors do not know, or the reverse")
	must(len(k.calls) <= maxCalls, "too many calls")
	must((k.resources.Usage().CaptureBytes > 0) == (k.capturing != nil), "a capture without its slot, or the reverse")
	if next, armed := k.executors.NextDeadline(); !k.executorsChanged {
		must(armed == k.executorArmed && (!armed || next == k.executorNext), "an executor's deadline is not known")
	}
	known, evidenceTurns := 0, 0
	for _, t := range k.turns {
		if t.app != nil {
			evidenceTurns++
		}
		must((t.manifest != nil) == (t.app != nil && t.phase != preparing), "a manifest out of its time")
		size := 0
		for _, c := range t.calls {
			size += c.evidence + 1
			must(c.turn == t, "a call of another turn")
			must(c.dispatched == (c.effects != wirev2.EffectsNotDispatched), "effects that are not honest")
			must((c.status == wirev2.CallPending) == (c.dispatched && !c.settled()), "pending and not dispatched, or the reverse")
			must(c.settled() == (c.deadline == nil) && c.settled() == (c.arguments == nil) && c.settled() == (c.contract == nil), "a settled call keeps something, or an open one lacks it")
			must(!c.settled() || !c.offered, "a settled call is offered")
			if t.phase >= ended {
				must(c.settled(), "a call is open after its turn")
				continue
			}
			known++
			must(k.calls[c.id] == c, "a call of an active turn is not known")
		}
		must(len(t.calls) == 0 || t.evidenceBase()+size <= maxEvidenceBytes+1, "evidence over its budget")
		if t.app != nil && t.app.executor != nil && t.phase > preparing && t.phase < ended {
			status, alive := k.executors.Lookup(t.app.executor.ID, k.now)
			must(!alive || status.Pins > 0, "an executor that is not pinned by its turn")
		}
	}
	must(known == len(k.calls), "a call of a turn that is over keeps its place")
	must(evidenceTurns <= maxEvidenceTurns, "evidence of too many turns")
}
