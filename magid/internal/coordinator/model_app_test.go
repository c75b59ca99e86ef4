package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// The profile's half of the model: what clients may believe of registries,
// executors and calls.

type modelRegistry struct {
	revision wirev2.ID // "" until somebody was told
	entries  map[string]wirev2.Descriptor
}

type modelApplication struct {
	revision wirev2.ID
	tools    []wirev2.Descriptor
	executor *modelExecutor
}

type modelExecutor struct {
	id               wirev2.ID
	generation       int64
	proof, candidate wirev2.Secret
	issuer           *modelPeer // until it is confirmed
	holder           *modelPeer // while attached
	released         bool
}

type modelCall struct {
	id       wirev2.ID
	session  *modelSession
	turn     *modelTurn
	tool     wirev2.Descriptor
	executor *modelExecutor
	needed   time.Duration
	sent     int // how often its record got into a queue
	sentAt   time.Duration
	onDisk   bool       // marked as waiting
	tried    bool       // a mark was tried and not taken back
	stuck    bool       // taking it back failed
	busy     bool       // the disk is at it
	full     *modelPeer // the last queue that had no room for it
	result   *worker.Result
	cancels  int
}

const modelTimeout = 120 * time.Second

func (t *modelTurn) open() int {
	n := 0
	for _, c := range t.calls {
		if c.result == nil {
			n++
		}
	}
	return n
}

// protect is what a controller or a turn does to an idle registry.
func (w *world) protect(s *modelSession) {
	if s.idle && w.now >= s.idleAt+15*time.Minute {
		s.registry = nil
	}
	s.idle = false
}

// unclaim is a controller that left for good.
func (w *world) unclaim(s *modelSession) {
	w.unhold(s)
	if s.registry != nil && len(s.registry.entries) == 0 {
		s.registry = nil
	}
	if s.turn == nil || !s.turn.accepted { // one that prepares goes with its controller
		s.idle, s.idleAt = true, w.now
	}
}

// freeTurn is a turn that is over.
func (w *world) freeTurn(s *modelSession) {
	s.turn = nil
	if s.holder == nil && !s.idle {
		s.idle, s.idleAt = true, w.now
	}
}

// detach is a connection that left its executor.
func (w *world) detach(p *modelPeer) {
	for _, e := range w.identities {
		if e.holder == p {
			e.holder = nil
		}
	}
}

// checkTime looks that nothing is open beyond its time.
func (w *world) checkTime() {
	for _, c := range w.needed {
		if c.result != nil {
			continue
		}
		if c.sent > 0 {
			must(w.now < c.sentAt+modelTimeout, "a call is pending beyond its time")
		} else {
			must(w.now < c.needed+availability, "a call waits beyond its time")
		}
	}
}

// checkProgress looks that a call never waits for nothing: it is on its way to
// its executor where that is attached, and onto the disk where it is not.
func (w *world) checkProgress() {
	for _, c := range w.needed {
		if c.result != nil || c.sent > 0 || c.busy {
			continue
		}
		if holder := c.executor.holder; holder != nil {
			must(c.full == holder || c.stuck, "a call waits for an executor that is there")
			continue
		}
		must(c.tried, "a call waits and the disk does not know")
	}
}

// need is a worker with a call of one of its turn's tools.
func (w *world) need(s *modelSession, t *modelTurn) {
	if len(t.app.tools) == 0 || len(t.calls) > 3 {
		return
	}
	c := &modelCall{
		id: w.newID(), session: s, turn: t, tool: t.app.tools[w.random.IntN(len(t.app.tools))], executor: t.app.executor, needed: w.now,
	}
	w.trace("turn %s needs call %s", t.real.id[:8], c.id[:8])
	t.calls = append(t.calls, c)
	w.needed = append(w.needed, c)
	err := w.needCall(t.real, worker.Call{ID: c.id, ProviderID: string(c.id), Tool: c.tool.Name, Arguments: []byte(`{"text":"x"}`)}, func(r worker.Result) {
		w.delivered(c, r)
	})
	must(err == nil, "a call was refused for want of room")
	w.observe(w.take())
}

