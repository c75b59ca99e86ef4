package client

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

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

var calls = sync.Pool{New: func() any { return &call{answered: make(chan struct{}, 1)} }}

func (w *call) recycle() {
	*w = call{record: w.record[:0], answered: w.answered}
	calls.Put(w)
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
	w := calls.Get().(*call)
	w.reply = reply
	w.request = wirev2.Request{
		Method: q.Method, SessionID: q.SessionID, ControlToken: q.ControlToken, OperationID: q.OperationID,
		DeadlineMS: int64((q.Deadline + time.Millisecond - 1) / time.Millisecond),
	}
	if err := c.encode(w, payload); err != nil {
		w.recycle()
		return err
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		w.recycle()
		return &UnansweredError{q.Method, q.OperationID, false, ctx.Err()}
	case <-c.done:
		w.recycle()
		return &UnansweredError{q.Method, q.OperationID, false, c.Err()}
	}
	if err := c.enqueue(w); err != nil {
		<-c.slots
		w.recycle()
		return &UnansweredError{q.Method, q.OperationID, false, err}
	}
	select {
	case <-w.answered:
	case <-ctx.Done():
		if sent, gone := c.abandon(w); gone {
			return &UnansweredError{q.Method, q.OperationID, sent, ctx.Err()}
		}
		<-w.answered // the answer was there already
	}
	err := w.err
	q.GrantGeneration = w.generation
	w.recycle()
	return err
}

func (c *Client) encode(w *call, payload any) (err error) {
	c.mu.Lock()
	c.requests++
	n := c.requests
	c.mu.Unlock()
	w.request.RequestID = strconv.FormatUint(n, 10)
	switch p := payload.(type) {
	case nil:
	case rawValue:
		w.request.Payload = p
	default:
		w.request.Body = payload
	}
	w.record, err = wirev2.AppendRequest(w.record[:0], &w.request)
	w.request.Payload, w.request.Body = nil, nil
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
	for i, queued := range c.queue {
		if queued == w {
			c.queue = append(c.queue[:i], c.queue[i+1:]...)
			break
		}
	}
	<-c.slots
	w.recycle()
	return false, true
}

// settle answers w, which is no longer pending, with the end of the connection.
func (c *Client) settle(w *call, reason error) {
	<-c.slots
	if w.abandoned {
		w.recycle()
		return
	}
	w.err = &UnansweredError{w.request.Method, w.request.OperationID, w.sent, reason}
	w.answered <- struct{}{}
}
