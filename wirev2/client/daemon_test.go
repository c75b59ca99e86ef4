package client

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

var bg = context.Background()

// daemon is the other end of a connection, played by a test.
type daemon struct {
	t          *testing.T
	conn       net.Conn
	reader     *wirev2.Reader
	writer     *wirev2.Writer
	instance   wirev2.ID
	connection wirev2.ID
}

func newDaemon(t *testing.T, conn net.Conn) *daemon {
	reader, err := wirev2.NewReader(conn, wirev2.Limits{})
	require.NoError(t, err)
	return &daemon{t, conn, reader, wirev2.NewWriter(conn), wirev2.NewID(), wirev2.NewID()}
}

// next reads the next request.
func (d *daemon) next() wirev2.Request {
	q, err := d.reader.ReadRequest()
	require.NoError(d.t, err)
	return q
}

// reply answers q with body, or with an error when body is one.
func (d *daemon) reply(q wirev2.Request, body any) { require.NoError(d.t, d.tryReply(q, body)) }

func (d *daemon) tryReply(q wirev2.Request, body any) error {
	p := wirev2.Response{
		RequestID: q.RequestID, InstanceID: d.instance, ConnectionID: d.connection, SessionID: q.SessionID,
		OperationID: q.OperationID, Method: q.Method, Body: body,
	}
	if failure, ok := body.(*wirev2.Error); ok {
		p.Body, p.Error = nil, failure
	}
	if claim, ok := body.(wirev2.SessionClaimReply); ok {
		p.GrantGeneration = claim.GrantGeneration
	}
	return d.writer.WriteResponse(&p)
}

func (d *daemon) event(e wirev2.Event) {
	e.InstanceID, e.ConnectionID = d.instance, d.connection
	require.NoError(d.t, d.writer.WriteEvent(&e))
}

// text sends a turn.text of a grant.
func (d *daemon) text(session wirev2.ID, generation, sequence int64, text string) {
	d.event(wirev2.Event{
		Event: wirev2.EventTurnText, SessionID: session, GrantGeneration: generation, LiveSequence: sequence,
		Body: wirev2.TurnTextEvent{TurnID: session, Text: text},
	})
}

// raw sends bytes as they are.
func (d *daemon) raw(record string) {
	_, err := io.WriteString(d.conn, record)
	require.NoError(d.t, err)
}

func welcome(tokens ...wirev2.Capability) wirev2.InitializeReply {
	w := wirev2.InitializeReply{
		Daemon: wirev2.DaemonInfo{Name: "magid", Version: "0"}, NegotiatedCapabilities: tokens,
		Capabilities: wirev2.Capabilities{NegotiatedCapabilities: tokens, Limits: wirev2.DefaultLimits()},
	}
	if len(tokens) > 0 {
		callbacks := wirev2.DefaultApplicationCallbacks()
		w.Capabilities.ApplicationCallbacks = &callbacks
	}
	return w
}

var plain = Options{Name: "test", Version: "1"}

// connect returns the two ends of an initialized connection, which are closed when the test ends.
func connect(t *testing.T, options Options) (*Client, *daemon) {
	t.Helper()
	ours, theirs := net.Pipe()
	d := newDaemon(t, theirs)
	go func() {
		if q, err := d.reader.ReadRequest(); err == nil {
			d.reply(q, welcome(options.Capabilities...))
		}
	}()
	c, err := New(bg, ours, options)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		_ = theirs.Close()
	})
	return c, d
}

// answer is what a call came back with.
type answer struct {
	err   error
	call  Call
	reply echo
}

// start makes a call in a goroutine of its own.
func start(ctx context.Context, c *Client, q Call, payload any) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		var reply echo
		err := c.Call(ctx, &q, payload, &reply)
		done <- answer{err, q, reply}
	}()
	return done
}

func requireUnanswered(t *testing.T, err error, sent bool, cause error) *UnansweredError {
	t.Helper()
	var unanswered *UnansweredError
	require.ErrorAs(t, err, &unanswered)
	require.Equal(t, sent, unanswered.Sent)
	require.ErrorIs(t, err, cause)
	return unanswered
}

func requireDisconnect(t *testing.T, err error, cause error) {
	t.Helper()
	var disconnect *DisconnectError
	require.ErrorAs(t, err, &disconnect)
	if cause != nil {
		require.ErrorIs(t, err, cause)
	}
	require.False(t, errors.Is(err, ErrClosed))
}
