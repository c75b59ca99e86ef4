package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// What a daemon retains (operations, registries and the evidence of turns) ends a benchmark's daemon before it is full:
// the next one goes on.
const (
	benchOperations = 3000
	benchTurns      = 240
)

// meter adds up what is to be measured and leaves out what prepares it; timers of the framework stop the world.
type meter struct {
	times []time.Duration
}

func (m *meter) measure(part func()) {
	start := time.Now()
	part()
	m.times = append(m.times, time.Since(start))
}

// report makes the benchmark's time of the medians of its parts, which were measured in turn.
func (m *meter) report(b *testing.B, parts int) {
	var sum time.Duration
	for part := range parts {
		var times []time.Duration
		for i := part; i < len(m.times); i += parts {
			times = append(times, m.times[i])
		}
		slices.Sort(times)
		sum += times[len(times)/2]
	}
	b.ReportMetric(float64(sum.Nanoseconds()), "ns/op")
}

// talker is a model that answers as its prompts say.
type talker struct {
	now   chan string   // what to say next; each request takes one
	asked chan struct{} // a request has come, and waits to be told
}

// sse is one event of a stream.
func sse(w io.Writer, data string) {
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

const (
	sseEnd   = `{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}` + "\n\ndata: [DONE]"
	sseCalls = `{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`
	sseCall  = `{"index":%d,"id":"c%d_%d","type":"function","function":{"name":"add_note","arguments":"{\"text\":\"%s\"}"}}`
)

func (m *talker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if strings.Contains(string(body), "stream for ever") {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for range 10000 {
			select {
			case <-tick.C:
				sse(w, `{"choices":[{"index":0,"delta":{"content":"x"}}]}`)
			case <-r.Context().Done():
				return
			}
		}
		sse(w, fmt.Sprintf(sseEnd, "stop"))
		return
	}
	m.asked <- struct{}{}
	select {
	case said := <-m.now:
		_, _ = io.WriteString(w, said)
		w.(http.Flusher).Flush()
	case <-r.Context().Done():
	}
}

func saysCalls(n, serial int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(sseCall, i, serial, i, strings.Repeat("a", 190)))
	}
	return "data: " + fmt.Sprintf(sseCalls, strings.Join(all, ",")) + "\n\ndata: " + fmt.Sprintf(sseEnd, "tool_calls") + "\n\n"
}

