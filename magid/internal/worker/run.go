package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// maxOwnBytes bounds what a turn adds to its own request by its calls and their
// results.
const maxOwnBytes = 8 << 20

// run is one turn under way. Only its own goroutine touches it.
type run struct {
	*Worker
	job      Job
	messages []provider.Message
	tools    []provider.Tool
	own      int // bytes this turn added to messages

	used      int    // encoded bytes of accepted text
	replies   int    // asked for so far
	replyText []byte // of the present reply, until its record is written

	system      string
	application map[string]*appresources.Tool
	contracts   map[appresources.Tuple]bool // whose record is written

	seen    map[string]struct{} // provider call ids of the turn
	calls   int                 // of the turn
	invalid int                 // of the turn
	open    []*call             // durable, without a durable result

	usage  *wirev2.Usage
	broken bool // the journal failed
}

// errOverflow is a text that does not fit the turn's budget.
var errOverflow = errors.New("the text passes the turn's budget")

// Run runs a turn to its end. The context cancels it; then the upstream request
// is cancelled, and every call has a durable result when Run returns.
func (w *Worker) Run(ctx context.Context, job Job) (out Outcome) {
	r := &run{
		Worker: w,
		job:    job,
		seen:   make(map[string]struct{}),
	}
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("a turn's worker panicked", "turn", job.Turn, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = r.abandon()
		}
	}()
	r.messages = append(r.messages, job.History.messages...)
	r.messages = append(r.messages, provider.Message{Role: provider.RoleUser, Text: job.Prompt})
	for _, tool := range w.catalog.Tools() {
		r.tools = append(r.tools, provider.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
	}
	r.lend(job.Application)
	return r.loop(ctx)
}

// loop asks for replies until one calls nothing.
func (r *run) loop(ctx context.Context) Outcome {
	for {
		switch {
		case ctx.Err() != nil:
			return r.end(ctx, nil)
		case r.replies == r.limits.MaxReplies:
			return r.end(ctx, failure(wirev2.TurnLimitExceeded,
				"the turn needs more than %d provider replies (max_provider_replies)", r.limits.MaxReplies))
		case r.own > maxOwnBytes:
			return r.end(ctx, failure(wirev2.TurnLimitExceeded,
				"the turn's own calls and results pass %d bytes", maxOwnBytes))
		}
		calls, failed := r.reply(ctx)
		if failed != nil || ctx.Err() != nil || len(calls) == 0 {
			return r.end(ctx, failed)
		}
		if failed := r.execute(ctx, calls); failed != nil || r.broken || ctx.Err() != nil {
			return r.end(ctx, failed)
		}
	}
}

// end makes the outcome of a turn. A cancelled context comes before a failure,
// because it is what made the provider or a tool fail; a broken journal comes
// before both.
func (r *run) end(ctx context.Context, failed *wirev2.TurnError) Outcome {
	out := Outcome{Failure: failed, Usage: r.usage}
	switch {
	case r.broken:
		out.Failure = journalFailed()
		return out
	case ctx.Err() != nil:
		out.Failure, out.Cancelled = nil, true
	}
	if len(r.replyText) > 0 || out.Failure == nil && !out.Cancelled {
		out.Tail = []wirev2.Record{&wirev2.AssistantRecord{
			TurnID: r.job.Turn, Text: string(r.replyText), ToolCalls: []wirev2.ID{},
		}}
	}
	return out
}

// abandon ends a turn whose worker panicked: what is durable gets its results.
func (r *run) abandon() Outcome {
	out := Outcome{
		Failure: failure(wirev2.TurnInternal, "the daemon failed while it ran the turn; the log says how"),
		Usage:   r.usage,
	}
	if r.job.Application != nil && r.job.Application.Host != nil {
		r.job.Application.Host.Cancel()
	}
	for _, c := range r.open {
		c.result = r.synthetic(c, wirev2.ToolCancelled, "the turn ended before the call did")
		if c.tool.application != nil {
			c.result.ExternalEffects = wirev2.EffectsUncertain // it may have been dispatched
		}
	}
	if r.broken || !r.settle(r.open) {
		out.Failure = journalFailed()
	}
	return out
}

// append makes records durable; false means that the journal failed and the turn
// has to end.
func (r *run) append(records ...wirev2.Record) bool {
	if r.broken {
		return false
	}
	if err := r.job.Journal.Append(records...); err != nil {
		r.broken = true
		r.log.Error("a journal could not be written", "turn", r.job.Turn, "error", err)
		return false
	}
	return true
}

// spend adds a reply's usage.
func (r *run) spend(u *provider.Usage) {
	if u == nil {
		return
	}
	if r.usage == nil {
		r.usage = &wirev2.Usage{}
	}
	r.usage.InputTokens = saturate(r.usage.InputTokens, u.InputTokens)
	r.usage.OutputTokens = saturate(r.usage.OutputTokens, u.OutputTokens)
}

// saturate adds counts that a provider made up freely.
func saturate(a, b int64) int64 {
	const most = 1<<53 - 1 // what every JSON reader can hold
	if b < 0 || a > math.MaxInt64-b {
		return min(a, most)
	}
	return min(a+b, most)
}

func failure(code wirev2.TurnCode, format string, args ...any) *wirev2.TurnError {
	return &wirev2.TurnError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func journalFailed() *wirev2.TurnError {
	return failure(wirev2.TurnJournalFailed, "the session's journal could not be written")
}
