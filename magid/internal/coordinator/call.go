package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// availability is how long a call waits for its executor, from its need on
// (seed: Callback bounds).
const availability = 60 * time.Second

// appCall is one call of an application's tool. It is dispatched at most once:
// dispatched never goes back to false, and only a call that was not dispatched is
// ever offered to a connection. What became of it is told honestly: from the
// moment its record is in an executor's queue its effects are uncertain until a
// result is admitted, whatever happens to the queue.
type appCall struct {
	id         wirev2.ID
	number     uint64 // in the order of need
	turn       *turn
	providerID string
	name       string
	tuple      appresources.Tuple
	contract   *appresources.Contract // until it is settled, as are the arguments
	arguments  jsontext.Value
	deliver    func(worker.Result)

	status     wirev2.CallStatus
	effects    wirev2.Effects
	dispatched bool
	offered    bool // its record is being put into a queue in this very step
	mark       markState
	deadline   *deadline
	resume     int // bytes it reserves in its executor's resume payload
	evidence   int // bytes it reserves in its turn's evidence
}

func (c *appCall) settled() bool {
	return c.status != wirev2.CallWaitingForExecutor && c.status != wirev2.CallPending
}

// executor is the one executor that may answer the call.
func (c *appCall) executor() executorauth.ID { return c.turn.app.executor.ID }

// needCall takes a call that its worker has made durable. If there is room for
// it, the call is dispatched or waits for its executor, and deliver is called
// once, with its result; else the answer says which limit is in the way, and
// nothing was dispatched (wire-v2 4: Tool calls).
func (k *core) needCall(t *turn, need worker.Call, deliver func(worker.Result)) error {
	tool, ok := t.app.snapshot.Tool(need.Tool)
	if !ok {
		return fmt.Errorf("the turn has no tool of this name")
	}
	k.needs++
	c := &appCall{
		id:         need.ID,
		number:     k.needs,
		turn:       t,
		providerID: need.ProviderID,
		name:       tool.Name,
		tuple:      tool.Tuple(),
		contract:   tool.Contract,
		arguments:  need.Arguments,
		deliver:    deliver,
		status:     wirev2.CallWaitingForExecutor,
		effects:    wirev2.EffectsNotDispatched,
	}
	if err := k.reserve(c); err != nil {
		return err
	}
	t.calls = append(t.calls, c)
	k.calls[c.id] = c
	if t.phase != running || t.stop || k.stopping {
		k.cancelCall(c)
		return nil
	}
	c.deadline = k.timers.arm(k.now+availability, func() { k.unavailable(c) })
	k.pursue(c)
	return nil
}

// reserve finds room for a call: among the daemon's calls, in its turn's
// evidence and in its executor's resume payload, each at its worst.
func (k *core) reserve(c *appCall) error {
	if len(k.calls) >= maxCalls {
		return fmt.Errorf("limit exceeded: calls of active turns (max_calls, %d)", maxCalls)
	}
	c.evidence = worstSize(c.evidenceAt(k.now, true))
	evidence := c.turn.evidenceBase()
	for _, other := range c.turn.calls {
		evidence += other.evidence + len(",")
	}
	if evidence+c.evidence > maxEvidenceBytes {
		return fmt.Errorf("limit exceeded: evidence of one turn, its manifest included (max_evidence_bytes, %d)", maxEvidenceBytes)
	}
	c.resume = worstSize(c.pendingAt(k.now, true))
	resume := resumeBase
	for _, other := range k.callsOf(c.executor()) {
		resume += other.resume + len(",")
	}
	if resume+c.resume > maxResumeBytes {
		return fmt.Errorf("limit exceeded: what one executor may have pending (%d bytes)", maxResumeBytes)
	}
	return nil
}

// callsOf gives the unsettled calls of an executor, in the order of their need.
func (k *core) callsOf(id executorauth.ID) []*appCall {
	var out []*appCall
	for _, c := range k.calls {
		if !c.settled() && c.executor() == id {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y *appCall) int { return cmp.Compare(x.number, y.number) })
	return out
}

// route is where an executor's calls go now.
func (k *core) route(id executorauth.ID) (*Conn, int64, bool) {
	at, generation, ok := k.executors.Route(id, k.now)
	if !ok {
		return nil, 0, false
	}
	peer := k.peers[at]
	return peer, generation, peer != nil
}