func saysNothingMore() string {
	return `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\ndata: " + fmt.Sprintf(sseEnd, "stop") + "\n\n"
}

// lending is an application of a benchmark: control, executor and a tool.
type lending struct {
	c         *client.Client
	s         *client.Session
	proof     wirev2.ExecutorCreateReply
	selection *wirev2.Application
}

// talks gives the place a talker.
func (p *place) talks() *talker {
	m := &talker{now: make(chan string, 64), asked: make(chan struct{}, 64)}
	s := httptest.NewServer(m)
	p.t.Cleanup(s.Close)
	p.t.Cleanup(s.CloseClientConnections)
	p.env = append(p.env, "MAGI_BASE_URL="+s.URL+"/v1", "MAGI_MODEL=talker")
	return m
}

func (p *place) lending() *lending {
	p.t.Helper()
	ctx := p.t.Context()
	c, err := p.selected()
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	l := &lending{c: c}
	l.proof, err = c.CreateExecutor(ctx, "")
	require.NoError(p.t, err)
	_, err = c.ConfirmExecutor(ctx, "", wirev2.ExecutorConfirmRequest{ExecutorID: l.proof.ExecutorID, ResumeSecret: l.proof.ResumeSecret})
	require.NoError(p.t, err)
	l.another(p)
	return l
}

// another makes a session with the tool: one without a history, so that every turn costs the same.
func (l *lending) another(p *place) {
	p.t.Helper()
	if l.s != nil {
		require.NoError(p.t, l.s.Release(p.t.Context(), ""))
	}
	l.s = p.claimed(l.c, p.session(l.c))
	contract := noteContract
	reply, err := l.s.RegisterResource(p.t.Context(), "", wirev2.SessionResourcesRegisterRequest{Resource: wirev2.Resource{
		Kind: wirev2.KindTool, Name: "add_note", Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &contract},
	}})
	require.NoError(p.t, err)
	e := reply.Entry
	l.selection = &wirev2.Application{
		ExpectedRegistryRevision: reply.RegistryRevision, ExecutorID: &l.proof.ExecutorID, ExecutorGeneration: new(int64(1)),
		ToolAuthorizations: []wirev2.Authorization{{ResourceID: e.ResourceID, RevisionID: e.RevisionID, RevisionSHA256: e.RevisionSHA256}},
	}
}

func (l *lending) turn(b *testing.B, prompt string) {
	_, err := l.s.StartTurn(b.Context(), "", wirev2.TurnStartRequest{Prompt: prompt, Application: l.selection})
	require.NoError(b, err)
}

// ended waits for the end of a turn.
func (l *lending) ended(b *testing.B) {
	for {
		e, err := l.s.Events().Next(b.Context())
		require.NoError(b, err)
		if e.Event == wirev2.EventTurnTerminal {
			return
		}
	}
}

// fresh is a daemon for so many operations, and the application that lends it a tool.
type fresh struct {
	*lending
	m        *talker
	p        *place
	daemon   *running
	executor *raw // a connection of its own, where the calls go
	left     int  // operations
	calls    int  // of this turn
	serial   int
}

// renew ends the daemon there is and begins another.
func (f *fresh) renew(b *testing.B) {
	if f.daemon != nil {
		f.daemon.kill()
	}
	f.p = newPlace(b)
	f.m = f.p.talks()
	f.daemon = f.p.serve()
	f.lending = f.p.lending()
	f.executor, f.left, f.calls = nil, benchOperations, 0
}

// open starts a turn whose calls go to the executor's own connection.
func (f *fresh) open(b *testing.B) {
	f.another(f.p)
	q := wirev2.ExecutorResumeRequest{ExecutorID: f.proof.ExecutorID, ResumeSecret: f.proof.ResumeSecret}
	resumed, err := f.c.ResumeExecutor(b.Context(), "", q)
	require.NoError(b, err)
	f.selection.ExecutorGeneration = &resumed.ExecutorGeneration
	f.turn(b, "call")
	if f.executor == nil {
		f.executor = f.p.rawSelected()
	}
	proof := fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, f.proof.ExecutorID, f.proof.ResumeSecret.Reveal())
	require.NotContains(b, f.executor.ask(with(record("resume", "executor.resume", proof), "", "", wirev2.NewID())), `"error"`)
	f.left -= 7
}

// once is one call.
func (f *fresh) once(b *testing.B, m *meter) {
	if f.daemon == nil || f.left < 10 {
		f.renew(b)
	}
	if f.calls == 28 { // a turn has at most 32
		<-f.m.asked
		f.m.now <- saysNothingMore()
		f.ended(b)
		f.calls = 0
	}
	if f.calls == 0 {
		f.open(b)
	}
	f.calls++
	f.left--
	f.serial++
	var line string
	<-f.m.asked // what went before is durable
	m.measure(func() {
		f.m.now <- saysCalls(1, f.serial)
		line = f.executor.line()
	})
	var event wirev2.Event
	var call wirev2.TurnApplicationToolCallEvent
	require.NoError(b, json.Unmarshal([]byte(line), &struct {
		SessionID *wirev2.ID      `json:"session_id"`
		Payload   *jsontext.Value `json:"payload"`
	}{&event.SessionID, &event.Payload}))
	require.NoError(b, wirev2.DecodePayload(event.Payload, &call), line)
	payload, err := wirev2.EncodePayload(wirev2.TurnApplicationToolResultRequest{
		TurnID: call.TurnID, CallID: call.CallID, ExecutorID: call.ExecutorID, ExecutorGeneration: call.ExecutorGeneration,
		ResourceID: call.ResourceID, RevisionID: call.RevisionID, RevisionSHA256: call.RevisionSHA256,
		Outcome: wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: []byte(`{"lines":1}`)},
	})
	require.NoError(b, err)
	result := with(record("r", "turn.application_tool_result", string(payload)), string(event.SessionID), "", wirev2.NewID())
	m.measure(func() {
		f.executor.send(result)
		line = f.executor.line()
	})
	require.Contains(b, line, `"accepted"`)
}

// rawSelected is raw with the profile.
func (p *place) rawSelected() *raw {
	p.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.socket, Net: "unix"})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	r := &raw{conn, p.t, bufio.NewReaderSize(conn, 1<<17)}
	hello := strings.Replace(hello, `[]`, `["application_resources_v1"]`, 1)
	require.NotContains(p.t, r.ask(record("init", "initialize", hello)), `"error"`)
	return r
}

// Row 7: a tool call over the sockets of a real daemon: from the provider's last byte to the executor's event, and from
// the result to its acknowledgment.
//
// target: <= 1.5x BenchmarkToolCallOverSockets_LimitTwoEchoesOneFsync
func BenchmarkToolCallOverSockets(b *testing.B) {
	var m meter
	var f fresh
	for b.Loop() {
		f.once(b, &m)
	}
	m.report(b, 2)
}

// BenchmarkToolCallOverSockets_LimitTwoEchoesOneFsync moves as many bytes between two processes and onto the disk.
func BenchmarkToolCallOverSockets_LimitTwoEchoesOneFsync(b *testing.B) {
	echoes(b, echoing{times: 2, bytes: 900, durable: 1000, asleep: true})
}

// Row 7, its beginning: a turn with an application from its request to its acceptance, which is durable.
//
// target: <= 2x BenchmarkTurnStartOverSockets_LimitEchoAndFsync
func BenchmarkTurnStartOverSockets(b *testing.B) {
	var m meter
	var f fresh
	for b.Loop() {
		if f.daemon == nil || f.left < benchOperations-benchTurns {
			f.renew(b)
		}
		f.another(f.p)
		f.left--
		m.measure(func() { f.turn(b, "go") })
		<-f.m.asked
		f.m.now <- saysNothingMore()
		f.ended(b)
	}
	m.report(b, 1)
}

// BenchmarkTurnStartOverSockets_LimitEchoAndFsync moves as many bytes between two processes and onto the disk.
func BenchmarkTurnStartOverSockets_LimitEchoAndFsync(b *testing.B) {
	echoes(b, echoing{times: 1, bytes: 1700, durable: 1600, asleep: true})
}

// A resource of 4 KiB from its registration to its descriptor.
//
// target: <= 4x BenchmarkRegisterOverSockets_LimitRawEcho
func BenchmarkRegisterOverSockets(b *testing.B) {
	var m meter
	var f fresh
	text := strings.Repeat("0123456789abcde\n", 256)
	q := wirev2.SessionResourcesRegisterRequest{Resource: wirev2.Resource{
		Kind: wirev2.KindSkill, Name: "manners", Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &text},
	}}
	for b.Loop() {
		if f.daemon == nil || f.left < 10 {
			f.renew(b)
			q.ExpectedRevision = nil
		}
		f.left--
		m.measure(func() {
			reply, err := f.s.RegisterResource(b.Context(), "", q)
			if err != nil {
				b.Fatal(err)
			}
			q.ExpectedRevision = &reply.Entry.RevisionID
		})
	}
	m.report(b, 1)
}

// BenchmarkRegisterOverSockets_LimitRawEcho moves as many bytes between two processes, most of them the other way.
func BenchmarkRegisterOverSockets_LimitRawEcho(b *testing.B) {
	echoes(b, echoing{times: 1, bytes: 5200})
}

// echoing is raw echoes, the first with an append that is made durable.
type echoing struct {
	times, bytes, durable int
	asleep                bool // the peer of a tool call is not waiting at the processor, and neither is the echo's
}

func echoes(b *testing.B, e echoing) {
	p := newPlace(b)
	self, err := os.Executable()
	require.NoError(b, err)
	require.NoError(b, os.Mkdir(filepath.Dir(p.socket), 0o700))
	p.process(exec.Command(self), fmt.Sprintf("MAGID_TEST_ECHO=%d", e.bytes))
	var conn net.Conn
	until(b, "the echo listens", func() bool {
		conn, err = net.Dial("unix", p.socket)
		return err == nil
	})
	defer conn.Close()
	file, err := os.OpenFile(filepath.Join(p.dir, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(b, err)
	defer file.Close()
	request, reply, line := make([]byte, requestBytes), make([]byte, e.bytes), make([]byte, e.durable)
	var m meter
	for b.Loop() {
		for i := range e.times {
			if e.asleep {
				time.Sleep(time.Millisecond)
			}
			m.measure(func() {
				_, err := conn.Write(request)
				if err == nil {
					_, err = io.ReadFull(conn, reply)
				}
				if err == nil && i == 0 && e.durable > 0 {
					if _, err = file.Write(line); err == nil {
						err = file.Sync()
					}
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	m.report(b, e.times)
}

// Row 14: how long an unrelated request takes, at the median, while 256 executors are attached, 32 calls are out and 16
// sessions stream 500 pieces of text a second each.
//
// target: <= 2x BenchmarkUnrelatedRequestBesideLoad_LimitOneOfEach
func BenchmarkUnrelatedRequestBesideLoad(b *testing.B) { besideLoad(b, 256, 32, 16) }

// BenchmarkUnrelatedRequestBesideLoad_LimitOneOfEach is the same beside one executor, one call and one stream.
func BenchmarkUnrelatedRequestBesideLoad_LimitOneOfEach(b *testing.B) { besideLoad(b, 1, 1, 1) }

func besideLoad(b *testing.B, executors, calls, streams int) {
	p := newPlace(b)
	m := p.talks()
	daemon := p.serve()
	l := p.lending() // the first executor
	for range executors - 1 {
		c, err := p.selected()
		require.NoError(b, err)
		defer c.Close()
		made, err := c.CreateExecutor(b.Context(), "")
		require.NoError(b, err)
		_, err = c.ConfirmExecutor(b.Context(), "", wirev2.ExecutorConfirmRequest{ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret})
		require.NoError(b, err)
	}
	out := l.c.Subscribe(client.ForExecutor)
	l.turn(b, "call")
	m.now <- saysCalls(calls, 0)
	for range calls {
		_, err := out.Next(b.Context())
		require.NoError(b, err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var streaming sync.WaitGroup
	for range streams {
		c := p.dial()
		s := p.claimed(c, p.session(c))
		_, err := s.StartTurn(ctx, "", wirev2.TurnStartRequest{Prompt: "stream for ever"})
		require.NoError(b, err)
		streaming.Go(func() {
			for {
				if _, err := s.Events().Next(ctx); err != nil {
					return
				}
			}
		})
	}
	c := p.dial()
	s := p.claimed(c, p.session(c))
	var times meter
	for b.Loop() {
		times.measure(func() {
			if _, err := s.Snapshot(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
	times.report(b, 1)
	b.ReportMetric(float64(rss(b, daemon.Process.Pid))/(1<<20), "rss-MiB")
	cancel()
	streaming.Wait()
}
