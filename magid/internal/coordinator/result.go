package coordinator

import (
	"fmt"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/executorauth"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// toolResult is turn.application_tool_result: the checks stand in the order of
// wire-v2 4. A result that is refused leaves its call as it was; one that is
// admitted settles it, and the acknowledgment means that, not that it is durable.
func (k *core) toolResult(a *ask) (func(), *wirev2.Error) {
	var q wirev2.TurnApplicationToolResultRequest
	if refusal := decode(a, &q); refusal != nil {
		return nil, refusal
	}
	return func() {
		c, result, refusal := k.checkResult(a, &q)
		if refusal != nil {
			k.fail(a, refusal)
			return
		}
		c.effects = wirev2.EffectsReported
		status := wirev2.CallSucceeded
		if result.Code != "" {
			status = wirev2.CallFailed
		}
		k.settle(c, status, result)
		k.answer(a, wirev2.TurnApplicationToolResultReply{CallID: c.id, Status: wirev2.ToolResultAccepted}, nil)
	}, nil
}

func (k *core) checkResult(a *ask, q *wirev2.TurnApplicationToolResultRequest) (*appCall, worker.Result, *wirev2.Error) {
	foreign := &wirev2.Error{
		Code:    wirev2.CodeStaleConnection,
		Message: "this connection does not hold the call's executor at this generation; resume it and submit the same result again",
	}
	id := executorauth.ID(q.ExecutorID)
	if !k.executors.Attached(a.conn.executorConn(), id, q.ExecutorGeneration, k.now) {
		return nil, worker.Result{}, foreign
	}
	c := k.calls[q.CallID]
	// A call that was never dispatched has nothing to report: whoever names it has
	// guessed.
	if c == nil || c.turn.id != q.TurnID || c.turn.session != a.session || c.status != wirev2.CallPending {
		return nil, worker.Result{}, &wirev2.Error{
			Code:    wirev2.CodeUnknownTurn,
			Message: "no such call is open: it is unknown, or was settled before; evidence tells which",
		}
	}
	if c.executor() != id {
		return nil, worker.Result{}, foreign
	}
	echoed := appresources.Tuple{
		ResourceID:     appresources.ID(q.ResourceID),
		RevisionID:     appresources.ID(q.RevisionID),
		RevisionSHA256: q.RevisionSHA256,
	}
	if echoed != c.tuple {
		return nil, worker.Result{}, invalid("resource_id, revision_id and revision_sha256 must be those of the call; it stays open")
	}
	result := worker.Result{Effects: wirev2.EffectsReported}
	if q.Outcome.Status == wirev2.OutcomeError {
		if len(*q.Outcome.Message) > appresources.MaxErrorBytes {
			return nil, result, invalid(fmt.Sprintf("outcome.message must have at most %d bytes; the call stays open", appresources.MaxErrorBytes))
		}
		result.Code, result.Message = *q.Outcome.Code, *q.Outcome.Message
		return c, result, nil
	}
	value, err := c.contract.Output.AppendNormalized(nil, q.Outcome.Value)
	if err != nil {
		return nil, result, invalid("outcome.value does not fit the tool's output schema: " + err.Error() + "; the call stays open")
	}
	result.Value = value
	return c, result, nil
}
