package component

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Limits bounds a component. 0 means the default; a negative value panics in New,
// since it is the engine's own constant.
type Limits struct {
	FrameBytes int // payload of one frame; default 16,777,216
	Live       int // requests unanswered at once; default 64
	Requests   int // requests in its life; default 65,536
	Endpoints  int // endpoints ever held; default 512
	QueueBytes int // frames that wait to be written; default 32 MiB
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		at  *int
		def int
	}{
		{&l.FrameBytes, json0.MaxBytes}, {&l.Live, 64}, {&l.Requests, 65_536}, {&l.Endpoints, 512}, {&l.QueueBytes, 32 << 20},
	} {
		if *f.at < 0 {
			panic("component: a negative limit")
		}
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	return l
}

// TypeError is a mistake of the author's.
type TypeError struct{ Message string }

func (e *TypeError) Error() string { return e.Message }

// EventKind says what an event is.
type EventKind uint8

// Kinds of events.
const (
	Started  EventKind = iota + 1 // the host has asked for the run; Value is its context
	Settled                       // a waiter; Value or Err
	Aborted                       // the root was cancelled, or the connection failed; Err says why
	Answered                      // the root's answer is on its way, or its params were refused; Err says what made a failure of a success
	Failed                        // the connection is of no use any more; Err says why
)

// Event is something that the author has to hear.
type Event struct {
	Kind  EventKind
	N     int            // of a waiter
	Value jsontext.Value // as JSON for the author
	Err   error
}

type state uint8

const (
	stateNew     state = iota // flow/run has not come
	stateOpen                 // the handler runs
	stateClosing              // the handler has settled
	stateAnswered
	stateDead
)

// Component is one Flow's side of one conversation. It is for one goroutine.
type Component struct {
	l     Limits
	state state

	rootID  string
	aborted bool         // the root was cancelled
	dead    *fault.Error // why, in stateDead

	waiters   int
	requests  map[string]*request // sent or queued, unanswered
	parked    []*request          // control requests that wait for a free place
	issued    int                 // requests ever made
	allocates int                 // endpoints that pending requests may bring

	ends    map[int]*endpoint
	sources map[int]string // broadcast sources by number
	tokens  map[string]bool
	number  int // of the last endpoint or source

	control, ordinary [][]byte // frames to be written
	queued            int      // their bytes
	events            []Event

	outcome                   // of the handler
	disposed, cleanup, unsure bool
}

// request is one request of ours that the host has not answered.
type request struct {
	id      string
	method  string
	frame   []byte
	control bool

	waiters   []int // unsettled
	cancelled bool  // request/cancel was sent
	answer    func(result jsontext.Value, err *fault.Error) (jsontext.Value, error)
	settled   func() // after the waiters have heard
	giveUp    func() // when the last waiter gives up
}

// New is a component before its run.
func New(l Limits) *Component {
	return &Component{
		l: l.withDefaults(), requests: map[string]*request{}, ends: map[int]*endpoint{}, sources: map[int]string{}, tokens: map[string]bool{},
	}
}

// Events takes what the author has to hear, in order.
func (c *Component) Events() []Event {
	events := c.events
	c.events = nil
	return events
}

// Output takes the next frame to be written, without its LF, or nil. Requests
// that close and release go ahead of everything that waits.
func (c *Component) Output() []byte {
	from := &c.control
	if len(*from) == 0 {
		from = &c.ordinary
	}
	if len(*from) == 0 {
		return nil
	}
	frame := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	c.queued -= len(frame)
	return frame
}

func (c *Component) write(frame []byte, control bool) {
	c.queued += len(frame)
	if control {
		c.control = append(c.control, frame)
	} else {
		c.ordinary = append(c.ordinary, frame)
	}
}

func (c *Component) emit(e Event) { c.events = append(c.events, e) }

// waiter begins something that the author waits for.
func (c *Component) waiter() int {
	c.waiters++
	return c.waiters
}

// settle tells a waiter what became of it.
func (c *Component) settle(n int, value jsontext.Value, err error) {
	c.emit(Event{Kind: Settled, N: n, Value: value, Err: err})
}

// at once settles a new waiter.
func (c *Component) atOnce(value jsontext.Value, err error) int {
	n := c.waiter()
	c.settle(n, value, err)
	return n
}

// admit says why no new ordinary request can be made, or nil. It is the order of
// the checks that an author sees (flow-author-api 1.5).
func (c *Component) admit(aborted bool, allocates int) *fault.Error {
	live := c.l.Live
	if len(c.ends) > 0 || c.allocates+allocates > 0 {
		live-- // kept for close and release
	}
	switch {
	case c.state == stateDead:
		return c.dead
	case c.state != stateOpen || c.aborted:
		return fault.New(fault.OwnerClosed, "the Run admits no new work")
	case aborted:
		return cancelled()
	case len(c.requests)+len(c.parked) >= live:
		return fault.New(fault.ResourceExhausted, "too many requests wait for the host")
	case c.issued+1+c.reserve()+allocates > c.l.Requests:
		return fault.New(fault.ResourceExhausted, "the Run has made as many requests as it may")
	case len(c.ends)+c.allocates+allocates > c.l.Endpoints:
		return fault.New(fault.ResourceExhausted, "the Run holds as many channel endpoints as it may")
	case c.queued > c.l.QueueBytes:
		return fault.New(fault.ResourceExhausted, "too much waits to be read by the host")
	}
	return nil
}

