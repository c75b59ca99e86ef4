package coordinator

import (
	"errors"

	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/wirev2"
)

// The six executor methods (wire-v2 4: Executors; seed: Executor authority and
// execution). Who may do what is package executorauth's; here its answers become
// records, and what depends on an executor is told of the change.

func (c *Conn) executorConn() executorauth.ConnID { return executorauth.ConnID(c.id) }

// executorCreate is executor.create.
func (k *core) executorCreate(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorCreateRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		made, err := k.executors.Create(a.conn.executorConn(), k.now)
		return wirev2.ExecutorCreateReply{
			ExecutorID:         wirev2.ID(made.ID),
			ExecutorGeneration: made.Generation,
			ResumeSecret:       wirev2.Secret(made.Secret.Reveal()),
		}, acknowledged(made.Identity), err
	}), nil
}

// executorConfirm is executor.confirm.
func (k *core) executorConfirm(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorConfirmRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		secret, err := executorauth.ParseSecret(q.ResumeSecret.Reveal())
		if err != nil {
			return nil, wirev2.ExecutorResult{}, err
		}
		at, err := k.executors.Confirm(a.conn.executorConn(), executorauth.ID(q.ExecutorID), secret, k.now)
		return wirev2.ExecutorConfirmReply{ExecutorID: wirev2.ID(at.ID), ExecutorGeneration: at.Generation}, acknowledged(at), err
	}), nil
}

// executorResume is executor.resume. Its reply shows what is pending, and
// precedes the calls that waited for it.
func (k *core) executorResume(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorResumeRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		secret, err := executorauth.ParseSecret(q.ResumeSecret.Reveal())
		if err != nil {
			return nil, wirev2.ExecutorResult{}, err
		}
		at, err := k.executors.Resume(a.conn.executorConn(), executorauth.ID(q.ExecutorID), secret, k.now)
		if err != nil {
			return nil, wirev2.ExecutorResult{}, err
		}
		return wirev2.ExecutorResumeReply{
			ExecutorID:         wirev2.ID(at.ID),
			ExecutorGeneration: at.Generation,
			PendingCalls:       k.pendingCalls(at.ID),
		}, acknowledged(at.Identity), nil
	}), nil
}

// executorRotate is executor.rotate.
func (k *core) executorRotate(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorRotateRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		made, err := k.executors.Rotate(a.conn.executorConn(), executorauth.ID(q.ExecutorID), q.ExecutorGeneration, k.now)
		result := acknowledged(made.Identity)
		result.Status, result.PendingTimeoutMS = wirev2.RotationPending, made.Timeout.Milliseconds()
		return wirev2.ExecutorRotateReply{
			ExecutorID:         wirev2.ID(made.ID),
			ExecutorGeneration: made.Generation,
			ResumeSecret:       wirev2.Secret(made.Secret.Reveal()),
			Status:             wirev2.RotationPending,
			PendingTimeoutMS:   made.Timeout.Milliseconds(),
		}, result, err
	}), nil
}

// executorRotateConfirm is executor.rotate_confirm.
func (k *core) executorRotateConfirm(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorRotateConfirmRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		candidate, err := executorauth.ParseSecret(q.ResumeSecret.Reveal())
		if err != nil {
			return nil, wirev2.ExecutorResult{}, err
		}
		at, err := k.executors.RotateConfirm(a.conn.executorConn(), executorauth.ID(q.ExecutorID), q.ExecutorGeneration, candidate, k.now)
		return wirev2.ExecutorRotateConfirmReply{ExecutorID: wirev2.ID(at.ID), ExecutorGeneration: at.Generation}, acknowledged(at), err
	}), nil
}

// executorRelease is executor.release.
func (k *core) executorRelease(a *ask) (func(), *wirev2.Error) {
	var q wirev2.ExecutorReleaseRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return k.executorStep(a, func() (any, wirev2.ExecutorResult, error) {
		gone, err := k.executors.Release(a.conn.executorConn(), executorauth.ID(q.ExecutorID), q.ExecutorGeneration, k.now)
		return wirev2.ExecutorReleaseReply{ExecutorID: wirev2.ID(gone.ID)},
			wirev2.ExecutorResult{Status: completed, ExecutorID: wirev2.ID(gone.ID)}, err
	}), nil
}

// completed is the status of an acknowledgment whose reply had none.
const completed = "completed"

func acknowledged(at executorauth.Identity) wirev2.ExecutorResult {
	return wirev2.ExecutorResult{Status: completed, ExecutorID: wirev2.ID(at.ID), ExecutorGeneration: at.Generation}
}

// executorStep is the state step of an executor method. What a lookup shows of
// it is its acknowledgment alone: history, never proof, calls or authority.
func (k *core) executorStep(a *ask, do func() (reply any, result wirev2.ExecutorResult, err error)) func() {
	return func() {
		if a.conn.gone {
			k.refuse(a, wirev2.CodeStaleConnection, "the connection ended before the request was decided")
			return
		}
		k.executorsChanged = true
		reply, result, err := do()
		if err != nil {
			k.fail(a, executorRefusal(err))
			return
		}
		k.answer(a, reply, func(bool) any { return result })
		k.executorMoved(executorauth.ID(result.ExecutorID))
	}
}

// executorMoved tells what depends on an executor that its attachment may have
// changed: a turn that prepares with it has lost it, and calls that wait may
// have found it.
func (k *core) executorMoved(id executorauth.ID) {
	for _, t := range k.preparing() {
		if t.app == nil || t.app.executor == nil || t.app.executor.ID != id {
			continue
		}
		if err := k.authorizeExecutor(t); err != nil {
			k.dropTurn(t, executorLost())
		}
	}
	for _, c := range k.callsOf(id) {
		k.pursue(c)
	}
}

func executorLost() *wirev2.Error {
	return &wirev2.Error{
		Code:    wirev2.CodeStaleConnection,
		Message: "the executor's attachment was lost while the turn was being prepared",
	}
}

// executorRefusal is a refusal of the executor authority as a wire error; its
// text is for a person and carries neither ID nor secret.
func executorRefusal(err error) *wirev2.Error {
	code := wirev2.CodeInternal
	switch {
	case errors.Is(err, executorauth.ErrRejected):
		code = wirev2.CodeExecutorRejected
	case errors.Is(err, executorauth.ErrStale):
		code = wirev2.CodeStaleConnection
	case errors.Is(err, executorauth.ErrConflict):
		code = wirev2.CodeConflict
	case errors.Is(err, executorauth.ErrLimit):
		code = wirev2.CodeLimitExceeded
	case errors.Is(err, executorauth.ErrSecret):
		code = wirev2.CodeInvalidPayload
	}
	return &wirev2.Error{Code: code, Message: err.Error()}
}
