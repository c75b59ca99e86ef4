package component

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// Create begins run.channel with the author's options. The value is
// {send, receive} with what is to be seen of both ends, or {send, source} with
// the source's number.
func (c *Component) Create(raw jsontext.Value, aborted bool) int {
	delivery, err := createOptions(raw)
	if err != nil {
		return c.atOnce(nil, err)
	}
	allocates := 2
	if delivery == contract.Broadcast {
		allocates = 1
	}
	if err := c.admit(aborted, allocates); err != nil {
		return c.atOnce(nil, err)
	}
	n := c.waiter()
	r := &request{method: "channel/create", waiters: []int{n}}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		c.allocates -= allocates
		if err != nil {
			return nil, err
		}
		return c.created(r, result, delivery), nil
	}
	if err := c.request(r, raw); err != nil {
		c.settle(n, nil, err)
		return n
	}
	c.allocates += allocates
	return n
}

func createOptions(raw jsontext.Value) (delivery string, err error) {
	var f struct {
		Delivery jsontext.Value `json:"delivery"`
		Schema   jsontext.Value `json:"schema"`
		Contract jsontext.Value `json:"contract"`
	}
	if raw.Kind() != '{' || json0.Decode(raw, &f) != nil {
		return "", &TypeError{"run.channel takes {delivery?, schema?, contract?}"}
	}
	delivery = contract.Direct
	if f.Delivery != nil {
		if delivery, _ = stringOf(f.Delivery); delivery != contract.Direct && delivery != contract.Broadcast {
			return "", &TypeError{"delivery is direct or broadcast"}
		}
	}
	if f.Schema != nil && f.Contract != nil {
		return "", &TypeError{"a channel has a schema or a contract, not both"}
	}
	switch k := f.Schema.Kind(); {
	case f.Schema == nil, k == '{', k == 't', k == 'f':
	default:
		return "", &TypeError{"a schema is an object, true or false"}
	}
	if f.Contract == nil {
		return delivery, nil
	}
	if path, isText := stringOf(f.Contract); isText {
		if !strings.HasPrefix(path, "./") || len(path) < 3 || len(path) > 4096 {
			return "", &TypeError{`a contract's path begins with "./"`}
		}
		return delivery, nil
	}
	members, ok := exactly(f.Contract, "slot", "channel")
	slot, isText := stringOf(members["slot"])
	channel, isTextToo := stringOf(members["channel"])
	if !ok || !isText || !isTextToo || !contract.LocalName(slot) || !contract.LocalName(channel) {
		return "", &TypeError{`a contract is "./path" or {slot, channel} with two names`}
	}
	return delivery, nil
}

// created takes a new channel. A creation that nobody waits for any more is put
// away again.
func (c *Component) created(r *request, result jsontext.Value, delivery string) jsontext.Value {
	second := "receive"
	if delivery == contract.Broadcast {
		second = "source"
	}
	members, ok := exactly(result, "send", second)
	send, isGrant := readGrant(members["send"])
	ok = ok && isGrant && c.fresh(send, contract.Send, delivery)
	if !ok {
		c.die(fault.ProtocolError, "the host's answer to channel/create is malformed")
		return nil
	}
	if delivery == contract.Broadcast {
		source, isText := stringOf(members["source"])
		if !isText || !run0.WireID(source) {
			c.die(fault.ProtocolError, "the host's answer to channel/create is malformed")
			return nil
		}
		w := c.hold(send)
		c.number++
		c.sources[c.number] = source
		if len(r.waiters) == 0 {
			c.closeSender(w, false, nil)
		}
		return fmt.Appendf(nil, `{"send":%s,"source":%d}`, w.view(), c.number)
	}
	receive, isGrant := readGrant(members["receive"])
	if !isGrant || !c.fresh(receive, contract.Receive, delivery) || receive.Endpoint == send.Endpoint || !sameContract(send.Contract, receive.Contract) {
		c.die(fault.ProtocolError, "the host's answer to channel/create is malformed")
		return nil
	}
	w, e := c.hold(send), c.hold(receive)
	w.pair, e.pair = e, w
	if len(r.waiters) == 0 {
		c.dispose(e, true)
	}
	return fmt.Appendf(nil, `{"send":%s,"receive":%s}`, w.view(), e.view())
}

// fresh says whether a grant is what was asked for and was never seen before.
func (c *Component) fresh(g grant, direction, delivery string) bool {
	return g.Direction == direction && g.Delivery == delivery && !c.tokens[g.Endpoint]
}

// Subscribe begins a subscription to the broadcast source of that number. The
// value is what is to be seen of the new receiver.
func (c *Component) Subscribe(source int, aborted bool) int {
	if err := c.admit(aborted, 1); err != nil {
		return c.atOnce(nil, err)
	}
	n := c.waiter()
	r := &request{method: "channel/subscribe", waiters: []int{n}}
	r.answer = func(result jsontext.Value, err *fault.Error) (jsontext.Value, error) {
		c.allocates--
		if err != nil {
			return nil, err
		}
		g, ok := readGrant(result)
		if !ok || !c.fresh(g, contract.Receive, contract.Broadcast) {
			c.die(fault.ProtocolError, "the host's answer to channel/subscribe is malformed")
			return nil, nil
		}
		e := c.hold(g)
		e.connected = true
		if len(r.waiters) == 0 {
			c.dispose(e, true)
		}
		return e.view(), nil
	}
	if err := c.request(r, fmt.Appendf(nil, `{"source":%q}`, c.sources[source])); err != nil {
		c.settle(n, nil, err)
		return n
	}
	c.allocates++
	return n
}
