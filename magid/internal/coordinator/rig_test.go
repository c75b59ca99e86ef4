package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// rig is a coordinator with a real store, a provider that does what a test says
// and peers that hear everything. It lives in a synctest bubble.
type rig struct {
	t         testing.TB
	state     string
	workspace string
	store     *journal.Store
	model     *model
	c         *Coordinator

	mu   sync.Mutex
	fail func(journal.Step) error // guarded by mu; makes durable steps fail, or wait
}

// inBubble runs a test with a rig in a bubble of virtual time.
func inBubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, t.TempDir())
		test(t, r)
		r.close()
	})
}

func newRig(t testing.TB, state string) *rig {
	t.Helper()
	r := &rig{t: t, state: state, workspace: t.TempDir(), model: &model{}}
	store, err := journal.OpenHooked(state, func(s journal.Step) error {
		r.mu.Lock()
		fail := r.fail
		r.mu.Unlock()
		if fail == nil {
			return nil
		}
		return fail(s)
	})
	require.NoError(t, err)
	r.store = store
	r.start(r.model)
	return r
}

func (r *rig) start(p provider.Provider) {
	r.t.Helper()
	c, err := New(Options{
		Instance: wirev2.NewID(), Version: "test", Store: r.store, Catalog: catalog.New(catalog.Config{}), Provider: p,
		Limits: worker.Limits{},
	})
	require.NoError(r.t, err)
	if _, bench := r.t.(*testing.B); !bench {
		c.core.verify = verify
	}
	r.c = c
}

