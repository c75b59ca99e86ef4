package run0_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// host is a handler on a real broker whose calls a test answers.
type host struct {
	party  channel.Party
	broker *channel.Broker
	ledger *run0.Ledger

	mu       sync.Mutex
	calls    chan *dispatch // what was dispatched, in order
	stopped  int
	answers  int
	eligible bool
	path     string // of the last channel/create; read after its answer
}

type dispatch struct {
	run0.Call
	op      *run0.Operation
	aborted context.Context
}

func newHost() *host {
	return &host{party: 1, broker: channel.New(channel.Limits{}), ledger: run0.NewLedger(run0.Limits{}), calls: make(chan *dispatch, 100)}
}

func (h *host) Call(c run0.Call, done func(jsontext.Value, *fault.Error)) func() {
	op, cancel := h.ledger.Begin(c.OperationID, c.Preimage, done)
	if op != nil {
		ctx, abort := context.WithCancel(context.Background())
		op.OnAbort(abort)
		h.calls <- &dispatch{c, op, ctx}
	}
	return cancel
}

func (h *host) Create(c run0.Create) (channel.Created, *fault.Error) {
	h.path = c.Path
	return h.broker.Create(h.party, channel.Options{Delivery: c.Delivery})
}
func (h *host) Subscribe(s string) (channel.Grant, *fault.Error) {
	return h.broker.Subscribe(h.party, s)
}
func (h *host) Send(e string, v []byte, done func(*fault.Error)) func() {
	return h.broker.Send(h.party, e, v, done)
}
func (h *host) Next(e string, done func(channel.Item, *fault.Error)) func() {
	return h.broker.Next(h.party, e, done)
}
func (h *host) Close(e string, lagged bool) *fault.Error { return h.broker.Close(h.party, e, lagged) }
func (h *host) Release(e string) (channel.Released, *fault.Error) {
	return h.broker.Release(h.party, e)
}
func (h *host) Stop() {
	h.mu.Lock()
	h.stopped++
	h.mu.Unlock()
	h.broker.Stop(h.party)
	h.ledger.Abort()
}
func (h *host) Answered(result *contract.Result) *fault.Error {
	st := h.broker.Inspect(h.party)
	h.mu.Lock()
	h.answers++
	h.eligible = result != nil && !st.Abandoned && !st.Pending
	h.mu.Unlock()
	h.broker.Finish(h.party, h.eligible)
	if st.Abandoned || st.Pending {
		return fault.New(fault.ExecutionFailed, "channels were left undone")
	}
	return nil
}

func (h *host) stops() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

func (h *host) eligibly() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.eligible
}

// rig is a session with a test as its component.
type rig struct {
	*testing.T
	*run0.Session
	host *host
	in   *bufio.Reader  // what the host wrote
	out  *io.PipeWriter // what the component writes
	stop func()
}

type option func(*run0.Options)

func start(t *testing.T, options ...option) *rig {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := newHost()
	o := run0.Options{
		In: inW, Out: outR, Handler: h,
		Run: run0.Run{Input: jsontext.Value(`null`), Scratch: "/scratch", DeadlineUnixMS: 1893456000000},
	}
	for _, f := range options {
		f(&o)
	}
	s, err := run0.New(o)
	require.NoError(t, err)
	r := &rig{t, s, h, bufio.NewReaderSize(inR, 1<<20), outW, func() { inR.Close() }}
	t.Cleanup(func() { outW.Close(); inR.Close(); <-s.Drained() })
	return r
}

func opened(t *testing.T, options ...option) *rig {
	t.Helper()
	r := start(t, options...)
	r.Start()
	require.Contains(t, r.line(), `"method":"flow/run"`)
	return r
}

// line is the next frame of the host.
func (r *rig) line() string {
	r.Helper()
	line, err := r.in.ReadString('\n')
	require.NoError(r, err)
	return strings.TrimSuffix(line, "\n")
}

// quiet says that the host writes nothing more: its input has ended.
func (r *rig) quiet() {
	r.Helper()
	rest, err := io.ReadAll(r.in)
	require.NoError(r, err)
	require.Empty(r, string(rest))
}

func (r *rig) write(frames ...string) {
	r.Helper()
	for _, f := range frames {
		_, err := io.WriteString(r.out, f+"\n")
		require.NoError(r, err)
	}
}

func (r *rig) raw(bytes string) {
	r.Helper()
	_, err := io.WriteString(r.out, bytes)
	require.NoError(r, err)
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
}

func call(id, operation, rest string) string {
	return request(id, "flow/call", fmt.Sprintf(`{"operationId":%q,"slot":"worker","input":1%s}`, operation, rest))
}

func notice(params string) string {
	return `{"jsonrpc":"2.0","method":"request/cancel","params":` + params + `}`
}

const done = `{"jsonrpc":"2.0","id":"host:1","result":{"outcome":"done","output":7}}`

func result(id, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, value)
}

// failed asserts that line is the operational error of a request.
func (r *rig) failed(line, id, code string) {
	r.Helper()
	require.Contains(r, line, fmt.Sprintf(`"id":%q`, id))
	require.Contains(r, line, `"code":-32000`)
	require.Contains(r, line, fmt.Sprintf(`"data":{"code":%q`, code))
}

// clean is the exit of a process that ended well.
var clean = run0.Exit{Confirmed: true, Cleanup: true}

func exited(code int) run0.Exit { x := clean; x.Code = code; return x }

// end closes the output and classifies.
func (r *rig) end(x run0.Exit) run0.Ending {
	r.Helper()
	r.out.Close()
	return r.End(x)
}

func (r *rig) fails(x run0.Exit, code fault.Code) *fault.Error {
	r.Helper()
	e := r.end(x)
	require.NotNil(r, e.Err, "%+v", e.Result)
	require.Equal(r, code, e.Err.Code, e.Err.Message)
	require.Nil(r, e.Result)
	return e.Err
}

func (r *rig) doomed() {
	r.Helper()
	<-r.Doomed()
}
