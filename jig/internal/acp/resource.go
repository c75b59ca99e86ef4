package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// Options says what a Resource works with.
type Options struct {
	Starter Starter // required
	// Prepare opens the admitted client of a grant again. Its error says what
	// keeps it from being started, in the words for an operator. Required.
	Prepare func(ctx context.Context, g *tree.Grant) (*client.Prepared, error)
	// Sessions keeps sessions; nil: none are retained.
	Sessions SessionKeeper
	Project  string      // the project's identity, for the scope of a session
	Watch    func(Event) // gets what a person may want to see; optional
	Limits   Limits
}

// Resource performs calls of acp grants. It is safe for concurrent use.
type Resource struct {
	o         Options
	agreement *contract.Invocation
}

var (
	_ tree.Resource = (*Resource)(nil)
	_ tree.Admitter = (*Resource)(nil)
)

// New returns a resource.
func New(o Options) (*Resource, error) {
	if o.Starter == nil || o.Prepare == nil {
		return nil, errors.New("acp: a resource needs a starter and the clients")
	}
	var err error
	if o.Limits, err = o.Limits.withDefaults(); err != nil {
		return nil, err
	}
	bundle, err := contract.Bundle(contract.FiniteACP)
	if err != nil {
		return nil, err
	}
	// The descriptor does not say how the channels are delivered, and its identity
	// is fixed; both are needed and direct all the same (seed: One invocation).
	agreement := *bundle
	agreement.Ports = map[string]contract.Port{}
	for name, port := range bundle.Ports {
		port.Delivery, port.Required = contract.Direct, true
		agreement.Ports[name] = port
	}
	return &Resource{o, &agreement}, nil
}

// Contract is the finite ACP contract.
func (r *Resource) Contract() *contract.Invocation { return r.agreement }

// Native is true: a call holds a native scope.
func (*Resource) Native() bool { return true }

// Admit refuses a call that could not begin, before a channel changes hands.
func (r *Resource) Admit(c tree.ResourceCall) *fault.Error {
	_, err := r.read(c)
	return err
}

// Call carries one conversation.
func (r *Resource) Call(ctx context.Context, c tree.ResourceCall) (jsontext.Value, *fault.Error) {
	o, failure := r.read(c)
	if failure != nil {
		return nil, failure
	}
	if c.Receivers["requests"] == nil || c.Senders["responses"] == nil {
		return nil, fault.New(fault.Unavailable, "the conversation has no channels")
	}
	w := &watch{tell: r.o.Watch, label: c.Label, of: o.MaxTurns}
	defer w.end()
	ctx, stop := context.WithDeadline(ctx, c.Deadline)
	defer stop()
	a := &call{r: r, c: c, o: o, ctx: ctx, watch: w}
	defer context.AfterFunc(ctx, func() { a.stopped() })() // at that moment, whoever looks then
	result, failure := a.perform()
	if failure != nil {
		a.unfinished(failure.Code)
		// The Flow has to learn of the end from the channel too, whoever waits there.
		c.Senders["responses"].Fail(fault.New(fault.Disconnected, "the native conversation has ended"))
		c.Receivers["requests"].Release()
	}
	return result, failure
}

// call is one call under way.
type call struct {
	r     *Resource
	c     tree.ResourceCall
	o     order
	ctx   context.Context
	watch *watch

	once  sync.Once
	cause *fault.Error // why ctx ended; written by once

	plan       *client.Plan
	credential *client.Credential
	snapshot   *Snapshot
	scopeID    string // of the session
}

// stopped is the failure of a call that nobody waits for any more, or nil. What came
// first decides, and time that passes until everything has ended changes nothing.
// The deadline cancels the caller too: a cancellation from then on is the deadline's.
func (a *call) stopped() *fault.Error {
	if a.ctx.Err() == nil {
		return nil
	}
	a.once.Do(func() {
		if errors.Is(a.ctx.Err(), context.DeadlineExceeded) || !time.Now().Before(a.c.Deadline) {
			a.cause = fault.New(fault.DeadlineExceeded, "the deadline has passed")
			return
		}
		a.cause = fault.New(fault.Cancelled, "the native conversation was cancelled")
	})
	return a.cause
}

// unfinished tells the operator what a call was about when it was stopped from
// outside, and what became of it: its failure is answered to a Flow that may be gone.
func (a *call) unfinished(code fault.Code) {
	when := "when its call ended: it was cancelled, or the Flow did not wait for it"
	switch code {
	case fault.Cancelled:
	case fault.DeadlineExceeded:
		when = "at the deadline"
	default:
		return
	}
	what, turn, of := a.watch.last()
	switch what {
	case "":
		return // nothing had begun
	case preparing:
		a.watch.note("the native client was being prepared " + when + "; it was not started")
		return
	}
	if turn > 0 {
		what += fmt.Sprintf(", turn %d of %d", turn, of)
	}
	a.watch.note("the native conversation was still open (" + what + ") " + when + "; jig killed the client and everything in its scope, and what it had done by then is not known")
}

