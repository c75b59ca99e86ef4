package component

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// done is the value of a read at the end of the stream.
var done = jsontext.Value("null")

// Next begins a read. It settles with {"value": item}, or with null at the end.
func (c *Component) Next(n int, aborted bool) int {
	e := c.ends[n]
	switch {
	case e.reading && e.release == nil:
		return c.atOnce(nil, fault.New(fault.InvalidInput, "this receiver is being read already"))
	case e.failure != nil:
		e.shown = true
		return c.atOnce(nil, e.failure)
	case e.ended || e.release != nil:
		return c.atOnce(done, nil)
	}
	if err := c.admit(aborted, 0); err != nil {
		return c.atOnce(nil, err)
	}
	w := c.waiter()
	r := &request{method: "channel/next", waiters: []int{w}}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		e.reading = false
		return c.item(e, r, result, err)
	}
	r.settled = func() { c.closersOf(e) }
	r.giveUp = func() { c.dispose(e, true) }
	if err := c.request(r, fmt.Appendf(nil, `{"endpoint":%q}`, e.grant.Endpoint)); err != nil {
		c.settle(w, nil, err)
		return w
	}
	e.used, e.reading = true, true
	return w
}

// item takes the answer to a read.
func (c *Component) item(e *endpoint, r *request, result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
	if err != nil {
		if e.release != nil && (err.Code == fault.Cancelled || err.Code == fault.Disconnected) {
			return done, nil // by our own release, which may have gone ahead of the read
		}
		e.failure, e.shown = err, len(r.waiters) > 0
		return nil, err
	}
	var f struct {
		Item jsontext.Value `json:"item"`
		End  jsontext.Value `json:"end"`
	}
	if json0.Decode(result, &f) != nil || (f.Item == nil) == (f.End == nil) {
		c.die(fault.ProtocolError, "the host's answer to channel/next is malformed")
		return nil, nil
	}
	if f.End != nil {
		last, ok := sequenceOf(f.End, "lastSequence")
		if !ok || last != e.last {
			c.die(fault.ProtocolError, "the host ended a channel at another item than the last")
			return nil, nil
		}
		e.ended = true
		return done, nil
	}
	members, ok := exactly(f.Item, "sequence", "value")
	sequence, isNumber := integer(members["sequence"])
	if !ok || !isNumber || sequence != e.last+1 {
		c.die(fault.ProtocolError, "the host left out or repeated an item of a channel")
		return nil, nil
	}
	e.last = sequence
	return fmt.Appendf(nil, `{"value":%s}`, members["value"]), nil
}

func sequenceOf(raw jsontext.Value, name string) (int64, bool) {
	members, ok := exactly(raw, name)
	n, isNumber := integer(members[name])
	return n, ok && isNumber && n >= 0
}

func integer(raw jsontext.Value) (n int64, ok bool) {
	return n, raw.Kind() == '0' && json0.Decode(raw, &n) == nil
}

// CloseReceiver begins close or return. It settles with null once the release and
// any earlier read have settled, or with the first cause that nothing has shown.
func (c *Component) CloseReceiver(n int, aborted bool) int {
	e := c.ends[n]
	w := c.waiter()
	switch {
	case aborted && e.release == nil:
		c.settle(w, nil, cancelled())
		return w
	case c.state == stateDead && (e.release == nil || !e.release.done):
		c.settle(w, nil, c.dead)
		return w
	case c.state == stateAnswered && e.release == nil:
		c.settle(w, nil, fault.New(fault.OwnerClosed, "the Run is over"))
		return w
	}
	e.closers = append(e.closers, w)
	if e.release == nil {
		c.dispose(e, false)
	} else {
		c.closersOf(e)
	}
	return w
}

// dispose releases a receiver. retained says that nobody waits for it, and a
// failure would leave the Run uncertain.
func (c *Component) dispose(e *endpoint, retained bool) {
	if e.release != nil {
		return
	}
	if retained || len(e.closers) > 0 {
		e.used = true
	}
	e.release = &release{}
	r := &request{method: "channel/release", control: true}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		e.release.done = true
		switch {
		case err != nil && retained:
			c.unsure = true
		case err != nil && len(e.closers) == 0:
			c.cleanup = true
		case err == nil:
			err = c.released(e, result)
		}
		if err != nil && e.failure == nil {
			e.failure = err
		}
		return nil, nil
	}
	r.settled = func() { c.closersOf(e) }
	c.request(r, fmt.Appendf(nil, `{"endpoint":%q}`, e.grant.Endpoint))
}

// released reads the status of a release. It returns the failure of the stream.
func (c *Component) released(e *endpoint, result jsontext.Value) *fault.Error {
	var f struct {
		Status  *string        `json:"status"`
		Last    jsontext.Value `json:"lastSequence"`
		Code    *fault.Code    `json:"code"`
		Details jsontext.Value `json:"details"`
	}
	status := ""
	if json0.Decode(result, &f) == nil && f.Status != nil {
		status = *f.Status
	}
	last, isNumber := integer(f.Last)
	switch {
	case status == "released" && f.Last == nil && f.Code == nil && f.Details == nil:
		return nil
	case status == "ended" && isNumber && f.Code == nil && f.Details == nil && last >= e.last && (!e.ended || last == e.last):
		return nil
	case status == "failed" && f.Last == nil && f.Code != nil && f.Code.OnWire():
		return &fault.Error{Code: *f.Code, Message: "the channel failed", Details: f.Details}
	}
	c.die(fault.ProtocolError, "the host's answer to channel/release is malformed")
	return nil
}

// closersOf settles what waits for a close, once there is nothing left to wait
// for. The first of them shows a failure that nobody has seen.
func (c *Component) closersOf(e *endpoint) {
	if e.release == nil || !e.release.done || e.reading {
		return
	}
	for _, w := range e.closers {
		if e.failure != nil && !e.shown {
			e.shown = true
			c.settle(w, nil, e.failure)
			continue
		}
		c.settle(w, done, nil)
	}
	e.closers = nil
}