// close ends the daemon and looks that nothing of it stays.
func (r *rig) close() {
	r.t.Helper()
	r.failJournal(nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(r.t, r.c.Shutdown(ctx))
	require.Empty(r.t, r.c.cancels)
	require.NoError(r.t, r.store.Close())
}

func (r *rig) failJournal(fail func(journal.Step) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = fail
}

// failWrites makes every write from now on fail.
func (r *rig) failWrites() {
	r.failJournal(func(s journal.Step) error {
		if s == journal.StepWrite || s == journal.StepTruncate {
			return errors.New("no space left on device")
		}
		return nil
	})
}

// peer is one connection and all that was sent to it.
type peer struct {
	r    *rig
	conn *Conn
	id   wirev2.ID

	mu        sync.Mutex
	responses map[string]wirev2.Response
	log       []string // what came, in order
	events    []wirev2.Event
	full      bool // takes no event
	ended     string
	n         int
}

func (r *rig) connect(selected bool) *peer {
	p := &peer{r: r, id: wirev2.NewID(), responses: make(map[string]wirev2.Response)}
	p.conn = r.c.Connect(p.id, selected, p)
	return p
}

func (p *peer) Respond(response wirev2.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, twice := p.responses[response.RequestID]; twice {
		panic("a request was answered twice: " + response.RequestID)
	}
	p.responses[response.RequestID] = encoded(response)
	p.log = append(p.log, "response "+response.RequestID)
}

func (p *peer) Event(event wirev2.Event, grant *Grant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full {
		return false
	}
	if grant != nil {
		event.LiveSequence = grant.Next()
	}
	p.events = append(p.events, event)
	p.log = append(p.log, strings.TrimPrefix(string(event.Event), "turn."))
	return true
}

func (p *peer) Text(event wirev2.Event, grant *Grant, turn wirev2.ID, text string) bool {
	raw, err := wirev2.EncodePayload(wirev2.TurnTextEvent{TurnID: turn, Text: text})
	if err != nil {
		panic(err)
	}
	event.Payload = raw
	return p.Event(event, grant)
}

func (p *peer) Flush() {}

func (p *peer) Disconnect(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = reason
}

func (p *peer) leave() { p.r.c.Disconnect(p.conn) }

// request is a request as a test writes it; a mutation gets a fresh operation.
type request struct {
	method    wirev2.Method
	session   wirev2.ID
	token     wirev2.Secret
	operation wirev2.ID
	deadline  time.Duration
	payload   any
}

// send hands a request on and gives its id.
func (p *peer) send(q request) string {
	p.mu.Lock()
	p.n++
	id := fmt.Sprintf("r%d", p.n)
	p.mu.Unlock()
	info, _ := q.method.Lookup()
	if info.Operation == wirev2.Required && q.operation == "" {
		q.operation = wirev2.NewID()
	}
	if q.payload == nil {
		q.payload = struct{}{}
	}
	payload, ok := q.payload.(string)
	if !ok {
		raw, err := wirev2.EncodePayload(q.payload)
		if err != nil {
			panic(err)
		}
		payload = string(raw)
	}
	deadline := int64(30000)
	if q.deadline != 0 {
		deadline = int64(q.deadline / time.Millisecond)
	}
	p.r.c.Handle(p.conn, wirev2.Request{
		RequestID: id, Method: q.method, SessionID: q.session, ControlToken: q.token,
		OperationID: q.operation, DeadlineMS: deadline, Payload: jsontext.Value(payload),
	})
	return id
}

// call sends a request and gives its answer, which must have come when all is
// quiet.
func (p *peer) call(q request) wirev2.Response {
	p.r.t.Helper()
	id := p.send(q)
	synctest.Wait()
	response, ok := p.answered(id)
	require.True(p.r.t, ok, "%s was not answered", q.method)
	return response
}

func (p *peer) answered(id string) (wirev2.Response, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	response, ok := p.responses[id]
	return response, ok
}

// refused calls and expects an error.
func (p *peer) refused(q request, code wirev2.Code) *wirev2.Error {
	p.r.t.Helper()
	response := p.call(q)
	require.NotNil(p.r.t, response.Error, "%s was answered %s", q.method, response.Payload)
	require.Equal(p.r.t, code, response.Error.Code, response.Error.Message)
	require.NotContains(p.r.t, response.Error.Message, "\n")
	require.Nil(p.r.t, response.Payload)
	return response.Error
}

// ok calls, expects a reply and decodes it.
func (p *peer) ok(q request, reply any) wirev2.Response {
	p.r.t.Helper()
	response := p.call(q)
	p.r.decode(response, reply)
	return response
}

func (r *rig) decode(response wirev2.Response, reply any) {
	r.t.Helper()
	require.Nil(r.t, response.Error)
	require.NoError(r.t, wirev2.DecodePayload(response.Payload, reply))
}

// named gives the payloads of the events of one name.
func named[T any](p *peer, name wirev2.EventName) []T {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []T
	for _, event := range p.events {
		if event.Event == name {
			var payload T
			require.NoError(p.r.t, wirev2.DecodePayload(event.Payload, &payload))
			out = append(out, payload)
		}
	}
	return out
}

func (p *peer) logged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// texts joins the turn.text events of a peer.
func (p *peer) texts() string {
	var b strings.Builder
	for _, e := range named[wirev2.TurnTextEvent](p, wirev2.EventTurnText) {
		b.WriteString(e.Text)
	}
	return b.String()
}

// held is a session that a peer controls.
type held struct {
	*peer
	session    wirev2.ID
	token      wirev2.Secret
	generation int64
	snapshot   wirev2.Snapshot
}

func (p *peer) create() wirev2.ID {
	p.r.t.Helper()
	var reply wirev2.SessionCreateReply
	p.ok(request{method: wirev2.MethodSessionCreate, payload: wirev2.SessionCreateRequest{Workspace: p.r.workspace}}, &reply)
	return reply.SessionID
}

func (p *peer) claim(session wirev2.ID, takeover bool) *held {
	p.r.t.Helper()
	var reply wirev2.SessionClaimReply
	response := p.ok(request{
		method: wirev2.MethodSessionClaim, session: session, payload: wirev2.SessionClaimRequest{Takeover: takeover},
	}, &reply)
	require.Equal(p.r.t, reply.GrantGeneration, response.GrantGeneration)
	return &held{p, session, reply.ControlToken, reply.GrantGeneration, reply.Snapshot}
}

// open connects, creates and claims.
func (r *rig) open(selected bool) *held {
	r.t.Helper()
	p := r.connect(selected)
	return p.claim(p.create(), false)
}

// with is a request on the held session.
func (h *held) with(method wirev2.Method, payload any) request {
	return request{method: method, session: h.session, token: h.token, payload: payload}
}

func (h *held) view() wirev2.Snapshot {
	h.r.t.Helper()
	var reply wirev2.SessionSnapshotReply
	h.ok(h.with(wirev2.MethodSessionSnapshot, nil), &reply)
	return reply.Snapshot
}

// begin sends turn.start without waiting for its answer.
func (h *held) begin(prompt string) string {
	return h.send(h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: prompt}))
}

