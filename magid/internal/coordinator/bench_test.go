package coordinator

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// withTool is a bare core whose connection has a tool and an executor, and what
// turn.start selects them with.
func withTool(tb testing.TB, skill string) (*desk, string) {
	tb.Helper()
	d := newDesk()
	d.verify = nil
	d.conn.selected = true
	decode := func(effects []effect, dst any) {
		tb.Helper()
		require.NoError(tb, wirev2.DecodePayload(effects[0].(respond).response.Payload, dst))
	}
	var made wirev2.ExecutorCreateReply
	decode(d.executorAsk(d.conn, wirev2.MethodExecutorCreate, `{}`), &made)
	d.executorAsk(d.conn, wirev2.MethodExecutorConfirm, fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, made.ExecutorID, made.ResumeSecret.Reveal()))
	register := func(resource wirev2.Resource) (reply wirev2.SessionResourcesRegisterReply) {
		raw, err := wirev2.EncodePayload(wirev2.SessionResourcesRegisterRequest{Resource: resource})
		require.NoError(tb, err)
		decode(d.ask(d.conn, wirev2.MethodSessionResourcesRegister, string(raw)), &reply)
		return reply
	}
	if skill != "" {
		register(inline("how", wirev2.KindSkill, skill))
	}
	entry := register(inline("say", wirev2.KindTool, fmt.Sprintf(contract, "")))
	raw, err := wirev2.EncodePayload(wirev2.TurnStartRequest{Prompt: "x", Application: &wirev2.Application{
		ExpectedRegistryRevision: entry.RegistryRevision, ExecutorID: &made.ExecutorID, ExecutorGeneration: new(int64(1)),
		ToolAuthorizations: []wirev2.Authorization{{
			ResourceID: entry.Entry.ResourceID, RevisionID: entry.Entry.RevisionID, RevisionSHA256: entry.Entry.RevisionSHA256,
		}},
	}})
	require.NoError(tb, err)
	return d, string(raw)
}

// begin takes the desk's turn to where its worker has it.
func (d *desk) begin(tb testing.TB, start string) *turn {
	effects := d.ask(d.conn, wirev2.MethodTurnStart, start)
	if d.session.turn == nil {
		tb.Fatal(told(effects))
	}
	t := d.session.turn
	d.admitTurn(t, 0, nil)
	d.userRecorded(t, nil)
	d.take()
	return t
}

// finish ends the desk's turn and lets its outcome be forgotten.
func (d *desk) finish(t *turn) {
	d.admitTerminal(t, nil, nil)
	d.turnEnded(t, nil)
	d.advance(d.now + retention)
	d.take()
}

// BenchmarkTurnAdmission is a turn with an application from its request to its
// forgotten outcome, without disk and provider.
//
// target: <= 6x BenchmarkTurnAdmission_LimitCodec
func BenchmarkTurnAdmission(b *testing.B) {
	d, start := withTool(b, strings.Repeat("text ", 1000))
	b.ReportAllocs()
	for b.Loop() {
		d.finish(d.begin(b, start))
	}
}

