package server

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

func (c *conn) initialize(q wirev2.Request) {
	var request wirev2.InitializeRequest
	if err := wirev2.DecodePayload(q.Payload, &request); err != nil {
		c.refusePayload(q, err)
		return
	}
	for _, token := range request.RequestedCapabilities {
		if token == wirev2.CapabilityRetiredInline || token == wirev2.CapabilityRetiredSession {
			c.refuse(q, true, wirev2.CodeUnsupportedCapability, "the capability "+string(token)+" is retired: use "+string(wirev2.CapabilityApplicationResources))
			return
		}
	}
	c.negotiated = []wirev2.Capability{} // encodes as [], not null
	if c.server.opts.Profile && slices.Contains(request.RequestedCapabilities, wirev2.CapabilityApplicationResources) {
		c.negotiated = append(c.negotiated, wirev2.CapabilityApplicationResources)
		c.selected = true
	}
	// From here on the connection may stay silent for as long as it likes.
	if err := c.network.SetReadDeadline(time.Time{}); err != nil {
		c.cut("read deadline: " + err.Error())
		return
	}
	if c.queue.isSealed() {
		return // finish came first, and we have just taken back the deadline that was to wake us
	}
	c.peer = c.server.opts.Coordinator.Connect(c.id, c.selected, outbox{c})
	offer := c.offer()
	if c.encodedOffer = c.encodeReply(q, &offer); c.encodedOffer == nil {
		return
	}
	if reply := c.encodeReply(q, &wirev2.InitializeReply{
		Daemon:                 wirev2.DaemonInfo{Name: "magid", Version: c.server.opts.Version},
		NegotiatedCapabilities: c.negotiated,
		Capabilities:           offer,
	}); reply != nil {
		c.reply(q, reply)
	}
}

func (c *conn) capabilities(q wirev2.Request) {
	var request wirev2.CapabilitiesRequest
	if err := wirev2.DecodePayload(q.Payload, &request); err != nil {
		c.refusePayload(q, err)
		return
	}
	c.reply(q, c.encodedOffer)
}

// offer is what this connection may do. It never changes after initialize.
func (c *conn) offer() wirev2.Capabilities {
	offer := wirev2.Capabilities{NegotiatedCapabilities: c.negotiated, Limits: c.server.limits}
	for _, info := range wirev2.Methods() {
		if info.Method != wirev2.MethodInitialize && (!info.Profile || c.selected) {
			offer.Operations = append(offer.Operations, info.Method)
		}
	}
	slices.Sort(offer.Operations)
	offer.Events = []wirev2.EventName{
		wirev2.EventSessionControlLost, wirev2.EventTurnStarted, wirev2.EventTurnText, wirev2.EventTurnTool, wirev2.EventTurnTerminal,
	}
	if c.selected {
		offer.Events = append(offer.Events, wirev2.EventTurnApplicationToolCall, wirev2.EventTurnApplicationToolCancel)
		callbacks := wirev2.DefaultApplicationCallbacks()
		offer.ApplicationCallbacks = &callbacks
	}
	slices.Sort(offer.Events)
	return offer
}

// encodeReply encodes a payload, or answers that it cannot be and returns nil.
func (c *conn) encodeReply(q wirev2.Request, payload any) jsontext.Value {
	encoded, err := wirev2.EncodePayload(payload)
	if err != nil {
		c.server.log.Error("reply cannot be encoded", "method", string(q.Method), "error", err.Error())
		c.refuse(q, true, wirev2.CodeInternal, "the reply cannot be encoded")
		return nil
	}
	return encoded
}

func (c *conn) reply(q wirev2.Request, payload jsontext.Value) {
	r := c.response(q)
	r.Payload = payload
	c.send(r, true)
}
