package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Callers, some of which give up, and readers of events read one connection in turn: every answer reaches its call, and
// every event each subscription, in order.
func TestWhoWaitsReadsForAll(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer listener.Close()
	const callers, calls, readers = 8, 200, 3
	served := make(chan error, 1)
	go func() { served <- echoWithEvents(listener) }()
	c, err := Dial(bg, listener.Addr().String(), plain)
	require.NoError(t, err)

	var work sync.WaitGroup
	failed := make(chan error, callers+readers)
	for n := range readers {
		s := c.Subscribe(nil)
		work.Go(func() { failed <- readAll(s, n) })
	}
	var calling sync.WaitGroup
	for n := range callers {
		calling.Go(func() { failed <- callOften(c, n, calls) })
	}
	calling.Wait()
	require.NoError(t, c.Call(bg, &Call{Method: wirev2.MethodSessionRelease, SessionID: sessionA, ControlToken: "t"}, nil, nil))
	work.Wait()
	for range callers + readers {
		require.NoError(t, <-failed)
	}
	require.NoError(t, c.Close())
	require.NoError(t, <-served)
}

// callOften makes calls of which every fifth is given up at a moment of its own.
func callOften(c *Client, n, calls int) error {
	for i := range calls {
		ctx, cancel := bg, func() {}
		if i%5 == 0 {
			ctx, cancel = context.WithTimeout(bg, time.Duration(i)*time.Microsecond)
		}
		in, out := echo{fmt.Sprint(n, " ", i)}, echo{}
		err := c.Call(ctx, &Call{Method: wirev2.MethodTurnStart, SessionID: sessionA, ControlToken: "t"}, in, &out)
		cancel()
		if err == nil && in != out {
			return fmt.Errorf("%v was answered with %v", in, out)
		}
		if err != nil && (i%5 != 0 || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// readAll reads texts, which count up, to the one that is empty, and gives up waiting now and then.
func readAll(s *Subscription, n int) error {
	for want := 1; ; {
		ctx, cancel := context.WithTimeout(bg, time.Duration(n)*time.Millisecond)
		e, err := s.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			if n == 0 { // its time is always over, unless there is something
				e, err = s.Next(bg)
			} else {
				continue
			}
		}
		if err != nil {
			return err
		}
		body, err := e.Decode()
		if err != nil {
			return err
		}
		switch text := body.(*wirev2.TurnTextEvent).Text; text {
		case "":
			return nil
		case fmt.Sprint(want):
			want++
		default:
			return fmt.Errorf("event %s came where %d was due", text, want)
		}
	}
}

// echoWithEvents answers with what came, and sends an event before every third answer. A session.release is the last.
func echoWithEvents(listener net.Listener) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	reader, err := wirev2.NewReader(conn, wirev2.Limits{})
	if err != nil {
		return err
	}
	writer := wirev2.NewWriter(conn)
	instance, connection := wirev2.NewID(), wirev2.NewID()
	sequence := int64(0)
	text := func(text string) error {
		sequence++
		return writer.WriteEvent(&wirev2.Event{
			Event: wirev2.EventTurnText, InstanceID: instance, ConnectionID: connection, SessionID: sessionA,
			GrantGeneration: 1, LiveSequence: sequence, Body: wirev2.TurnTextEvent{TurnID: sessionA, Text: text},
		})
	}
	for n := 0; ; n++ {
		q, err := reader.ReadRequest()
		if err != nil {
			return err
		}
		p := wirev2.Response{
			RequestID: q.RequestID, InstanceID: instance, ConnectionID: connection, SessionID: q.SessionID,
			OperationID: q.OperationID, Method: q.Method, Payload: q.Payload,
		}
		last := q.Method == wirev2.MethodSessionRelease
		if q.Method == wirev2.MethodInitialize {
			p.Payload, p.Body = nil, welcome()
		} else if n%3 == 0 {
			err = text(fmt.Sprint(sequence + 1))
		}
		if last {
			err = errors.Join(err, text(""))
		}
		if err := errors.Join(err, writer.WriteResponse(&p)); err != nil || last {
			return err
		}
	}
}

// A reader of events that waits, and so reads, does not wait for more once it is closed, and lets calls end.
func TestAReaderOfEventsDoesNotKeepTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := connect(t, plain)
		s := c.Subscribe(OfSession(sessionB))
		got := make(chan error, 1)
		go func() { _, err := s.Next(bg); got <- err }()
		synctest.Wait()
		for range 3 {
			call := start(bg, c, Call{Method: wirev2.MethodTurnStart, SessionID: sessionA, ControlToken: "t"}, echo{"x"})
			d.reply(d.next(), echo{"y"})
			require.Equal(t, "y", (<-call).reply.Text)
		}
		ctx, cancel := context.WithCancel(bg)
		call := start(ctx, c, Call{Method: wirev2.MethodTurnStart, SessionID: sessionA, ControlToken: "t"}, echo{"x"})
		q := d.next()
		synctest.Wait()
		cancel()
		requireUnanswered(t, (<-call).err, true, context.Canceled)
		d.reply(q, echo{"late"})
		d.text(sessionB, 1, 1, "x")
		require.NoError(t, <-got)
		require.NoError(t, c.Err())
	})
}
