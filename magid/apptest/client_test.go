package apptest

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// object is a JSON object.
type object map[string]any

func (o object) object(name string) object {
	m, _ := o[name].(map[string]any)
	return m
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) number(name string) int64 {
	n, _ := o[name].(json.Number)
	i, _ := n.Int64()
	return i
}

func (o object) list(name string) (out []object) {
	all, _ := o[name].([]any)
	for _, one := range all {
		m, _ := one.(map[string]any)
		out = append(out, m)
	}
	return out
}

// members gives some members of an object.
func (o object) members(names ...string) object {
	out := make(object)
	for _, name := range names {
		out[name] = o[name]
	}
	return out
}

// with gives a copy in which some members are replaced.
func (o object) with(changes object) object {
	out := make(object, len(o))
	maps.Copy(out, o)
	maps.Copy(out, changes)
	return out
}

// names gives the names of an object's members in the order of the text.
func names(t testing.TB, raw string) (out []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		name, err := d.Token()
		require.NoError(t, err)
		out = append(out, name.(string))
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
	}
	return out
}

// at gives the text of what lies under a path of names and numbers.
func at(t testing.TB, raw string, path ...any) string {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			var o map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(raw), &o), raw)
			raw = string(o[step])
		case int:
			var l []json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(raw), &l), raw)
			require.Greater(t, len(l), step)
			raw = string(l[step])
		}
	}
	return raw
}

func parse(t testing.TB, text string) object {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var o object
	require.NoError(t, d.Decode(&o), text)
	return o
}

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// newID makes a UUID of version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// conn is a connection to the daemon.
type conn struct {
	t    testing.TB
	sock *net.UnixConn
	sent int

	mu      sync.Mutex
	changed *sync.Cond
	answers map[string]string
	events  []object
	raw     []string // every record that came, in order
	methods map[string]string
	over    bool
	stopped bool // reads nothing more
}

// connect opens a connection that is not initialised.
func (d *daemon) connect() *conn {
	d.t.Helper()
	sock, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.socket, Net: "unix"})
	require.NoError(d.t, err)
	c := &conn{t: d.t, sock: sock, answers: make(map[string]string), methods: make(map[string]string)}
	c.changed = sync.NewCond(&c.mu)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.read()
	}()
	d.t.Cleanup(func() {
		_ = sock.Close()
		c.stop(false)
		<-ended
	})
	return c
}

// stop makes the connection stop reading, or go on.
func (c *conn) stop(stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = stopped
	c.changed.Broadcast()
}

// ordinary opens an initialised connection without the profile.
func (d *daemon) ordinary() *conn {
	d.t.Helper()
	c := d.connect()
	c.initialize()
	return c
}

// selected opens an initialised connection with the profile.
func (d *daemon) selected() *conn {
	d.t.Helper()
	c := d.connect()
	reply := c.initialize("application_resources_v1")
	require.Equal(d.t, []any{"application_resources_v1"}, reply["negotiated_capabilities"])
	return c
}

func (c *conn) initialize(tokens ...string) object {
	c.t.Helper()
	if tokens == nil {
		tokens = []string{}
	}
	return c.ok(request{method: "initialize", payload: object{
		"client": object{"name": "apptest", "version": "1"}, "requested_capabilities": tokens,
	}})
}

func (c *conn) read() {
	r := bufio.NewReaderSize(c.sock, 1<<17)
	for {
		c.mu.Lock()
		for c.stopped {
			c.changed.Wait()
		}
		c.mu.Unlock()
		line, err := r.ReadString('\n')
		c.mu.Lock()
		if err != nil {
			c.over = true
			c.changed.Broadcast()
			c.mu.Unlock()
			return
		}
		c.raw = append(c.raw, line)
		o := parse(c.t, line)
		if o["kind"] == "event" {
			c.events = append(c.events, o)
		} else {
			c.answers[o.text("request_id")] = line
		}
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// close ends the connection without a word.
func (c *conn) close() { _ = c.sock.Close() }

// wait waits until something has come; it does not come by itself when the connection is over.
func (c *conn) wait(what string, there func() bool) {
	c.t.Helper()
	timeout := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = true
		c.changed.Broadcast()
	})
	defer timeout.Stop()
	for !there() {
		require.False(c.t, c.over, "waited for %s: the connection is over, or it took too long", what)
		c.changed.Wait()
	}
}

// request is a request; members that are "" are null.
type request struct {
	method, session, token, operation string
	payload                           any
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (q request) record(id string) object {
	payload := q.payload
	if payload == nil {
		payload = object{}
	}
	return object{
		"v": 2, "kind": "request", "request_id": id, "method": q.method,
		"session_id": null(q.session), "control_token": null(q.token), "operation_id": null(q.operation), "payload": payload,
	}
}

// mutations are the methods that take an operation.
var mutations = map[string]bool{
	"session.create": true, "session.claim": true, "session.release": true, "turn.start": true, "turn.stop": true,
	"session.resources.register": true, "session.resources.unregister": true, "session.resources.clear": true,
	"turn.application_tool_result": true,
	"executor.create":              true, "executor.confirm": true, "executor.resume": true, "executor.rotate": true,
	"executor.rotate_confirm": true, "executor.release": true,
}

// post sends a request, with a fresh operation where it needs one, and gives the request's id.
func (c *conn) post(q request) string {
	c.t.Helper()
	if mutations[q.method] && q.operation == "" {
		q.operation = newID()
	}
	c.mu.Lock()
	c.sent++
	id := fmt.Sprint("r", c.sent)
	c.methods[id] = q.method
	c.mu.Unlock()
	c.send(encode(q.record(id)))
	return id
}

func (c *conn) send(line string) {
	c.t.Helper()
	require.NoError(c.t, c.sock.SetWriteDeadline(time.Now().Add(patience)))
	_, err := c.sock.Write([]byte(line + "\n"))
	require.NoError(c.t, err)
}

// answer waits for the answer of a request.
func (c *conn) answer(id string) string {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait("the answer of "+c.methods[id], func() bool { return c.answers[id] != "" })
	return c.answers[id]
}

// ask sends a request and gives the whole record of its answer.
func (c *conn) ask(q request) object {
	c.t.Helper()
	return parse(c.t, c.answer(c.post(q)))
}

// ok sends a request and gives the payload of its answer.
func (c *conn) ok(q request) object {
	c.t.Helper()
	record := c.ask(q)
	require.Nil(c.t, record["error"], "%s", q.method)
	return record.object("payload")
}

// refused sends a request and gives the code and the message of the refusal.
func (c *conn) refused(q request) (code, message string) {
	c.t.Helper()
	record := c.ask(q)
	require.NotNil(c.t, record["error"], "%s was not refused: %v", q.method, record["payload"])
	return record.object("error").text("code"), record.object("error").text("message")
}

// event waits for the next event of a name and takes it.
func (c *conn) event(name string) object {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	at := -1
	c.wait(name, func() bool {
		for i, e := range c.events {
			if e["event"] == name {
				at = i
				return true
			}
		}
		return false
	})
	e := c.events[at]
	c.events = append(c.events[:at:at], c.events[at+1:]...)
	return e
}

// came counts the events of a name that came and were not taken.
func (c *conn) came(name string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e["event"] == name {
			n++
		}
	}
	return n
}

// records gives everything that came so far.
func (c *conn) records() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.raw...)
}
