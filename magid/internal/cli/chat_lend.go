package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// maxLentCalls is how many calls a daemon has open at most.
const maxLentCalls = 32

// lender is the part of a chat that lends tools and skills to the model. It outlives connections: what must not be lost
// is the executor's proof, which calls were taken, and what came of them. A call is run once; what came of it is handed
// in until the daemon says that it has it, over as many connections as that takes.
//
// A lender is safe for concurrent use.
type lender struct {
	offers  []*offer // of the main loop
	command string
	arrived chan *lentCall // calls that nobody has decided on

	mu       sync.Mutex
	client   *client.Client              // guarded by mu; the connection there is now
	instance wirev2.ID                   // guarded by mu; the daemon that knows the executor
	proof    *wirev2.ExecutorCreateReply // guarded by mu; nil before the first attachment
	calls    map[wirev2.ID]*lentCall     // guarded by mu
	running  sync.WaitGroup              // commands
}

// lentCall is one call, from its event to the end of its turn.
type lentCall struct {
	wirev2.TurnApplicationToolCallEvent
	session wirev2.ID
	ctx     context.Context // ends when the call is no longer wanted
	cancel  context.CancelCauseFunc
	outcome *wirev2.Outcome // guarded by lender.mu; nil until it has been run or refused
}

// errUnwanted says why a command is ended.
var errUnwanted = errors.New("the call is no longer wanted")

func newLender(offers []*offer, command string) *lender {
	return &lender{
		offers: offers, command: command,
		arrived: make(chan *lentCall, maxLentCalls), calls: make(map[wirev2.ID]*lentCall),
	}
}

// attach makes this connection the executor's: a new one for a daemon that knows none, else the one there is, whose open
// calls get what came of them.
func (l *lender) attach(ctx context.Context, c *client.Client) error {
	if !slices.ContainsFunc(l.offers, func(o *offer) bool { return o.contract != nil }) {
		return nil
	}
	events := c.Subscribe(client.ForExecutor) // before the calls can come
	l.mu.Lock()
	proof := l.proof
	if l.instance != c.InstanceID() {
		// Another daemon: it knows neither the executor nor its calls.
		l.drop(func(*lentCall) bool { return true })
		proof = nil
	}
	l.mu.Unlock()
	if proof != nil {
		resumed, err := c.ResumeExecutor(ctx, "", wirev2.ExecutorResumeRequest{ExecutorID: proof.ExecutorID, ResumeSecret: proof.ResumeSecret})
		var rejected *wirev2.Error
		switch {
		case err == nil:
			l.attached(c, *proof, resumed.ExecutorGeneration)
			go l.listen(c, events)
			return l.handIn(ctx)
		case !errors.As(err, &rejected) || rejected.Code != wirev2.CodeExecutorRejected:
			return err
		}
		// It expired while there was no connection, and its calls with it.
	}
	made, err := c.CreateExecutor(ctx, "")
	if err != nil {
		return err
	}
	q := wirev2.ExecutorConfirmRequest{ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret}
	if _, err := c.ConfirmExecutor(ctx, "", q); err != nil {
		return err
	}
	l.attached(c, made, made.ExecutorGeneration)
	go l.listen(c, events)
	return nil
}

func (l *lender) attached(c *client.Client, proof wirev2.ExecutorCreateReply, generation int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	proof.ExecutorGeneration = generation
	l.client, l.instance, l.proof = c, c.InstanceID(), &proof
}

// listen takes in an executor's events until the connection ends.
func (l *lender) listen(c *client.Client, events *client.Subscription) {
	for {
		e, err := events.Next(context.Background())
		if err != nil {
			return
		}
		body, err := e.Decode()
		if err != nil {
			_ = c.Close() // a daemon that is not understood is not believed
			return
		}
		switch body := body.(type) {
		case *wirev2.TurnApplicationToolCallEvent:
			l.take(e.SessionID, *body)
		case *wirev2.TurnApplicationToolCancelEvent:
			l.mu.Lock()
			if call := l.calls[body.CallID]; call != nil {
				call.cancel(errUnwanted)
			}
			l.mu.Unlock()
		}
	}
}

// take keeps a call. One that is known already is never run again, whoever sent it twice.
func (l *lender) take(session wirev2.ID, event wirev2.TurnApplicationToolCallEvent) {
	call := &lentCall{TurnApplicationToolCallEvent: event, session: session}
	call.ctx, call.cancel = context.WithCancelCause(context.Background())
	l.mu.Lock()
	_, known := l.calls[event.CallID]
	if !known && len(l.calls) < maxLentCalls {
		l.calls[event.CallID] = call
	} else {
		known = true
	}
	l.mu.Unlock()
	if !known {
		l.arrived <- call // has room for as many calls as are kept
	}
}

// contract gives the contract of a call, which is that of the offer the turn was accepted with.
func (l *lender) contract(name string) *appresources.Contract {
	for _, o := range l.offers {
		if o.contract != nil && o.resource.Name == name {
			return o.contract
		}
	}
	return nil
}

// run runs a call's command in a goroutine, and hands in what came of it.
func (l *lender) run(call *lentCall) {
	l.running.Go(func() {
		outcome := refused(wirev2.ToolExecutionFailed, "there is no tool of this name here")
		if contract := l.contract(call.Name); contract != nil {
			outcome = execute(call.ctx, l.command, contract, call.session, call.TurnApplicationToolCallEvent)
		}
		l.settle(call, outcome)
	})
}