// preparing is the phase before a client is started.
const preparing = "preparing"

// perform does everything that is needed before the dispatch, and then the
// dispatch.
func (a *call) perform() (jsontext.Value, *fault.Error) {
	if f := a.stopped(); f != nil {
		return nil, f
	}
	a.watch.phase(preparing, 0)
	prepared, err := a.r.o.Prepare(a.ctx, a.c.Grant)
	if f := a.stopped(); f != nil {
		return nil, f
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, unprepared(err))
	}
	a.plan, a.credential = prepared.Plan, prepared.Credential
	if a.credential != nil {
		defer a.credential.Zero()
	}
	for _, warning := range prepared.Warnings {
		a.watch.event(Event{Diagnostic: warning})
	}
	if f := a.claim(); f != nil {
		return nil, f
	}
	c, err := a.conversation()
	if err != nil {
		return nil, fault.New(fault.ExecutionFailed, "the native conversation could not be prepared")
	}
	defer clear(c.launch)
	if f := a.stopped(); f != nil {
		return nil, f
	}
	a.watch.phase("starting", 0)
	scope, err := a.r.o.Starter.StartNative(a.ctx, a.plan)
	if err != nil {
		if errors.Is(err, ErrUnproved) {
			a.c.Left(true)
			return nil, uncertain(sayAlive)
		}
		if f := a.stopped(); f != nil {
			return nil, f
		}
		a.watch.note("the scope of the client could not be started: " + err.Error())
		return nil, uncertain(sayStart)
	}
	c.scope = scope
	return a.settle(c)
}

// unprepared says to a person what keeps a client from being started.
func unprepared(err error) string {
	var changed *client.ChangedError
	var refused *project.Refusal
	switch {
	case errors.As(err, &changed):
		return changed.Error()
	case errors.As(err, &refused):
		return refused.Error()
	}
	return "the admitted client cannot be opened"
}

// claim takes what a call wants to go on with. It is final: nothing gives it back.
func (a *call) claim() *fault.Error {
	if !a.o.session {
		return nil
	}
	var err error
	if a.scopeID, err = project.SessionScope(a.r.o.Project, a.c.Lineage, a.c.Slot, a.c.Grant.Provider); err != nil {
		return fault.New(fault.ExecutionFailed, "the scope of the session cannot be computed")
	}
	if a.o.restore == "" {
		return nil
	}
	a.snapshot, err = a.r.o.Sessions.Claim(a.ctx, a.scopeID, a.o.restore)
	if f := a.stopped(); f != nil {
		return f
	}
	switch {
	case errors.Is(err, ErrNoSession):
		return fault.New(fault.Unavailable, sayNone)
	case err != nil:
		return fault.New(fault.ExecutionFailed, "the stored sessions cannot be used")
	}
	a.o.tied = a.snapshot.Tied
	return nil
}

// conversation makes what the dispatch needs: the machine, the ready record and
// the launch frame, from one and the same reviewed configuration.
func (a *call) conversation() (*conversation, error) {
	reviewed := acpprofile.Config{Client: a.plan.Client, Configuration: a.plan.Configuration, ModeID: a.plan.ModeID, MaxTurns: a.o.MaxTurns}
	frame := launch.Frame{Client: a.plan.Client, Native: a.plan.Native, Argv: a.plan.Argv, Env: a.plan.Env, Retain: a.o.session}
	if a.credential != nil {
		frame.Credential = a.credential.JSON()
	}
	if s := a.snapshot; s != nil {
		reviewed.RestoreSessionID = s.NativeID
		frame.Session = &launch.Session{Path: s.Path, Content: s.Content}
	}
	ready := acpframing.Ready{MaxTurns: a.o.MaxTurns, ModeID: reviewed.ModeID, RestoreSessionID: reviewed.RestoreSessionID}
	for _, s := range reviewed.Configuration {
		setting := acpframing.Setting{ConfigID: s.ID, Value: s.Value, Boolean: s.Boolean != nil}
		if s.Boolean != nil {
			setting.Value, setting.On = "", *s.Boolean
		}
		ready.Configuration = append(ready.Configuration, setting)
	}
	c := &conversation{
		l: a.r.o.Limits, initial: a.r.o.Limits.Initialize, watch: a.watch,
		requests: a.c.Receivers["requests"], responses: a.c.Senders["responses"],
	}
	if a.plan.Login {
		c.initial += a.r.o.Limits.Login
	}
	var err error
	if c.m, err = acpprofile.New(reviewed); err != nil {
		return nil, err
	}
	if c.ready, err = ready.Append(nil); err != nil {
		return nil, err
	}
	c.launch, err = frame.Encode()
	if a.snapshot != nil {
		clear(a.snapshot.Content)
	}
	return c, err
}
