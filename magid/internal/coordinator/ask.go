package coordinator

import (
	"errors"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

// ask is one request on its way to its answer.
//
// It is decided once: by its answer, or by the step after which the answer is
// only waited for. Until then its deadline can end it (wire-v2 2: Request).
type ask struct {
	conn      *Conn
	request   wirev2.Request
	deadline  time.Duration
	session   *session   // of the request, where the method has one
	grant     *Grant     // proved by the control token, or made by this claim
	operation *operation // nil for a read, and before admission
	step      func()     // the state checks and what follows; runs again after a wait
	waits     bool       // in session.waiting
	timer     *deadline
	decided   bool
	answered  bool
}

// verb does the payload's shape of one method: it decodes and gives the step
// that makes the state checks, or what to answer.
type verb func(k *core, a *ask) (step func(), refusal *wirev2.Error)

var verbs = map[wirev2.Method]verb{
	wirev2.MethodDaemonStatus:    (*core).status,
	wirev2.MethodSessionCreate:   (*core).create,
	wirev2.MethodSessionList:     (*core).list,
	wirev2.MethodSessionClaim:    (*core).claim,
	wirev2.MethodSessionRelease:  (*core).release,
	wirev2.MethodSessionSnapshot: (*core).snapshot,
	wirev2.MethodSessionHistory:  (*core).history,
	wirev2.MethodTurnStart:       (*core).turnStart,
	wirev2.MethodTurnStop:        (*core).turnStop,
	wirev2.MethodOperationLookup: (*core).lookup,

	wirev2.MethodSessionResourcesList:       (*core).resourcesList,
	wirev2.MethodSessionResourcesRegister:   (*core).resourcesRegister,
	wirev2.MethodSessionResourcesUnregister: (*core).resourcesUnregister,
	wirev2.MethodSessionResourcesClear:      (*core).resourcesClear,
	wirev2.MethodTurnApplicationEvidence:    (*core).evidence,
	wirev2.MethodTurnApplicationToolResult:  (*core).toolResult,
	wirev2.MethodExecutorCreate:             (*core).executorCreate,
	wirev2.MethodExecutorConfirm:            (*core).executorConfirm,
	wirev2.MethodExecutorResume:             (*core).executorResume,
	wirev2.MethodExecutorRotate:             (*core).executorRotate,
	wirev2.MethodExecutorRotateConfirm:      (*core).executorRotateConfirm,
	wirev2.MethodExecutorRelease:            (*core).executorRelease,
}

// handle takes a request from the operation's freshness to its step. The order
// of the checks is that of wire-v2 5. known says whether the session of the
// request exists, which only a look at the disk can tell for one that is not in
// memory.
func (k *core) handle(conn *Conn, q wirev2.Request, deadline time.Duration, known bool) {
	a := &ask{conn: conn, request: q, deadline: deadline}
	do, ok := verbs[q.Method]
	info, listed := q.Method.Lookup()
	if !ok || !listed {
		k.refuse(a, wirev2.CodeUnknownMethod, "there is no such method here")
		return
	}
	if info.Operation == wirev2.Required {
		if refusal := k.fresh(q.OperationID, q.Method); refusal != nil {
			k.fail(a, refusal)
			return
		}
	}
	if q.SessionID != "" {
		a.session = k.sessions[q.SessionID]
		if a.session == nil && !known {
			k.refuse(a, wirev2.CodeUnknownSession, "there is no such session")
			return
		}
		if a.session == nil {
			a.session = k.remember(q.SessionID)
		}
	}
	controlled := info.Control == wirev2.Required || info.Control == wirev2.Either && q.SessionID != ""
	if controlled {
		if refusal := k.control(a); refusal != nil {
			k.fail(a, refusal)
			return
		}
		if info.Operation == wirev2.Required {
			k.admit(a)
		}
	}
	step, refusal := do(k, a)
	if refusal != nil {
		k.fail(a, refusal)
		return
	}
	if info.Operation == wirev2.Required && !controlled {
		k.admit(a)
	}
	a.step = step
	k.run(a)
}

// run begins the state step, for which the deadline must not have passed.
func (k *core) run(a *ask) {
	if k.now >= a.deadline {
		k.expire(a)
		return
	}
	a.step()
}

// await arms the deadline of a request that is not decided yet.
func (k *core) await(a *ask) {
	if a.timer == nil {
		a.timer = k.timers.arm(a.deadline, func() { k.expire(a) })
	}
}

// expire answers a request that was not decided in time.
func (k *core) expire(a *ask) {
	k.refuse(a, wirev2.CodeDeadlineExceeded, "the deadline passed before the request was decided; nothing was done")
}

// decide ends the power of the deadline over a request. It is false for a
// request that something else has decided before.
func (k *core) decide(a *ask) bool {
	if a.decided {
		return false
	}
	a.decided = true
	k.timers.disarm(a.timer)
	if a.waits {
		a.session.unwait(a)
	}
	return true
}

// answer answers a request. result is what operation.lookup shows of it: nil
// means the reply itself.
func (k *core) answer(a *ask, reply any, result outcome) {
	k.decide(a)
	if a.answered {
		return
	}
	if a.operation == nil {
		// Nothing is recorded of it: the connection encodes it, once, before this lock is given back.
		k.send(a, wirev2.Response{Body: reply})
		return
	}
	payload, err := wirev2.EncodePayload(reply)
	if err != nil {
		k.fail(a, &wirev2.Error{Code: wirev2.CodeInternal, Message: "the reply could not be encoded"})
		return
	}
	if result == nil {
		result = func(bool) any { return reply }
	}
	k.complete(a.operation, result)
	k.send(a, wirev2.Response{Payload: payload})
}

// refuse answers a request with an error made here.
func (k *core) refuse(a *ask, code wirev2.Code, message string) {
	k.fail(a, &wirev2.Error{Code: code, Message: message})
}

// fail answers a request with an error.
func (k *core) fail(a *ask, refusal *wirev2.Error) {
	k.decide(a)
	if a.answered {
		return
	}
	if a.operation != nil {
		k.reject(a.operation, refusal)
	}
	k.send(a, wirev2.Response{Error: refusal})
}

// acknowledge answers a turn.start whose turn runs: the operation is settled by
// the turn's end.
func (k *core) acknowledge(a *ask, reply any) {
	payload, err := wirev2.EncodePayload(reply)
	if err != nil {
		k.send(a, wirev2.Response{Error: &wirev2.Error{Code: wirev2.CodeInternal, Message: "the reply could not be encoded; the turn runs"}})
		return
	}
	k.send(a, wirev2.Response{Payload: payload})
}

// send completes a response, which has payload, body or error, and answers with it.
func (k *core) send(a *ask, r wirev2.Response) {
	a.answered = true
	r.RequestID, r.Method = a.request.RequestID, a.request.Method
	r.InstanceID, r.ConnectionID = k.instance, a.conn.id
	r.SessionID, r.OperationID = a.request.SessionID, a.request.OperationID
	if a.grant != nil {
		r.GrantGeneration = a.grant.generation
	}
	k.do(respond{a.conn, r})
}

// decode reads a payload's shape: members, their types, and what makes them
// malformed whatever the state is.
func decode(a *ask, dst any) *wirev2.Error {
	err := wirev2.DecodePayload(a.request.Payload, dst)
	if err == nil {
		return nil
	}
	var refusal *wirev2.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return &wirev2.Error{Code: wirev2.CodeInternal, Message: "the payload could not be decoded"}
}

func invalid(message string) *wirev2.Error {
	return &wirev2.Error{Code: wirev2.CodeInvalidPayload, Message: message}
}
