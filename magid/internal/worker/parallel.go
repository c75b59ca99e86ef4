package worker

import (
	"context"

	"github.com/magi-jig/magi-jig/wirev2"
)

// settled is a call that came to its result.
type settled struct {
	call   *call
	result *wirev2.ToolResultRecord
	fatal  *wirev2.TurnError // why the turn cannot go on; nil where it can
}

// runAll runs durable calls side by side and makes their results durable as they
// come, those that came together in one step. When one of them ends the turn, or
// the turn is cancelled, the others are cut short; all have their result when it
// returns.
func (r *run) runAll(ctx context.Context, calls []*call) *wirev2.TurnError {
	ctx, cutShort := context.WithCancel(ctx)
	defer cutShort()
	results := make(chan settled, len(calls))
	begun := make(chan *call, len(calls))
	places := make(chan struct{}, maxParallel)
	foreign := false
	for _, c := range calls {
		if c.tool.application == nil {
			go r.runBuiltin(ctx, c, places, begun, results)
			continue
		}
		foreign = true
		r.need(c, results)
	}
	ended := ctx.Done()
	var failed *wirev2.TurnError
	for open := len(calls); open > 0; {
		var done []*call
		select {
		case <-ended:
			ended = nil
			if foreign {
				r.job.Application.Host.Cancel()
			}
			continue
		case c := <-begun:
			r.begun(c)
			continue
		case s := <-results:
			for _, s := range append(drain(results), s) {
				s.call.result = s.result
				done = append(done, s.call)
				if failed == nil && s.fatal != nil {
					failed = s.fatal
					cutShort()
				}
			}
		}
		open -= len(done)
		// A call that has a result has begun, or never will.
		for _, c := range drain(begun) {
			r.begun(c)
		}
		if !r.settle(done) {
			// The rest is waited for all the same: nothing may run on after its turn.
			cutShort()
		}
	}
	return failed
}

// drain takes what is there.
func drain[T any](from <-chan T) []T {
	var out []T
	for {
		select {
		case item := <-from:
			out = append(out, item)
		default:
			return out
		}
	}
}

// runBuiltin is the goroutine of one built-in call.
func (r *run) runBuiltin(ctx context.Context, c *call, places chan struct{}, begun chan<- *call, results chan<- settled) {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		results <- settled{call: c, result: r.cutShort(c)}
		return
	}
	begun <- c
	results <- settled{call: c, result: r.builtin(ctx, c)}
}

// begun reports that a built-in call runs. The goroutines of the calls do not
// report themselves, so that the Listener hears one goroutine only.
func (r *run) begun(c *call) {
	if !r.broken {
		r.job.Listener.Tool(c.id, c.name, wirev2.ToolStarted)
	}
}