// turn starts a turn and gives its id.
func (h *held) turn(prompt string) wirev2.ID {
	h.r.t.Helper()
	var reply wirev2.TurnStartReply
	h.ok(h.with(wirev2.MethodTurnStart, wirev2.TurnStartRequest{Prompt: prompt}), &reply)
	return reply.TurnID
}

func (h *held) stop(turn wirev2.ID) wirev2.StopStatus {
	h.r.t.Helper()
	var reply wirev2.TurnStopReply
	h.ok(h.with(wirev2.MethodTurnStop, wirev2.TurnStopRequest{TurnID: turn}), &reply)
	require.Equal(h.r.t, turn, reply.TurnID)
	return reply.Status
}

// lookup looks an operation of the held session up.
func (h *held) lookup(operation wirev2.ID) wirev2.OperationLookupReply {
	h.r.t.Helper()
	var reply wirev2.OperationLookupReply
	h.ok(h.with(wirev2.MethodOperationLookup, wirev2.OperationLookupRequest{OperationID: operation}), &reply)
	return reply
}

// records gives the types of the session's durable records.
func (r *rig) records(session wirev2.ID) []string {
	r.t.Helper()
	var out []string
	for record, err := range r.store.Entries(session) {
		require.NoError(r.t, err)
		out = append(out, string(record.RecordType()))
	}
	return out
}

// model is a provider that a test plays: each request takes the next step, and
// without one it waits for the test to say and end.
type model struct {
	mu       sync.Mutex
	steps    []modelStep
	forever  modelStep // when there are no steps
	requests []provider.Request
	open     int
}

type modelStep func(ctx context.Context, text func(string) error) (provider.Reply, error)

func (m *model) Stream(ctx context.Context, q provider.Request, text func(string) error) (provider.Reply, error) {
	checkPairs(q.Messages)
	m.mu.Lock()
	m.requests = append(m.requests, q)
	m.open++
	var next modelStep
	switch {
	case len(m.steps) > 0:
		next, m.steps = m.steps[0], m.steps[1:]
	case m.forever != nil:
		next = m.forever
		m.requests = nil // a benchmark asks often
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.open--
		m.mu.Unlock()
	}()
	if next == nil {
		<-ctx.Done()
		return provider.Reply{}, context.Cause(ctx)
	}
	return next(ctx, text)
}

// checkPairs is what every provider asks of a request: each call is followed by
// its result, and there is no other result.
func checkPairs(messages []provider.Message) {
	var open []string
	for _, m := range messages {
		if m.Role == provider.RoleTool {
			must(len(open) > 0 && open[0] == m.CallID, "a request with a result in the wrong place")
			open = open[1:]
			continue
		}
		must(len(open) == 0, "a request with a call without its result")
		for _, call := range m.Calls {
			open = append(open, call.ID)
		}
	}
	must(len(open) == 0, "a request that ends with an open call")
}

func (m *model) then(steps ...modelStep) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func (m *model) streaming() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}

// says is a reply of the model.
func says(text string, calls ...provider.Call) modelStep {
	return func(_ context.Context, accept func(string) error) (provider.Reply, error) {
		if text != "" {
			if err := accept(text); err != nil {
				return provider.Reply{}, err
			}
		}
		return provider.Reply{Calls: calls}, nil
	}
}

// line is a reply that a test feeds piece by piece; closing it ends it well.
type line chan string

func (l line) step(ctx context.Context, accept func(string) error) (provider.Reply, error) {
	for {
		select {
		case text, more := <-l:
			if !more {
				return provider.Reply{}, nil
			}
			if err := accept(text); err != nil {
				return provider.Reply{}, err
			}
		case <-ctx.Done():
			return provider.Reply{}, context.Cause(ctx)
		}
	}
}
