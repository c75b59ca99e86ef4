package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Call says what to call and under which authority. Members that the method does not take stay empty.
type Call struct {
	Method       wirev2.Method
	SessionID    wirev2.ID
	ControlToken wirev2.Secret

	// OperationID names a mutation. Choose it yourself, and keep it, where a lost reply must be looked up later; else
	// Client.Call fills in a fresh one before anything is sent.
	OperationID wirev2.ID

	// Deadline is how long the daemon may take to decide; 0 leaves it to the daemon (30 s). It is sent in milliseconds,
	// rounded up. The context bounds how long the caller waits.
	Deadline time.Duration

	// GrantGeneration is set from the reply: the grant that was used or created, 0 where there was none.
	GrantGeneration int64
}

// UnansweredError says that a call got no answer, and what is known of it. Its cause is the context's error, ErrClosed or
// a *DisconnectError.
type UnansweredError struct {
	Method      wirev2.Method
	OperationID wirev2.ID // of a mutation: look it up on another connection

	// Sent is false where no byte of the request left: nothing was done, and the same operation ID may be used again.
	// Where it is true the request may have been carried out.
	Sent bool

	cause error
}

// Error says whether the request was sent.
func (e *UnansweredError) Error() string {
	if e.Sent {
		return fmt.Sprintf("%s: sent, not answered: %v", e.Method, e.cause)
	}
	return fmt.Sprintf("%s: not sent: %v", e.Method, e.cause)
}

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.cause }

// call is a request on its way.
type call struct {
	request    wirev2.Request
	reply      any
	record     []byte
	sent       bool          // guarded by Client.mu
	abandoned  bool          // guarded by Client.mu: nobody waits any more
	generation int64         // from the answer
	err        error         // the answer
	answered   chan struct{} // holds one token once the answer is there
}

// take returns a call with a request ID of its own. Calls are kept for the next: their buffers, channels and nothing else.
func (c *Client) take() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	w := &call{}
	if n := len(c.free); n > 0 {
		w = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		w.answered = make(chan struct{}, 1)
	}
	w.request.RequestID = strconv.FormatUint(c.requests, 10)
	return w
}

func (c *Client) giveBack(w *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveBackLocked(w)
}

func (c *Client) giveBackLocked(w *call) {
	*w = call{record: w.record[:0], answered: w.answered}
	if len(c.free) < c.options.MaxInFlight {
		c.free = append(c.free, w)
	}
}

// Call sends one request and waits for its answer. payload is a payload type of wirev2 (a struct or a pointer to one) or
// a jsontext.Value holding an object; nil is {}. The answer's payload is decoded strictly into reply, a pointer to a
// payload type or a *jsontext.Value; nil is discarded. While MaxInFlight requests are unanswered, Call waits.
//
// When the context ends first, Call returns and the answer, should it come, is discarded; its place among the requests
// in flight is free when it has come.
func (c *Client) Call(ctx context.Context, q *Call, payload, reply any) error {
	if info, ok := q.Method.Lookup(); ok && info.Operation == wirev2.Required && q.OperationID == "" {
		q.OperationID = wirev2.NewID()
	}
	if err := ctx.Err(); err != nil {
		return &UnansweredError{q.Method, q.OperationID, false, err}
	}
	w := c.take()
	if err := w.encode(q, payload); err != nil {
		c.giveBack(w)
		return err
	}
	w.reply = reply
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		c.giveBack(w)
		return &UnansweredError{q.Method, q.OperationID, false, ctx.Err()}
	case <-c.done:
		c.giveBack(w)
		return &UnansweredError{q.Method, q.OperationID, false, c.Err()}
	}
	if err := c.enqueue(w); err != nil {
		<-c.slots
		c.giveBack(w)
		return &UnansweredError{q.Method, q.OperationID, false, err}
	}
	err := c.wait(ctx, w.answered, false)
	if err != nil {
		if sent, gone := c.abandon(w); gone {
			return &UnansweredError{q.Method, q.OperationID, sent, err}
		}
		<-w.answered // the answer was there already
	}
	err = w.err
	q.GrantGeneration = w.generation
	c.giveBack(w)
	return err
}

func (w *call) encode(q *Call, payload any) (err error) {
	r := &w.request
	r.Method, r.SessionID, r.ControlToken, r.OperationID = q.Method, q.SessionID, q.ControlToken, q.OperationID
	r.DeadlineMS = int64((q.Deadline + time.Millisecond - 1) / time.Millisecond)
	if raw, ok := payload.(jsontext.Value); ok {
		r.Payload = raw
	} else {
		r.Body = payload
	}
	w.record, err = wirev2.AppendRequest(w.record[:0], r)
	r.Payload, r.Body = nil, nil
	return err
}

// abandon gives up waiting for w, and reports whether it was sent; gone is false when it is answered or being answered.
func (c *Client) abandon(w *call) (sent, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := w.request.RequestID
	if c.pending[id] != w {
		return false, false
	}
	if w.sent {
		w.abandoned, w.reply = true, nil
		return true, true
	}
	delete(c.pending, id)
	c.queue = slices.DeleteFunc(c.queue, func(queued *call) bool { return queued == w })
	<-c.slots
	c.giveBackLocked(w)
	return false, true
}

// settle answers w, which is no longer pending, with the end of the connection. The caller holds mu.
func (c *Client) settle(w *call, reason error) {
	<-c.slots
	if w.abandoned {
		c.giveBackLocked(w)
		return
	}
	w.err = &UnansweredError{w.request.Method, w.request.OperationID, w.sent, reason}
	w.answered <- struct{}{}
}