// delivered is a call that came to its end.
func (w *world) delivered(c *modelCall, r worker.Result) {
	must(c.result == nil, "a call has two results")
	c.result = &r
	w.trace("  call %s: %s %s", c.id[:8], r.Code, r.Effects)
	what := "success"
	if r.Code != "" {
		what = string(r.Code)
	}
	w.met("call %s", what)
	if !r.Synthetic {
		must(r.Effects == wirev2.EffectsReported && c.sent == 1, "a result of a call that was not sent")
		return
	}
	honest := wirev2.EffectsNotDispatched
	if c.sent > 0 {
		honest = wirev2.EffectsUncertain
	}
	must(r.Effects == honest, "effects that are not honest")
	switch r.Code {
	case wirev2.ToolTimeout:
		must(c.sent == 1 && w.now >= c.sentAt+modelTimeout && r.Fatal, "a timeout out of time")
	case wirev2.ToolExecutorUnavailable:
		must(c.sent == 0 && w.now >= c.needed+availability && r.Fatal, "an absence out of time")
	case wirev2.ToolCancelled:
		must(!r.Fatal, "a cancellation that fails the turn")
	default:
		panic("a synthetic " + r.Code)
	}
	c.turn.fatal = c.turn.fatal || r.Fatal
}

// endFatal is what the worker of a turn does whose tool failed for good.
func (w *world) endFatal() {
	for _, s := range w.sessions {
		if t := s.turn; t != nil && t.fatal && t.real.phase == running {
			w.end(s, t, &wirev2.TurnError{Code: wirev2.TurnToolFailed, Message: "no"})
			w.observe(w.take())
		}
	}
}

// dispatch is a call's record on its way into a queue, which may be full.
func (w *world) dispatch(e dispatchCall) {
	c := w.callOf(e.call)
	var event wirev2.TurnApplicationToolCallEvent
	decodeAs(e.event.Payload, &event)
	x := c.executor
	must(c.sent == 0 && c.result == nil, "a call identity leaves twice, or after its end")
	must(!c.onDisk, "a call is dispatched that the disk calls waiting")
	must(x.holder != nil && x.holder.conn == e.conn && !e.conn.gone, "a call goes to somebody else")
	must(event.ExecutorID == x.id && event.ExecutorGeneration == x.generation, "a call with another executor")
	must(event.CallID == c.id && event.TurnID == c.turn.real.id && event.RevisionID == c.tool.RevisionID, "a call with another tuple")
	must(e.event.SessionID == c.session.id && e.event.OperationID == "" && e.event.GrantGeneration == 0, "an executor event within a grant")
	if w.random.IntN(8) == 0 {
		w.met("call refused by a full queue")
		w.doomed = append(w.doomed, x.holder)
		c.full = x.holder
		w.dispatchedCall(e.call, false)
	} else {
		w.met("call dispatched")
		c.sent++
		c.sentAt = w.now
		w.dispatchedCall(e.call, true)
	}
	w.observe(w.take())
}

func (w *world) callOf(real *appCall) *modelCall {
	for _, c := range w.needed {
		if c.id == real.id {
			return c
		}
	}
	panic("a call of nobody")
}

// cancelled is advice to an executor.
func (w *world) cancelled(e notify) {
	must(e.event.Event == wirev2.EventTurnApplicationToolCancel, "another event without a grant")
	var event wirev2.TurnApplicationToolCancelEvent
	decodeAs(e.event.Payload, &event)
	for _, c := range w.needed {
		if c.id == event.CallID {
			c.cancels++
			must(c.sent == 1 && c.result != nil && c.cancels == 1, "advice about a call that is not out")
			must(c.executor.holder != nil && c.executor.holder.conn == e.conn && c.executor.generation == event.ExecutorGeneration, "advice to somebody else")
			w.met("cancel event")
			return
		}
	}
	panic("advice about no call")
}