// BenchmarkTurnAdmission_LimitCodec is what the records of such a turn cost to
// read and write alone.
func BenchmarkTurnAdmission_LimitCodec(b *testing.B) {
	d, start := withTool(b, strings.Repeat("text ", 1000))
	t := d.begin(b, start)
	b.ReportAllocs()
	for b.Loop() {
		var q wirev2.TurnStartRequest
		if err := wirev2.DecodePayload([]byte(start), &q); err != nil {
			b.Fatal(err)
		}
		for _, v := range []any{
			wirev2.TurnStartReply{TurnID: t.id, ApplicationManifest: t.manifestFor(true)},
			wirev2.Terminal{TurnID: t.id, OperationID: t.id, Status: wirev2.TerminalCompleted, ApplicationManifest: t.manifestFor(true)},
		} {
			if _, err := wirev2.EncodePayload(v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkDispatchAndResult is one call from its need to its acknowledgment,
// without disk and sockets.
//
// target: <= 8x BenchmarkDispatchAndResult_LimitCodec
func BenchmarkDispatchAndResult(b *testing.B) {
	d, start := withTool(b, "")
	t := d.begin(b, start)
	arguments := []byte(`{"text":"` + strings.Repeat("a", 1000) + `"}`)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		err := d.needCall(t, worker.Call{ID: wirev2.NewID(), ProviderID: fmt.Sprint(n), Tool: "say", Arguments: arguments}, func(worker.Result) {})
		if err != nil {
			b.Fatal(err)
		}
		e := d.take()[0].(dispatchCall)
		d.dispatchedCall(e.call, true)
		d.take()
		effects := d.submit(t, e.call, arguments)
		if r := effects[0].(respond).response; r.Error != nil {
			b.Fatal(r.Error)
		}
		if len(t.calls) == 16 { // a turn has no more; this one starts over
			d.finish(t)
			t = d.begin(b, start)
		}
	}
}

// submit submits the arguments of a call as its result.
func (d *desk) submit(t *turn, c *appCall, text []byte) []effect {
	d.n++
	payload := resultPayload(t, c, text)
	d.handle(d.conn, wirev2.Request{
		RequestID: fmt.Sprint(d.n), Method: wirev2.MethodTurnApplicationToolResult, SessionID: d.session.id, OperationID: wirev2.NewID(),
		Payload: []byte(payload),
	}, d.now+1000, true)
	return d.take()
}

func resultPayload(t *turn, c *appCall, text []byte) string {
	tuple := c.tuple
	return fmt.Sprintf(`{"turn_id":%q,"call_id":%q,"executor_id":%q,"executor_generation":1,"resource_id":%q,"revision_id":%q,"revision_sha256":%q,`+
		`"outcome":{"status":"success","value":{"said":%s}}}`, t.id, c.id, c.executor(), tuple.ResourceID, tuple.RevisionID, tuple.RevisionSHA256,
		text[len(`{"text":`):len(text)-1])
}

// BenchmarkDispatchAndResult_LimitCodec is what the records of such a call cost
// to read and write alone.
func BenchmarkDispatchAndResult_LimitCodec(b *testing.B) {
	d, start := withTool(b, "")
	t := d.begin(b, start)
	arguments := []byte(`{"text":"` + strings.Repeat("a", 1000) + `"}`)
	require.NoError(b, d.needCall(t, worker.Call{ID: wirev2.NewID(), ProviderID: "1", Tool: "say", Arguments: arguments}, func(worker.Result) {}))
	e := d.take()[0].(dispatchCall)
	result := []byte(resultPayload(t, e.call, arguments))
	b.ReportAllocs()
	for b.Loop() {
		var event wirev2.TurnApplicationToolCallEvent
		var q wirev2.TurnApplicationToolResultRequest
		if err := wirev2.DecodePayload(e.event.Payload, &event); err != nil {
			b.Fatal(err)
		}
		if _, err := wirev2.EncodePayload(event); err != nil {
			b.Fatal(err)
		}
		if err := wirev2.DecodePayload(result, &q); err != nil {
			b.Fatal(err)
		}
		if _, err := wirev2.EncodePayload(wirev2.TurnApplicationToolResultReply{CallID: q.CallID, Status: wirev2.ToolResultAccepted}); err != nil {
			b.Fatal(err)
		}
	}
}

// callee is an outbox that tells a benchmark of calls and answers.
type callee struct {
	quiet
	calls   chan wirev2.Event
	answers chan wirev2.Response
	ended   chan struct{}
}

func (c callee) Respond(r wirev2.Response) { c.answers <- encoded(r) }

func (callee) Flush() {}

func (c callee) Event(e wirev2.Event, _ *Grant) bool {
	switch e.Event {
	case wirev2.EventTurnApplicationToolCall:
		c.calls <- e
	case wirev2.EventTurnTerminal:
		c.ended <- struct{}{}
	}
	return true
}

// BenchmarkToolCall is one tool call of a real turn over a real journal: from the
// provider's last byte to the executor's event, and from its result to the
// acknowledgment (design: tool call). The sockets are left out; the limit has the
// two echoes and the one fsync that stand between.
//
// target: <= 1.5x BenchmarkToolCall_LimitTwoEchoesOneFsync
func BenchmarkToolCall(b *testing.B) {
	r := newRig(b, b.TempDir())
	c := callee{calls: make(chan wirev2.Event, 1), answers: make(chan wirev2.Response, 1), ended: make(chan struct{}, 1)}
	conn := r.c.Connect(wirev2.NewID(), true, c)
	n := 0
	ask := func(method wirev2.Method, session wirev2.ID, token wirev2.Secret, payload any, reply any) {
		n++
		info, _ := method.Lookup()
		q := wirev2.Request{RequestID: fmt.Sprint(n), Method: method, SessionID: session, ControlToken: token, DeadlineMS: 30000}
		if info.Operation == wirev2.Required {
			q.OperationID = wirev2.NewID()
		}
		raw, err := wirev2.EncodePayload(payload)
		if err != nil {
			b.Fatal(err)
		}
		q.Payload = raw
		r.c.Handle(conn, q)
		response := <-c.answers
		if response.Error != nil {
			b.Fatal(response.Error)
		}
		if err := wirev2.DecodePayload(response.Payload, reply); err != nil {
			b.Fatal(err)
		}
	}
	var created wirev2.SessionCreateReply
	ask(wirev2.MethodSessionCreate, "", "", wirev2.SessionCreateRequest{Workspace: r.workspace}, &created)
	s := created.SessionID
	var claimed wirev2.SessionClaimReply
	ask(wirev2.MethodSessionClaim, s, "", wirev2.SessionClaimRequest{}, &claimed)
	var made wirev2.ExecutorCreateReply
	ask(wirev2.MethodExecutorCreate, "", "", wirev2.ExecutorCreateRequest{}, &made)
	ask(wirev2.MethodExecutorConfirm, "", "", wirev2.ExecutorConfirmRequest{ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret}, &wirev2.ExecutorConfirmReply{})
	var entry wirev2.SessionResourcesRegisterReply
	ask(wirev2.MethodSessionResourcesRegister, s, claimed.ControlToken,
		wirev2.SessionResourcesRegisterRequest{Resource: inline("say", wirev2.KindTool, fmt.Sprintf(contract, ""))}, &entry)
	start := wirev2.TurnStartRequest{Prompt: "go", Application: &wirev2.Application{
		ExpectedRegistryRevision: entry.RegistryRevision, ExecutorID: &made.ExecutorID, ExecutorGeneration: new(int64(1)),
		ToolAuthorizations: []wirev2.Authorization{{
			ResourceID: entry.Entry.ResourceID, RevisionID: entry.Entry.RevisionID, RevisionSHA256: entry.Entry.RevisionSHA256,
		}},
	}}
	asked := make(chan struct{}) // a request came: what went before it is durable
	last := make(chan int)       // the provider's last byte: the number of the reply
	r.model.forever = func(_ ctx, _ func(string) error) (reply, error) {
		asked <- struct{}{}
		i := <-last
		if i%16 == 0 {
			return reply{}, nil
		}
		return reply{Calls: []provider.Call{{ID: fmt.Sprint("c", i), Name: "say", Arguments: `{"text":"` + strings.Repeat("a", 1000) + `"}`}}}, nil
	}
	ask(wirev2.MethodTurnStart, s, claimed.ControlToken, start, &wirev2.TurnStartReply{})
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		<-asked
		if i++; i%16 == 0 { // evidence holds no more of one turn
			last <- i
			<-c.ended
			ask(wirev2.MethodTurnStart, s, claimed.ControlToken, start, &wirev2.TurnStartReply{})
			<-asked
			i++
		}
		b.StartTimer()
		last <- i
		event := <-c.calls
		var call wirev2.TurnApplicationToolCallEvent
		if err := wirev2.DecodePayload(event.Payload, &call); err != nil {
			b.Fatal(err)
		}
		ask(wirev2.MethodTurnApplicationToolResult, s, "", result(s, call, said(strings.Repeat("b", 1000))).payload, &wirev2.TurnApplicationToolResultReply{})
	}
	b.StopTimer()
	<-asked
	last <- 16
	<-c.ended
	r.close()
}

// BenchmarkToolCall_LimitTwoEchoesOneFsync is two raw echoes over a Unix socket
// and one append made durable, of as many bytes as such a call has.
func BenchmarkToolCall_LimitTwoEchoesOneFsync(b *testing.B) {
	folder := b.TempDir()
	listener, err := net.Listen("unix", filepath.Join(folder, "echo"))
	require.NoError(b, err)
	go func() {
		peer, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(peer, peer)
		_ = peer.Close()
	}()
	conn, err := net.Dial("unix", filepath.Join(folder, "echo"))
	require.NoError(b, err)
	file, err := os.OpenFile(filepath.Join(folder, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(b, err)
	record, line := make([]byte, 1700), make([]byte, 1900)
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			if _, err := conn.Write(record); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(conn, record); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := file.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	require.NoError(b, conn.Close())
	require.NoError(b, listener.Close())
	require.NoError(b, file.Close())
}

// BenchmarkUnrelatedRequestBesideMany is a request of one session while 256
// executors are attached and 32 calls are out (design: growth).
//
// target: <= 2x BenchmarkUnrelatedRequestBesideMany_LimitAlone
func BenchmarkUnrelatedRequestBesideMany(b *testing.B) {
	d, start := withTool(b, "")
	t := d.begin(b, start)
	for i := range 16 {
		require.NoError(b, d.needCall(t, worker.Call{ID: wirev2.NewID(), ProviderID: fmt.Sprint(i), Tool: "say", Arguments: []byte(`{"text":"x"}`)}, func(worker.Result) {}))
	}
	for _, e := range d.take() {
		if e, ok := e.(dispatchCall); ok {
			d.dispatchedCall(e.call, true)
		}
	}
	d.take()
	for range 255 {
		if r := d.executorAsk(d.connect(wirev2.NewID(), true, quiet{}), wirev2.MethodExecutorCreate, `{}`)[0].(respond).response; r.Error != nil {
			b.Fatal(r.Error)
		}
	}
	lookups(b, d)
}

// BenchmarkUnrelatedRequestBesideMany_LimitAlone is the same request of a daemon
// that has nothing else.
func BenchmarkUnrelatedRequestBesideMany_LimitAlone(b *testing.B) { lookups(b, newDesk()) }

func lookups(b *testing.B, d *desk) {
	b.Helper()
	d.verify = nil
	payload := `{"operation_id":"` + string(wirev2.NewID()) + `"}`
	b.ReportAllocs()
	for b.Loop() {
		d.advance(d.now)
		d.ask(d.conn, wirev2.MethodOperationLookup, payload)
		d.next()
	}
}
