package component

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Closed says whether a sender takes no more items.
func (c *Component) Closed(n int) bool {
	e := c.ends[n]
	return e == nil || e.closing != nil
}

// Send begins the sending of one item, a JSON/0 value. It settles with null when
// the host has accepted the item.
func (c *Component) Send(n int, value jsontext.Value, aborted bool) int {
	e := c.ends[n]
	if e.closing != nil {
		return c.atOnce(nil, fault.New(fault.Disconnected, "the sender was closed"))
	}
	if err := c.admit(aborted, 0); err != nil {
		return c.atOnce(nil, err)
	}
	w := c.waiter()
	r := &request{method: "channel/send", waiters: []int{w}}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		e.sends--
		return c.null(result, err)
	}
	if err := c.request(r, fmt.Appendf(nil, `{"endpoint":%q,"value":%s}`, e.grant.Endpoint, value)); err != nil {
		c.settle(w, nil, err)
		return w
	}
	e.used = true
	e.sends++
	return w
}

// null takes an answer that says nothing but yes.
func (c *Component) null(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
	if err != nil {
		return nil, err
	}
	if string(result) != "null" {
		c.die(fault.ProtocolError, "the host's answer to a send or close is not null")
	}
	return result, nil
}

// CloseSender begins the closing of a sender; lagged declares that observation is
// incomplete. It settles with null.
func (c *Component) CloseSender(n int, lagged, aborted bool) int {
	e := c.ends[n]
	w := c.waiter()
	switch {
	case e.closing != nil && e.closing.lagged == lagged:
		if e.closing.done {
			c.settle(w, jsontext.Value("null"), plain(e.closing.err))
		} else {
			e.closing.request.waiters = append(e.closing.request.waiters, w)
		}
	case e.closing != nil && lagged:
		c.settle(w, nil, fault.New(fault.InvalidInput, "the sender was closed cleanly before"))
	case e.closing != nil:
		c.settle(w, nil, fault.New(fault.Lagged, "the sender was closed as lagging before"))
	case e.sends > 0 && !lagged:
		c.settle(w, nil, fault.New(fault.InvalidInput, "items are still being sent"))
	case aborted:
		c.settle(w, nil, cancelled())
	case c.state == stateDead:
		c.settle(w, nil, c.dead)
	case c.state == stateAnswered:
		c.settle(w, nil, fault.New(fault.OwnerClosed, "the Run is over"))
	default:
		c.closeSender(e, lagged, []int{w})
	}
	return w
}

// closeSender sends channel/close. Where nobody waits for it, a failure leaves
// the Run uncertain.
func (c *Component) closeSender(e *endpoint, lagged bool, waiters []int) {
	e.used = true
	params := fmt.Appendf(nil, `{"endpoint":%q}`, e.grant.Endpoint)
	if lagged {
		params = fmt.Appendf(nil, `{"endpoint":%q,"error":"LAGGED"}`, e.grant.Endpoint)
	}
	unasked := len(waiters) == 0
	r := &request{method: "channel/close", control: true, waiters: waiters}
	e.closing = &closing{lagged: lagged, request: r}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		e.closing.done, e.closing.err = true, err
		if err != nil && unasked {
			c.unsure = true
		}
		return c.null(result, err)
	}
	c.request(r, params)
}
