package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// host is the real host's side of a Flow that runs in this process: a session, a
// broker and a ledger. Only the callees are the test's.
type host struct {
	party  channel.Party
	broker *channel.Broker
	ledger *run0.Ledger
	serve  func(*dispatch)
	calls  sync.WaitGroup
}

// dispatch is one call that a callee has to answer.
type dispatch struct {
	run0.Call
	ctx  context.Context
	host *host
	op   *run0.Operation
}

func (d *dispatch) done(result string) { d.op.Settle(jsontext.Value(result), nil) }

func (d *dispatch) fail(code fault.Code) { d.op.Settle(nil, fault.New(code, "the callee failed")) }

func (h *host) Call(c run0.Call, done func(jsontext.Value, *fault.Error)) func() {
	op, cancel := h.ledger.Begin(c.OperationID, c.Preimage, done)
	if op == nil {
		return cancel
	}
	ctx, abort := context.WithCancel(context.Background())
	op.OnAbort(abort)
	h.calls.Go(func() {
		defer abort()
		if h.serve == nil {
			op.Settle(nil, fault.New(fault.Unavailable, "nobody serves this slot"))
			return
		}
		h.serve(&dispatch{c, ctx, h, op})
	})
	return cancel
}

func (h *host) Create(c run0.Create) (channel.Created, *fault.Error) {
	o := channel.Options{Delivery: c.Delivery}
	return h.broker.Create(h.party, o)
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
func (h *host) Stop() { h.broker.Stop(h.party); h.ledger.Abort() }

func (h *host) Answered(result *contract.Result) *fault.Error {
	st := h.broker.Inspect(h.party)
	h.broker.Finish(h.party, result != nil && !st.Abandoned && !st.Pending)
	if st.Abandoned || st.Pending {
		return fault.New(fault.ExecutionFailed, "channels were left undone")
	}
	return nil
}

// flow is a package to be run. Its zero fields are defaults.
type flow struct {
	files    map[string]string // by path; required
	input    string            // default null
	settings string
	heap     int  // bytes; 0: the default
	compiled bool // the host has its compiled form
	serve    func(*dispatch)
	during   func(*running) // while it runs, beside it
	grants   func(*host) map[string]channel.Grant
}

// running is what a test sees of a Flow while it runs.
type running struct {
	*testing.T
	*run0.Session
	host   *host
	stderr *buffer
}

// ended is what became of one.
type ended struct {
	t       *testing.T
	result  string // {outcome, output}, canonical; empty: none
	err     *fault.Error
	status  int
	text    string              // standard error without diagnostics
	diags   []engine.Diagnostic // and those
	scratch string
	wire    string // what the Flow wrote
}

// flow1 is a package of one file, with a handler's body.
func body(code string) map[string]string {
	return map[string]string{"FLOW.ts": "import { handle, OperationError } from '@jigging/flow';\nawait handle(async (run) => {" + code + "\n});\n"}
}

func only(text string) map[string]string { return map[string]string{"FLOW.ts": text} }

// buffer is a bytes.Buffer that several goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
	}
}

// run runs a Flow against the real host's side.
func run(t *testing.T, f flow) *ended {
	t.Helper()
	dir, scratch := t.TempDir(), t.TempDir()
	write(t, dir, f.files)
	f.input, f.settings = cmp.Or(f.input, "null"), cmp.Or(f.settings, "{}")
	for link, to := range map[string]string{"outside-link": "/etc", "root-link": "/", "inner-link": "target"} {
		require.NoError(t, os.Symlink(to, filepath.Join(scratch, link)))
	}
	write(t, scratch, map[string]string{"target": ""})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &host{party: 1, broker: channel.New(channel.Limits{Sources: 64, Receivers: 64}), ledger: run0.NewLedger(run0.Limits{}), serve: f.serve}
	var grants map[string]channel.Grant
	if f.grants != nil {
		grants = f.grants(h)
	}
	stderr, wire := &buffer{}, &buffer{}
	s, err := run0.New(run0.Options{In: inW, Out: io.TeeReader(outR, wire), Handler: h, Run: run0.Run{
		Input: jsontext.Value(f.input), Settings: jsontext.Value(f.settings), Scratch: engine.ScratchDir, DeadlineUnixMS: 1893456000000, Channels: grants,
	}})
	require.NoError(t, err)
	exited := make(chan int, 1)
	go func() {
		defer outW.Close()
		process := engine.Flow{Package: dir, Scratch: scratch, In: inR, Out: outW, Err: stderr}.WithHeap(f.heap)
		if f.compiled {
			process = process.WithCompiled()
		}
		exited <- process.Run()
	}()
	s.Start()
	if f.during != nil {
		f.during(&running{t, s, h, stderr})
	}
	e := &ended{t: t, scratch: scratch}
	select {
	case e.status = <-exited:
	case <-time.After(wait):
		require.FailNow(t, "the Flow does not end", stderr.String())
	}
	ending := s.End(run0.Exit{Code: e.status, Confirmed: true, Cleanup: true})
	inR.Close()
	h.calls.Wait()
	if ending.Result != nil {
		output, err := json0.Canonical(ending.Result.Output)
		require.NoError(t, err)
		e.result = ending.Result.Outcome + " " + string(output)
	}
	e.err = ending.Err
	var text strings.Builder
	split := &engine.Stderr{Text: &text, Each: func(d engine.Diagnostic) { e.diags = append(e.diags, d) }}
	_, err = split.Write([]byte(stderr.String()))
	require.NoError(t, err)
	require.NoError(t, split.Close())
	e.text, e.wire = text.String(), wire.String()
	return e
}

// is says that the run ended done with an output.
func (e *ended) is(output string) *ended {
	e.t.Helper()
	require.Nil(e.t, e.err, "%v\n%s%v", e.err, e.text, e.diags)
	require.Equal(e.t, "done "+output, e.result)
	require.Zero(e.t, e.status)
	return e
}

// fails says that it ended with a failure.
func (e *ended) fails(code fault.Code) *ended {
	e.t.Helper()
	require.NotNil(e.t, e.err, "%s", e.result)
	require.Equal(e.t, code, e.err.Code, "%v\n%s", e.err, e.text)
	return e
}

// check runs a handler's body and expects it to be done with true.
func holds(t *testing.T, code string) *ended {
	t.Helper()
	return run(t, flow{files: body(code)}).is("true")
}

// wait and tick are for conditions of another process or goroutine.
const (
	wait = 5 * time.Minute
	tick = time.Millisecond
)

func itoa(n int) string { return strconv.Itoa(n) }