// settle keeps what came of a call and hands it in.
func (l *lender) settle(call *lentCall, outcome wirev2.Outcome) {
	l.mu.Lock()
	call.outcome = &outcome
	l.mu.Unlock()
	l.submit(context.Background(), call)
}

// submit hands in what came of a call. Where there is no answer, or the connection has lost the executor meanwhile, it
// is handed in again after the next attachment: the same outcome, and never a second run.
func (l *lender) submit(ctx context.Context, call *lentCall) {
	l.mu.Lock()
	c, proof, outcome := l.client, l.proof, call.outcome
	l.mu.Unlock()
	if c == nil || proof == nil || outcome == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.SubmitResult(ctx, "", call.session, wirev2.TurnApplicationToolResultRequest{
		TurnID: call.TurnID, CallID: call.CallID, ExecutorID: proof.ExecutorID, ExecutorGeneration: proof.ExecutorGeneration,
		ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256, Outcome: *outcome,
	})
	var answer *wirev2.Error
	if errors.As(err, &answer) && answer.Code == wirev2.CodeInvalidPayload && outcome.Status == wirev2.OutcomeSuccess {
		l.settle(call, refused(wirev2.ToolExecutionFailed, "the daemon did not take what the command printed: "+answer.Message))
	}
}

// handIn hands in everything that has come of calls so far. What the daemon has already, it says, and that is well.
func (l *lender) handIn(ctx context.Context) error {
	l.mu.Lock()
	var open []*lentCall
	for _, call := range l.calls {
		if call.outcome != nil {
			open = append(open, call)
		}
	}
	l.mu.Unlock()
	for _, call := range open {
		l.submit(ctx, call)
	}
	return ctx.Err()
}

// forget lets go of the calls of a turn that is over.
func (l *lender) forget(turn wirev2.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(func(call *lentCall) bool { return call.TurnID == turn })
}

// drop ends calls. The caller holds mu.
func (l *lender) drop(which func(*lentCall) bool) {
	for id, call := range l.calls {
		if which(call) {
			call.cancel(errUnwanted)
			delete(l.calls, id)
		}
	}
}

// selection sees to it that the session's registry holds the offers, and selects them all.
func (l *lender) selection(ctx context.Context, session *client.Session) (*wirev2.Application, error) {
	listed, err := session.ListResources(ctx)
	if err != nil {
		return nil, err
	}
	selected := &wirev2.Application{ExpectedRegistryRevision: listed.RegistryRevision, ToolAuthorizations: []wirev2.Authorization{}}
	entries := make(map[string]wirev2.Descriptor)
	for _, e := range listed.Entries {
		entries[e.Name] = e
	}
	if err := l.foreign(listed.Entries); err != nil {
		return nil, err
	}
	for _, o := range l.offers {
		e, there := entries[o.resource.Name]
		if !there || e.RevisionID != o.revision {
			q := wirev2.SessionResourcesRegisterRequest{Resource: o.resource}
			if there {
				q.ExpectedRevision = &e.RevisionID
			}
			reply, err := session.RegisterResource(ctx, "", q)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.file, err)
			}
			e, o.revision, selected.ExpectedRegistryRevision = reply.Entry, reply.Entry.RevisionID, reply.RegistryRevision
		}
		if e.Kind == wirev2.KindTool {
			selected.ToolAuthorizations = append(selected.ToolAuthorizations, wirev2.Authorization{
				ResourceID: e.ResourceID, RevisionID: e.RevisionID, RevisionSHA256: e.RevisionSHA256,
			})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proof != nil {
		proof := *l.proof
		selected.ExecutorID, selected.ExecutorGeneration = &proof.ExecutorID, &proof.ExecutorGeneration
	}
	return selected, nil
}

// foreign refuses to select what another application has registered: its tools are not ours to run.
func (l *lender) foreign(entries []wirev2.Descriptor) error {
	var names []string
	for _, e := range entries {
		if !slices.ContainsFunc(l.offers, func(o *offer) bool { return o.resource.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the session has resources of another application (%s), for which this chat cannot speak", strings.Join(names, ", "))
}

// leave takes back what this chat has registered, so that the session is anybody's again, and ends what runs.
func (l *lender) leave(ctx context.Context, session *client.Session) {
	l.mu.Lock()
	l.drop(func(*lentCall) bool { return true })
	c, proof := l.client, l.proof
	l.mu.Unlock()
	l.running.Wait()
	if session != nil {
		// Whatever fails here ends by itself: the registry when it has been idle, the executor with the connection.
		listed, err := session.ListResources(ctx)
		for _, e := range listed.Entries {
			if err == nil && slices.ContainsFunc(l.offers, func(o *offer) bool { return o.revision == e.RevisionID }) {
				_, err = session.UnregisterResource(ctx, "", wirev2.SessionResourcesUnregisterRequest{
					ResourceID: e.ResourceID, ExpectedRevision: e.RevisionID,
				})
			}
		}
	}
	if c != nil && proof != nil {
		_, _ = c.ReleaseExecutor(ctx, "", wirev2.ExecutorReleaseRequest{ExecutorID: proof.ExecutorID, ExecutorGeneration: proof.ExecutorGeneration})
	}
}
