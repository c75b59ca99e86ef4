package acp

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// settle carries the conversation to its end, proves that nothing is alive, and
// says what was observed. The order of its steps is that of finite-acp 6c.
func (a *call) settle(c *conversation) (jsontext.Value, *fault.Error) {
	failure := a.judge(c, c.run(a.ctx))
	exit, fenced := c.scope.Fence()
	c.scope.Input().Close() // frees a writer whom nobody reads any more
	c.wait()
	e := c.scope.Evidence()
	a.watch.categories(e.Categories, c.refused, a.plan.Client)
	switch {
	case fenced != nil:
	case exit.Limit != "":
		// What the conversation looked like when its client was killed explains
		// nothing.
		a.watch.note("the scope of the client was ended for its " + exit.Limit)
		failure = uncertain(sayLimit)
	case failure == nil && !e.Seen:
		failure = uncertain(sayEnd)
	}
	if exit.Broken != "" {
		a.watch.note(exit.Broken)
	}
	var session *receipt
	var collected *Collected
	if failure == nil && fenced == nil && a.o.session {
		session, collected, failure = a.collect(c, exit, e)
	}
	put := c.scope.Close()
	switch {
	case fenced != nil || errors.Is(put, ErrUnproved):
		a.c.Left(true)
		return nil, uncertain(sayAlive)
	case put != nil:
		a.c.Left(false)
		return nil, fault.New(fault.ExecutionFailed, sayTidy)
	}
	if f := a.stopped(); f != nil {
		return nil, f
	}
	if failure != nil {
		return nil, failure
	}
	if collected != nil {
		if session, failure = a.save(collected); failure != nil {
			return nil, failure
		}
	}
	return result(e, session)
}

// judge turns the end of a conversation into a failure, or nil. What stopped it
// from outside is asked for where the call ends, because it comes before.
func (a *call) judge(c *conversation, err error) *fault.Error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if f := a.stopped(); f != nil {
			return f
		}
	}
	if text := note(err); text != "" {
		a.watch.advise(text, hint(err))
	}
	return explain(err)
}

// receipt is what became of a session.
type receipt struct {
	Status    string `json:"status"`
	Reference string `json:"reference,omitzero"`
	Reason    string `json:"reason,omitzero"`
}

func unavailable(reason string) *receipt { return &receipt{Status: "unavailable", Reason: reason} }

// collect reads what the client left, where it ended cleanly by itself. Anything
// else leaves nothing that could be trusted.
func (a *call) collect(c *conversation, exit Exit, e Evidence) (*receipt, *Collected, *fault.Error) {
	id := c.m.Session()
	clean := !e.Terminated && e.Code != nil && *e.Code == 0 && e.Signal == nil && exit.Code == 0 && exit.Limit == "" && !c.told
	if !clean || id == "" {
		return unavailable(ReasonNotClean), nil, nil
	}
	if a.ctx.Err() != nil {
		return nil, nil, a.stopped()
	}
	if e.Sessions == nil {
		return nil, nil, uncertain(sayStore)
	}
	var secrets []string
	if a.credential != nil {
		secrets = a.credential.Values()
	}
	collected, reason, err := a.r.o.Sessions.Collect(a.ctx, e.Sessions, id, secrets)
	switch {
	case err != nil:
		return nil, nil, uncertain(sayStore)
	case reason != "":
		return unavailable(reason), nil, nil
	}
	return nil, collected, nil
}

// save keeps what was collected. An end from outside that comes while it is kept
// fails the call all the same: the reference is shown to nobody.
func (a *call) save(collected *Collected) (*receipt, *fault.Error) {
	reference, reason, err := a.r.o.Sessions.Save(a.ctx, a.scopeID, collected, a.o.tied)
	if f := a.stopped(); f != nil {
		return nil, f
	}
	switch {
	case err != nil:
		return nil, uncertain(sayStore)
	case reason != "":
		return unavailable(reason), nil
	}
	return &receipt{Status: "retained", Reference: reference}, nil
}

// result is what a call gives: what was observed of the process.
func result(e Evidence, session *receipt) (jsontext.Value, *fault.Error) {
	type output struct {
		StopReason string   `json:"stopReason"`
		ExitCode   *int     `json:"exitCode"`
		Signal     *string  `json:"signal"`
		Cleanup    string   `json:"cleanup"`
		Session    *receipt `json:"session,omitzero"`
	}
	out := output{StopReason: "exited", ExitCode: e.Code, Signal: e.Signal, Cleanup: "complete", Session: session}
	if e.Terminated {
		out.StopReason = "closed"
	}
	b, err := json0.Marshal(map[string]any{"outcome": "done", "output": out})
	if err != nil {
		return nil, uncertain(sayBroke)
	}
	return b, nil
}