// slow is what a disk or the capture worker has to do.
func (w *world) slow(e effect) {
	switch e := e.(type) {
	case markCall:
		c := w.callOf(e.call)
		c.busy = true
		w.disk = append(w.disk, job{"the mark of " + string(c.id[:8]), func(err error) {
			w.met("call marked")
			c.busy, c.tried = false, true
			c.onDisk = err == nil || w.random.IntN(2) == 0 // a failure may have left it
			w.callMarked(e.call)
		}})
	case unmarkCall:
		c := w.callOf(e.call)
		c.busy = true
		w.disk = append(w.disk, job{"the unmark of " + string(c.id[:8]), func(err error) {
			c.busy, c.stuck = false, err != nil
			if err == nil {
				c.onDisk, c.tried = false, false
			}
			w.callUnmarked(e.call, err)
		}})
	case captureSource:
		r := w.requests[e.ask.request.RequestID]
		w.disk = append(w.disk, job{"the capture of " + r.id, func(err error) {
			r.ok = false
			w.captured(e, []byte("captured"), err)
		}})
	}
}

// accepted is a turn with what it was accepted with.
func (w *world) accepted(r *modelRequest, reply wirev2.TurnStartReply) {
	must(reply.ApplicationManifest.Present == r.peer.conn.selected, "a manifest for an ordinary connection, or none")
	m := reply.ApplicationManifest.Manifest
	if r.app == nil {
		must(m == nil, "a manifest without application")
		return
	}
	must(m.RegistryRevision == r.app.revision && len(m.Tools) == len(r.app.tools), "a manifest of another registry")
	for i, tool := range m.Tools {
		must(tool.RevisionID == r.app.tools[i].RevisionID && tool.RevisionSHA256 == r.app.tools[i].RevisionSHA256, "a manifest of other tools")
	}
	must(m.AcceptedController.OperationID == r.q.OperationID, "another controller")
	must((m.AcceptedExecutor == nil) == (len(m.Tools) == 0), "an executor for nothing, or none")
	if m.AcceptedExecutor != nil {
		must(m.AcceptedExecutor.ExecutorID == r.app.executor.id, "another executor")
	}
}

// executorOf gives an executor by its id.
func (w *world) executorOf(id wirev2.ID) *modelExecutor {
	for _, e := range w.identities {
		if e.id == id {
			return e
		}
	}
	return nil
}

// appAnswer learns from a reply to a method of the profile.
func (w *world) appAnswer(r *modelRequest, response wirev2.Response) {
	s := r.session
	switch r.q.Method {
	case wirev2.MethodSessionResourcesList:
		var reply wirev2.SessionResourcesListReply
		decodeAs(response.Payload, &reply)
		if s.registry == nil {
			s.registry = &modelRegistry{entries: map[string]wirev2.Descriptor{}}
		}
		must(s.registry.revision == "" || s.registry.revision == reply.RegistryRevision, "a registry changed by itself")
		must(len(reply.Entries) == len(s.registry.entries), "a list of something else")
		for _, d := range reply.Entries {
			must(s.registry.entries[d.Name] == d, "an entry of something else")
		}
		s.registry.revision = reply.RegistryRevision
	case wirev2.MethodSessionResourcesRegister:
		var reply wirev2.SessionResourcesRegisterReply
		decodeAs(response.Payload, &reply)
		must(s.holder == r.peer, "a registration without control")
		if s.registry == nil {
			s.registry = &modelRegistry{entries: map[string]wirev2.Descriptor{}}
		}
		old, replaced := s.registry.entries[reply.Entry.Name]
		q := r.more.(*modelRegistration)
		must((q.expected != nil) == replaced, "a creation that replaces, or the reverse")
		if replaced {
			must(*q.expected == old.RevisionID && old.ResourceID == reply.Entry.ResourceID && old.RevisionID != reply.Entry.RevisionID, "a replacement of something else")
		}
		must(s.registry.revision != reply.RegistryRevision, "a change without a revision")
		must(reply.Entry.RegisteredBy.OperationID == r.q.OperationID, "another attribution")
		s.registry.entries[reply.Entry.Name] = reply.Entry
		s.registry.revision = reply.RegistryRevision
	case wirev2.MethodSessionResourcesUnregister:
		var reply wirev2.SessionResourcesUnregisterReply
		decodeAs(response.Payload, &reply)
		for name, d := range s.registry.entries {
			if d.ResourceID == reply.ResourceID {
				must(d.RevisionID == reply.RemovedRevision, "a removal of something else")
				delete(s.registry.entries, name)
			}
		}
		s.registry.revision = reply.RegistryRevision
	case wirev2.MethodSessionResourcesClear:
		var reply wirev2.SessionResourcesClearReply
		decodeAs(response.Payload, &reply)
		must(int(reply.RemovedCount) == len(s.registry.entries), "a clearing of something else")
		s.registry = &modelRegistry{revision: reply.RegistryRevision, entries: map[string]wirev2.Descriptor{}}
	case wirev2.MethodTurnApplicationEvidence:
		var reply wirev2.TurnApplicationEvidenceReply
		decodeAs(response.Payload, &reply)
		w.evidenceOf(reply)
	case wirev2.MethodTurnApplicationToolResult:
		must(r.more.(*modelCall).result != nil, "an acknowledgment without a settlement")
	default:
		w.executorAnswer(r, response)
	}
}