// offer puts a call's record into the queue of its executor's connection. The
// host tells at once, in dispatchedCall, whether it fitted.
func (k *core) offer(c *appCall, to *Conn, generation int64) {
	tuple := c.tuple
	payload, err := wirev2.EncodePayload(wirev2.TurnApplicationToolCallEvent{
		TurnID:             c.turn.id,
		CallID:             c.id,
		ProviderCallID:     c.providerID,
		ExecutorID:         wirev2.ID(c.executor()),
		ExecutorGeneration: generation,
		ResourceID:         wirev2.ID(tuple.ResourceID),
		RevisionID:         wirev2.ID(tuple.RevisionID),
		RevisionSHA256:     tuple.RevisionSHA256,
		Name:               c.name,
		Arguments:          c.arguments,
		TimeoutMS:          c.contract.Timeout.Milliseconds(),
	})
	if err != nil {
		return // it stays, and its deadline ends it
	}
	c.offered = true
	event := k.executorEvent(c, to, wirev2.EventTurnApplicationToolCall)
	event.Payload = payload
	k.do(dispatchCall{to, event, c})
}

// executorEvent is the envelope of an event to an executor: outside every grant
// (wire-v2 2: Event).
func (k *core) executorEvent(c *appCall, to *Conn, name wirev2.EventName) wirev2.Event {
	return wirev2.Event{Event: name, InstanceID: k.instance, ConnectionID: to.id, SessionID: c.turn.session.id}
}

// dispatchedCall says whether the record of a call is in the queue. If it is,
// the call is dispatched, for good, and its execution time begins; if not, the
// connection is being ended, and the call waits on.
func (k *core) dispatchedCall(c *appCall, queued bool) {
	c.offered = false
	if !queued {
		return
	}
	c.dispatched = true
	c.effects = wirev2.EffectsUncertain
	if c.settled() {
		return
	}
	c.status = wirev2.CallPending
	k.timers.disarm(c.deadline)
	c.deadline = k.timers.arm(k.now+c.contract.Timeout, func() { k.timedOut(c) })
	k.toolPhase(c.turn, c.id, c.name, wirev2.ToolStarted)
}

// settle ends a call and hands its result to the worker.
func (k *core) settle(c *appCall, status wirev2.CallStatus, result worker.Result) {
	c.status = status
	k.timers.disarm(c.deadline)
	c.deadline, c.arguments, c.contract = nil, nil, nil
	c.deliver(result)
}

// unavailable is the end of a call whose executor did not come.
func (k *core) unavailable(c *appCall) {
	k.settle(c, wirev2.CallFailed, worker.Result{
		Code:    wirev2.ToolExecutorUnavailable,
		Message: "the tool's executor was not available for 60 seconds; the call was not dispatched",
		Effects: c.effects, Synthetic: true, Fatal: true,
	})
}

// timedOut is the end of a call whose executor did not answer.
func (k *core) timedOut(c *appCall) {
	timeout := c.contract.Timeout.Milliseconds()
	k.settle(c, wirev2.CallFailed, worker.Result{
		Code:    wirev2.ToolTimeout,
		Message: fmt.Sprintf("the executor did not answer within %d ms; whether the tool ran is not known", timeout),
		Effects: c.effects, Synthetic: true, Fatal: true,
	})
	k.cancelEvent(c, wirev2.CancelToolTimeout)
}

// cancelCalls ends every open call of a turn that was stopped or is failing.
func (k *core) cancelCalls(t *turn) {
	for _, c := range t.calls {
		if !c.settled() {
			k.cancelCall(c)
		}
	}
}

func (k *core) cancelCall(c *appCall) {
	message := "the turn ended before the call was dispatched"
	if c.dispatched {
		message = "the turn ended before the executor answered; whether the tool ran is not known"
	}
	k.settle(c, wirev2.CallCancelled, worker.Result{
		Code: wirev2.ToolCancelled, Message: message, Effects: c.effects, Synthetic: true,
	})
	if c.dispatched {
		k.cancelEvent(c, wirev2.CancelCancelled)
	}
}

// cancelEvent advises the connection that is attached now that a dispatched call
// is no longer wanted (wire-v2 4: Tool calls). One that does not fit is not sent
// again: its queue is being thrown away.
func (k *core) cancelEvent(c *appCall, reason wirev2.CancelReason) {
	to, generation, ok := k.route(c.executor())
	if !ok {
		return
	}
	payload, err := wirev2.EncodePayload(wirev2.TurnApplicationToolCancelEvent{
		TurnID:             c.turn.id,
		CallID:             c.id,
		ExecutorID:         wirev2.ID(c.executor()),
		ExecutorGeneration: generation,
		Reason:             reason,
	})
	if err != nil {
		return
	}
	event := k.executorEvent(c, to, wirev2.EventTurnApplicationToolCancel)
	event.Payload = payload
	k.do(notify{to, event, nil})
}
