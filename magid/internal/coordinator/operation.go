package coordinator

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// operation is what is known of one admitted mutation (wire-v2 4: Operations).
type operation struct {
	id      wirev2.ID
	method  wirev2.Method
	session wirev2.ID // "" for session.create and the executor methods
	state   wirev2.OperationState
	result  outcome // nil until accepted or completed
	refusal *wirev2.Error
	expires time.Duration // once it is settled
	turn    *turn         // of an accepted turn.start
}

// outcome makes the result of a lookup, without secrets; selected says whether
// the connection that asks negotiated the profile.
type outcome func(selected bool) any

// reserved are the methods for which places are kept when the table is full of
// others: what ends work and what brings a lost peer back (wire-v2 4: Operations).
var reserved = map[wirev2.Method]bool{
	wirev2.MethodTurnStop:                  true,
	wirev2.MethodSessionClaim:              true,
	wirev2.MethodSessionRelease:            true,
	wirev2.MethodTurnApplicationToolResult: true,
	wirev2.MethodExecutorResume:            true,
	wirev2.MethodExecutorRelease:           true,
}

// fresh is the check of an operation's freshness, the full table included.
func (k *core) fresh(id wirev2.ID, method wirev2.Method) *wirev2.Error {
	if _, known := k.operations[id]; known {
		return &wirev2.Error{
			Code:    wirev2.CodeOperationAlreadyKnown,
			Message: "this operation was admitted before and nothing was done now; operation.lookup tells its outcome",
		}
	}
	places := maxOperations
	if !reserved[method] {
		places -= reservedOperations
	}
	if len(k.operations) >= places {
		return &wirev2.Error{
			Code:    wirev2.CodeLimitExceeded,
			Message: "the operation table is full (max_operations); a place is free when an outcome's retention ends",
		}
	}
	return nil
}

// admit records a mutation: from here on its id is used up.
func (k *core) admit(a *ask) {
	o := &operation{
		id:      a.request.OperationID,
		method:  a.request.Method,
		session: a.request.SessionID,
		state:   wirev2.OperationPending,
	}
	k.operations[o.id] = o
	a.operation = o
}

// accept records that the turn of a turn.start runs.
func (k *core) accept(o *operation, result outcome) {
	o.state, o.result = wirev2.OperationAccepted, result
}

// complete settles an operation.
func (k *core) complete(o *operation, result outcome) {
	o.state, o.result = wirev2.OperationCompleted, result
	k.retain(o)
}

// reject settles an operation that came to nothing.
func (k *core) reject(o *operation, refusal *wirev2.Error) {
	o.state, o.refusal = wirev2.OperationRejected, refusal
	k.retain(o)
}

// retain keeps a settled outcome for its time and no longer; nothing that reads
// it makes that time longer.
func (k *core) retain(o *operation) {
	o.expires = k.now + retention
	k.timers.arm(o.expires, func() { k.forget(o) })
}

// forget ends the retention of an outcome and of what lives as long.
func (k *core) forget(o *operation) {
	delete(k.operations, o.id)
	if t := o.turn; t != nil {
		delete(k.turns, t.id)
		if t.session.last == t {
			t.session.last = nil
		}
	}
}

// lookup is operation.lookup.
func (k *core) lookup(a *ask) (func(), *wirev2.Error) {
	var q wirev2.OperationLookupRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		o := k.operations[q.OperationID]
		if o == nil || o.session != a.request.SessionID {
			k.refuse(a, wirev2.CodeUnknownOperation, "no such operation is retained here")
			return
		}
		reply := wirev2.OperationLookupReply{
			OperationID: o.id,
			Method:      o.method,
			State:       o.state,
			Result:      jsontext.Value("null"),
			Error:       o.refusal,
		}
		if o.result != nil {
			result, err := wirev2.EncodePayload(o.result(a.conn.selected))
			if err != nil {
				k.refuse(a, wirev2.CodeInternal, "the outcome could not be encoded")
				return
			}
			reply.Result = result
		}
		k.answer(a, reply, nil)
	}, nil
}