func (w *world) evidenceOf(reply wirev2.TurnApplicationEvidenceReply) {
	var calls []*modelCall
	for _, c := range w.needed {
		if c.turn.real.id == reply.TurnID {
			calls = append(calls, c)
		}
	}
	must(len(calls) == len(reply.Calls), "evidence of other calls")
	for i, got := range reply.Calls {
		c := calls[i]
		must(got.CallID == c.id, "evidence in another order")
		must((got.ExternalEffects == wirev2.EffectsNotDispatched) == (c.sent == 0), "evidence that hides a dispatch")
		must((got.WaitKind == nil) == (c.result != nil), "evidence that waits for what is over")
		if c.result != nil && !c.result.Synthetic {
			must(got.ExternalEffects == wirev2.EffectsReported, "evidence that hides a report")
		}
	}
}

func (w *world) executorAnswer(r *modelRequest, response wirev2.Response) {
	switch r.q.Method {
	case wirev2.MethodExecutorCreate:
		var reply wirev2.ExecutorCreateReply
		decodeAs(response.Payload, &reply)
		w.identities = append(w.identities, &modelExecutor{id: reply.ExecutorID, generation: 1, proof: reply.ResumeSecret, issuer: r.peer})
		return
	case wirev2.MethodExecutorRelease:
		e := r.more.(*modelExecutor)
		must(e.holder == r.peer || e.issuer == r.peer, "a release by somebody else")
		e.released, e.holder, e.issuer = true, nil, nil
		return
	}
	x := r.more.(*modelProof)
	e := x.executor
	must(!e.released, "an executor that is gone answers")
	switch r.q.Method {
	case wirev2.MethodExecutorConfirm:
		must(e.issuer == r.peer && x.secret == e.proof, "a confirmation by somebody else")
		e.issuer, e.holder = nil, r.peer
	case wirev2.MethodExecutorResume:
		var reply wirev2.ExecutorResumeReply
		decodeAs(response.Payload, &reply)
		must(x.secret == e.proof || x.secret == e.candidate && e.candidate != "", "a resume without a proof")
		must(reply.ExecutorGeneration == e.generation+1, "a generation was left out")
		e.proof, e.candidate = x.secret, ""
		e.issuer, e.holder, e.generation = nil, r.peer, reply.ExecutorGeneration
		var open []wirev2.ID
		for _, c := range w.needed {
			if c.executor == e && c.result == nil {
				open = append(open, c.id)
			}
		}
		var shown []wirev2.ID
		for _, p := range reply.PendingCalls {
			w.met("pending call shown")
			shown = append(shown, p.CallID)
		}
		must(slices.Equal(open, shown), fmt.Sprintf("pending %v instead of %v", shown, open))
	case wirev2.MethodExecutorRotate:
		var reply wirev2.ExecutorRotateReply
		decodeAs(response.Payload, &reply)
		must(e.holder == r.peer, "a rotation by somebody else")
		e.candidate = reply.ResumeSecret
	case wirev2.MethodExecutorRotateConfirm:
		must(e.holder == r.peer && x.secret == e.candidate, "a promotion by somebody else")
		e.proof, e.candidate = x.secret, ""
	}
}
