package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

const instance = wirev2.ID("11111111-1111-4111-8111-111111111111")

// fake is a coordinator that does what a test tells it.
type fake struct {
	mu       sync.Mutex
	peers    map[*coordinator.Conn]*peer
	arrivals []*peer
	// handle is what happens with a request; nil answers {} at once.
	handle func(p *peer, q wirev2.Request)
}

// peer is one connection as the coordinator sees it.
type peer struct {
	id       wirev2.ID
	selected bool
	out      coordinator.Outbox
	requests []wirev2.Request
	gone     bool
}

// flushing sends what it queues, as the coordinator does.
type flushing struct{ coordinator.Outbox }

func (f flushing) Respond(r wirev2.Response) {
	f.Outbox.Respond(r)
	f.Flush()
}

func (f flushing) Event(e wirev2.Event, grant *coordinator.Grant) bool {
	defer f.Flush()
	return f.Outbox.Event(e, grant)
}

func (f flushing) Text(e wirev2.Event, grant *coordinator.Grant, turn wirev2.ID, text string) bool {
	defer f.Flush()
	return f.Outbox.Text(e, grant, turn, text)
}

func (f *fake) Connect(id wirev2.ID, selected bool, out coordinator.Outbox) *coordinator.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	conn, p := new(coordinator.Conn), &peer{id: id, selected: selected, out: flushing{out}}
	if f.peers == nil {
		f.peers = make(map[*coordinator.Conn]*peer)
	}
	f.peers[conn] = p
	f.arrivals = append(f.arrivals, p)
	return conn
}

func (f *fake) Handle(conn *coordinator.Conn, q wirev2.Request) {
	f.mu.Lock()
	p := f.peers[conn]
	p.requests = append(p.requests, q)
	handle := f.handle
	f.mu.Unlock()
	if handle == nil {
		p.answer(q, "{}")
		return
	}
	handle(p, q)
}

func (f *fake) Disconnect(conn *coordinator.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.peers[conn].gone = true
}

func (f *fake) peer(i int) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arrivals[i]
}

func (f *fake) isGone(p *peer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return p.gone
}

func (f *fake) seen(p *peer) []wirev2.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]wirev2.Request(nil), p.requests...)
}

// hold makes the fake keep all answers back.
func (f *fake) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle = func(*peer, wirev2.Request) {}
}

func (p *peer) answer(q wirev2.Request, payload string) {
	p.out.Respond(wirev2.Response{
		RequestID: q.RequestID, InstanceID: instance, ConnectionID: p.id,
		SessionID: q.SessionID, OperationID: q.OperationID, Payload: []byte(payload),
	})
}

func (p *peer) event(grant *coordinator.Grant, payload string) bool {
	return p.out.Event(wirev2.Event{Event: wirev2.EventTurnStarted, InstanceID: instance, ConnectionID: p.id, Payload: []byte(payload)}, grant)
}

const turnID = wirev2.ID("22222222-2222-4222-8222-222222222222")

func (p *peer) text(grant *coordinator.Grant, text string) bool {
	return p.out.Text(wirev2.Event{Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: p.id}, grant, turnID, text)
}

// log collects what the server logs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// bench is one server with its fake and its log, inside a synctest bubble.
type world struct {
	t      *testing.T
	server *Server
	fake   *fake
	log    *log

	listeners []*listener
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, fake: &fake{}, log: &log{}}
	opts := Options{
		Instance: instance, Version: "0.1.0", Coordinator: w.fake,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&opts)
	}
	var err error
	w.server, err = New(opts)
	require.NoError(t, err)
	return w
}

// inBubble runs a test in a bubble of fake time. At its end every connection is gone.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	inBubbleWith(t, nil, test)
}

func inBubbleWith(t *testing.T, change func(*Options), test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, change)
		defer func() { // a failed test too ends its connections, or its failure would not be seen
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = w.server.Stop(ctx)
			for _, l := range w.listeners {
				_ = l.Close()
			}
			if n := w.server.Connections(); n != 0 {
				t.Errorf("%d connections left", n)
			}
		}()
		test(t, w)
	})
}

// client is the far end of a connection.
type client struct {
	t    *testing.T
	conn *duplex
	in   *bufio.Reader
}

func (w *world) dial() *client {
	near, far := newDuplex()
	w.server.ServeConn(far)
	return &client{w.t, near, bufio.NewReaderSize(near, 1<<17)}
}

// initialized is a connection past initialize, with what the coordinator sees of it.
func (w *world) initialized(tokens ...string) (*client, *peer) {
	c := w.dial()
	list, err := json.Marshal(append([]string{}, tokens...))
	require.NoError(w.t, err)
	answer := c.ask(request("init", "initialize", `{"client":{"name":"test","version":"1"},"requested_capabilities":`+string(list)+`}`))
	require.NotContains(w.t, answer, "error")
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	return c, w.fake.arrivals[len(w.fake.arrivals)-1]
}

// request is a record without session, token and operation.
func request(id, method, payload string) string {
	return fmt.Sprintf(`{"v":2,"kind":"request","request_id":%q,"method":%q,"session_id":null,"control_token":null,"operation_id":null,"payload":%s}`+"\n", id, method, payload)
}

func status(id string) string { return request(id, "daemon.status", "{}") }

// send writes in a goroutine of its own, as a pipe has no buffer.
func (c *client) send(records ...string) {
	text := strings.Join(records, "")
	go func() { _, _ = c.conn.Write([]byte(text)) }()
}

func (c *client) line() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return line, err
	}
	return line, nil
}

func (c *client) next() map[string]any {
	c.t.Helper()
	line, err := c.line()
	require.NoError(c.t, err, line)
	return decode(c.t, line)
}

func decode(t *testing.T, line string) map[string]any {
	t.Helper()
	var record map[string]any
	require.NoError(t, json.Unmarshal([]byte(line), &record), line)
	return record
}

func (c *client) ask(record string) map[string]any {
	c.t.Helper()
	c.send(record)
	return c.next()
}

// code is the error code a record gets, "" where it succeeds.
func (c *client) code(record string) string {
	c.t.Helper()
	return code(c.ask(record))
}

func code(response map[string]any) string {
	failure, ok := response["error"].(map[string]any)
	if !ok {
		return ""
	}
	return failure["code"].(string)
}

// ends expects the end of the connection and nothing before it.
func (c *client) ends() {
	c.t.Helper()
	line, err := c.line()
	require.ErrorIs(c.t, err, io.EOF)
	require.Empty(c.t, line)
}

// duplex is a connection of two pipes, so that each direction can end alone, as it
// can on a socket.
type duplex struct {
	net.Conn          // what we write goes here
	read     net.Conn // what we read comes from here
}

func newDuplex() (a, b *duplex) {
	up, upEnd := net.Pipe()
	down, downEnd := net.Pipe()
	return &duplex{up, downEnd}, &duplex{down, upEnd}
}

func (d *duplex) Read(p []byte) (int, error)         { return d.read.Read(p) }
func (d *duplex) CloseWrite() error                  { return d.Conn.Close() }
func (d *duplex) SetReadDeadline(t time.Time) error  { return d.read.SetReadDeadline(t) }
func (d *duplex) SetWriteDeadline(t time.Time) error { return d.Conn.SetWriteDeadline(t) }
func (d *duplex) Close() error                       { return errors.Join(d.Conn.Close(), d.read.Close()) }
