package tree

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// dispatch performs a new operation and settles it once.
func (i *invocation) dispatch(c run0.Call, op *run0.Operation) {
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	op.OnAbort(abort)
	result, err := i.perform(ctx, c)
	op.Settle(result, err)
}

// perform checks a call in the order of run-0 4.5 and carries it out.
func (i *invocation) perform(ctx context.Context, c run0.Call) (jsontext.Value, *fault.Error) {
	if _, declared := i.target.Package.Uses[c.Slot]; !declared {
		return nil, fault.New(fault.Unavailable, "the package declares no slot "+c.Slot+` under "uses" in FLOW.meta.json`)
	}
	slot := i.target.Slots[c.Slot]
	switch {
	case slot.Target != nil:
		return i.child(ctx, c, slot.Target)
	case slot.Grant != nil:
		return i.resource(ctx, c, slot.Grant)
	}
	return nil, fault.New(fault.Unavailable, "nothing fills the slot "+c.Slot)
}

// child runs a child Flow.
func (i *invocation) child(ctx context.Context, c run0.Call, t *Target) (jsontext.Value, *fault.Error) {
	if err := t.check(c.Input); err != nil {
		return nil, ofSlot(c.Slot, err)
	}
	if err := i.root.broker.Check(i.party, t.Package.Contract.Ports, c.Channels); err != nil {
		return nil, err
	}
	if i.depth >= i.root.l.Depth {
		return nil, fault.New(fault.ResourceExhausted, "child Flows nest too deep")
	}
	child := i.root.invocation(i, t)
	i.mu.Lock()
	i.children[child] = true
	child.forced = i.forced
	i.mu.Unlock()
	result, err := child.run(ctx, c.Input, i.party, c.Channels)
	i.mu.Lock()
	delete(i.children, child)
	i.mu.Unlock()
	if err != nil {
		return nil, forParent(err)
	}
	return whole(result)
}

// ofSlot says of which slot an input is that was refused.
func ofSlot(slot string, err *fault.Error) *fault.Error {
	if err.Code != fault.InvalidInput {
		return err
	}
	return fault.New(err.Code, "the input of slot "+slot+": "+err.Message)
}

// whole writes a result as the caller gets it.
func whole(r *contract.Result) (jsontext.Value, *fault.Error) {
	b, err := json0.Marshal(r)
	if err != nil {
		return nil, fault.New(fault.InvalidResult, "the result is not JSON/0")
	}
	return b, nil
}

// forParent is a child's failure as its parent sees it: the host's own findings
// never go on the wire (run-0 6.2).
func forParent(err *fault.Error) *fault.Error {
	if err.Code.OnWire() {
		return err
	}
	return fault.New(fault.ExecutionFailed, "the callee broke its protocol: "+err.Message)
}

// resource calls what a grant names.
func (i *invocation) resource(ctx context.Context, c run0.Call, g *Grant) (jsontext.Value, *fault.Error) {
	r := i.root.o.Resources[g.Kind]
	if r == nil {
		return nil, fault.New(fault.Unavailable, "this host performs no "+g.Kind+" calls")
	}
	agreement := r.Contract()
	if err := agreement.CheckInput(c.Input); err != nil {
		return nil, ofSlot(c.Slot, fault.New(fault.InvalidInput, err.Error()))
	}
	if err := i.root.broker.Check(i.party, agreement.Ports, c.Channels); err != nil {
		return nil, err
	}
	call := ResourceCall{
		Grant: g, Input: c.Input, Senders: map[string]*channel.Sender{}, Receivers: map[string]*channel.Receiver{},
		Deadline: i.root.o.Deadline, Slot: c.Slot, Lineage: i.lineage(), Label: i.label() + " > " + c.Slot, Left: i.left,
	}
	if a, ok := r.(Admitter); ok {
		if err := a.Admit(call); err != nil {
			return nil, forParent(err)
		}
	}
	if r.Native() {
		release, err := i.native()
		if err != nil {
			return nil, err
		}
		defer release()
	}
	party := i.root.party()
	grants, err := i.root.broker.Transfer(i.party, party, agreement.Ports, c.Channels)
	if err != nil {
		return nil, err
	}
	for name, grant := range grants {
		if grant.Direction == contract.Send {
			call.Senders[name] = i.root.broker.Sender(party, grant)
		} else {
			call.Receivers[name] = i.root.broker.Receiver(party, grant)
		}
	}
	result, err := r.Call(ctx, call)
	i.root.broker.Finish(party, err == nil)
	if err != nil {
		return nil, forParent(err)
	}
	if _, cerr := agreement.CheckResult(result); cerr != nil {
		return nil, fault.New(fault.InvalidResult, "the resource's result does not fit its contract")
	}
	return result, nil
}

// left is told what a resource leaves behind.
func (i *invocation) left(alive bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unproved = i.unproved || alive
	i.untidy = true
}

// native admits one native call: one at a time for a caller, a few for a root.
func (i *invocation) native() (release func(), err *fault.Error) {
	i.mu.Lock()
	busy := i.acp
	i.acp = true
	i.mu.Unlock()
	if busy {
		return nil, fault.New(fault.ResourceExhausted, "another native conversation of this caller is under way")
	}
	done := func() {
		i.mu.Lock()
		i.acp = false
		i.mu.Unlock()
	}
	free, err := i.root.take(&i.root.natives, i.root.l.Natives, "native conversations")
	if err != nil {
		done()
		return nil, err
	}
	return func() { free(); done() }, nil
}
