package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	maxParallel    = 4
	builtinTimeout = time.Minute
	builtinGrace   = time.Second
)

// builtin runs one built-in tool, for its time and no longer.
func (r *run) builtin(ctx context.Context, c *call) *wirev2.ToolResultRecord {
	limited, cancel := context.WithTimeout(ctx, builtinTimeout)
	defer cancel()
	done := make(chan *wirev2.ToolResultRecord, 1)
	go func() { done <- r.callCatalog(limited, c) }()
	select {
	case result := <-done:
		return result
	case <-limited.Done():
	}
	// A tool that waits for the file system cannot be interrupted: it is left
	// behind, and what it still brings is thrown away.
	grace := time.NewTimer(builtinGrace)
	defer grace.Stop()
	select {
	case result := <-done:
		return result
	case <-grace.C:
	}
	if ctx.Err() != nil {
		return r.cutShort(c)
	}
	return r.synthetic(c, wirev2.ToolExecutionFailed, fmt.Sprintf("the tool took more than %v", builtinTimeout))
}

// callCatalog runs the tool itself; a panic in it is a tool error.
func (r *run) callCatalog(ctx context.Context, c *call) (result *wirev2.ToolResultRecord) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a built-in tool panicked", "tool", c.name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = r.synthetic(c, wirev2.ToolExecutionFailed, "the tool failed; the daemon's log says how")
		}
	}()
	value, refusal := r.catalog.Run(ctx, r.job.Workspace, c.name, c.arguments)
	switch {
	case refusal != nil && refusal.Code == catalog.CodeCancelled:
		return r.cutShort(c)
	case refusal != nil:
		return r.refusal(c, wirev2.ToolCode(refusal.Code), refusal.Message)
	case len(value) > maxValueBytes || !jsontext.Value(value).IsValid():
		return r.refusal(c, wirev2.ToolExecutionFailed, "the tool's result is unusable")
	}
	return &wirev2.ToolResultRecord{
		TurnID:          r.job.Turn,
		CallID:          c.id,
		Status:          wirev2.OutcomeSuccess,
		Value:           value,
		ExternalEffects: wirev2.EffectsReported,
	}
}

// cutShort is the result of a call that the turn's end overtook.
func (r *run) cutShort(c *call) *wirev2.ToolResultRecord {
	return r.synthetic(c, wirev2.ToolCancelled, "the turn ended before the call did")
}

// refusal is a tool's own error.
func (r *run) refusal(c *call, code wirev2.ToolCode, message string) *wirev2.ToolResultRecord {
	return &wirev2.ToolResultRecord{
		TurnID:          r.job.Turn,
		CallID:          c.id,
		Status:          wirev2.OutcomeError,
		Code:            &code,
		Message:         &message,
		ExternalEffects: wirev2.EffectsReported,
	}
}
