package client

import (
	"context"

	"github.com/magi-jig/magi-jig/wirev2"
)

// An executor lives longer than a connection, so its state is the caller's: these helpers only send and check.

func executorCall(m wirev2.Method, op wirev2.ID) *Call { return &Call{Method: m, OperationID: op} }

// CreateExecutor makes a provisional executor. The reply is the only place that ever discloses its secret.
func (c *Client) CreateExecutor(ctx context.Context, op wirev2.ID) (wirev2.ExecutorCreateReply, error) {
	return Do[wirev2.ExecutorCreateReply](ctx, c, executorCall(wirev2.MethodExecutorCreate, op), nil)
}

// ConfirmExecutor confirms it, on the connection that created it and within 60 s.
func (c *Client) ConfirmExecutor(ctx context.Context, op wirev2.ID, q wirev2.ExecutorConfirmRequest) (wirev2.ExecutorConfirmReply, error) {
	return Do[wirev2.ExecutorConfirmReply](ctx, c, executorCall(wirev2.MethodExecutorConfirm, op), q)
}

// ResumeExecutor attaches the executor to this connection under the next generation and tells which calls are unsettled.
// Subscribe with ForExecutor first: call events may follow the reply at once.
func (c *Client) ResumeExecutor(ctx context.Context, op wirev2.ID, q wirev2.ExecutorResumeRequest) (wirev2.ExecutorResumeReply, error) {
	return Do[wirev2.ExecutorResumeReply](ctx, c, executorCall(wirev2.MethodExecutorResume, op), q)
}

// RotateExecutor asks for a candidate secret. Keep the old one until the candidate is confirmed.
func (c *Client) RotateExecutor(ctx context.Context, op wirev2.ID, q wirev2.ExecutorRotateRequest) (wirev2.ExecutorRotateReply, error) {
	return Do[wirev2.ExecutorRotateReply](ctx, c, executorCall(wirev2.MethodExecutorRotate, op), q)
}

// ConfirmRotation makes the candidate the secret.
func (c *Client) ConfirmRotation(ctx context.Context, op wirev2.ID, q wirev2.ExecutorRotateConfirmRequest) (wirev2.ExecutorRotateConfirmReply, error) {
	return Do[wirev2.ExecutorRotateConfirmReply](ctx, c, executorCall(wirev2.MethodExecutorRotateConfirm, op), q)
}

// ReleaseExecutor ends the executor.
func (c *Client) ReleaseExecutor(ctx context.Context, op wirev2.ID, q wirev2.ExecutorReleaseRequest) (wirev2.ExecutorReleaseReply, error) {
	return Do[wirev2.ExecutorReleaseReply](ctx, c, executorCall(wirev2.MethodExecutorRelease, op), q)
}

// SubmitResult hands in the outcome of a call in the given session. When the answer is lost, keep the outcome, resume and
// submit the same again with a new operation ID and the current generation; never run the tool again.
func (c *Client) SubmitResult(ctx context.Context, op, session wirev2.ID, q wirev2.TurnApplicationToolResultRequest) (wirev2.TurnApplicationToolResultReply, error) {
	return Do[wirev2.TurnApplicationToolResultReply](ctx, c,
		&Call{Method: wirev2.MethodTurnApplicationToolResult, SessionID: session, OperationID: op}, q)
}