// reserve is how many ids are kept, so that every endpoint can be closed or
// released in the end.
func (c *Component) reserve() int {
	n := c.allocates
	for _, e := range c.ends {
		if !e.ending() {
			n++
		}
	}
	return n
}

func cancelled() *fault.Error { return fault.New(fault.Cancelled, "the operation was cancelled") }

// request makes a request. A control request is never refused; it waits here
// until one of the 64 places is free.
func (c *Component) request(r *request, params jsontext.Value) *fault.Error {
	c.issued++
	r.id = fmt.Sprintf("component:%d", c.issued)
	r.frame = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, r.id, r.method, params)
	if len(r.frame) > c.l.FrameBytes || json0.Check(r.frame) != nil {
		c.issued--
		return fault.New(fault.InvalidInput, "the request does not fit one frame")
	}
	if len(c.requests) >= c.l.Live {
		c.parked = append(c.parked, r)
		return nil
	}
	c.send(r)
	return nil
}

func (c *Component) send(r *request) {
	c.requests[r.id] = r
	c.write(r.frame, r.control)
	r.frame = nil
}

// GiveUp settles a waiter as cancelled, by the author's own signal. What the
// waiter waited for is cancelled at the host if nobody else waits for it.
func (c *Component) GiveUp(n int) {
	for _, r := range c.all() {
		for i, w := range r.waiters {
			if w != n {
				continue
			}
			r.waiters = append(r.waiters[:i:i], r.waiters[i+1:]...)
			c.settle(n, nil, cancelled())
			if len(r.waiters) == 0 {
				c.abandon(r)
			}
			return
		}
	}
	for _, e := range c.ends {
		e.closers = c.without(e.closers, n)
	}
}

// without settles n as cancelled if it is in list.
func (c *Component) without(list []int, n int) []int {
	for i, w := range list {
		if w == n {
			c.settle(n, nil, cancelled())
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// abandon cancels a request at the host. Closing and releasing go on.
func (c *Component) abandon(r *request) {
	if r.control || r.cancelled {
		return
	}
	r.cancelled = true
	c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, r.id), false)
	if r.giveUp != nil {
		r.giveUp()
	}
}

// all lists unanswered requests in the order in which they were made.
func (c *Component) all() []*request {
	out := make([]*request, 0, len(c.requests)+len(c.parked))
	for _, r := range c.requests {
		out = append(out, r)
	}
	out = append(out, c.parked...)
	sortByID(out)
	return out
}

// abandonAll gives up every ordinary request.
func (c *Component) abandonAll() {
	for _, r := range c.all() {
		if r.control {
			continue
		}
		for _, n := range r.waiters {
			c.settle(n, nil, cancelled())
		}
		r.waiters = nil
		c.abandon(r)
	}
}

// answered takes the host's one answer to a request.
func (c *Component) answered(r *request, result jsontext.Value, failure *fault.Error) {
	value, err := r.answer(result, failure)
	if c.state == stateDead {
		return // and r's waiters have heard so
	}
	delete(c.requests, r.id)
	for _, n := range r.waiters {
		c.settle(n, value, err)
	}
	r.waiters = nil
	if r.settled != nil {
		r.settled()
	}
	for len(c.parked) > 0 && len(c.requests) < c.l.Live {
		next := c.parked[0]
		c.parked = c.parked[1:]
		c.send(next)
	}
	c.advance()
}

// die ends the component: everything that waits fails.
func (c *Component) die(code fault.Code, reason string) {
	if c.state == stateDead || c.state == stateAnswered {
		return
	}
	c.state, c.dead = stateDead, fault.New(code, reason)
	c.emit(Event{Kind: Aborted, Err: c.dead})
	for _, r := range c.all() {
		for _, n := range r.waiters {
			c.settle(n, nil, c.dead)
		}
		r.waiters = nil
	}
	for _, n := range sortedEnds(c.ends) {
		for _, w := range c.ends[n].closers {
			c.settle(w, nil, c.dead)
		}
		c.ends[n].closers = nil
	}
	c.requests, c.parked = map[string]*request{}, nil
	c.emit(Event{Kind: Failed, Err: c.dead})
}

// plain keeps a nil *fault.Error from becoming an error that is not nil.
func plain(err *fault.Error) error {
	if err == nil {
		return nil
	}
	return err
}
