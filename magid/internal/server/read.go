package server

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

// read reads and admits requests until the input ends, and says why it did and how long the peer
// should have to see our last record.
func (c *conn) read() (reason string, linger time.Duration) {
	if err := c.network.SetReadDeadline(time.Now().Add(initializeTimeout)); err != nil {
		c.cut(err.Error())
		return err.Error(), 0
	}
	reader, err := wirev2.NewReader(c.network, c.server.limits)
	if err != nil {
		c.cut(err.Error())
		return err.Error(), 0
	}
	for c.queue.place() {
		q, err := reader.ReadRequest()
		if err == nil {
			c.queue.hold()
			c.admit(q)
			c.writeAtOnce(c.queue.unhold())
			continue
		}
		var bad *wirev2.RequestError
		if !errors.As(err, &bad) {
			c.queue.unplace()
			return c.inputEnded(err)
		}
		c.refuse(bad.Request, false, wirev2.CodeInvalidRequest, bad.Reason)
		c.writeAtOnce(c.queue.take())
	}
	return reasonEnd, 0 // the queue knows better
}

func (c *conn) inputEnded(err error) (reason string, linger time.Duration) {
	switch {
	case errors.Is(err, wirev2.ErrInvalidRecord):
		c.queue.seal(&wirev2.Response{
			InstanceID: c.server.opts.Instance, ConnectionID: c.id,
			Error: &wirev2.Error{Code: wirev2.CodeInvalidRecord, Message: err.Error()},
		})
		c.flushFor(flushBroken)
		return "broken record", flushBroken
	case errors.Is(err, os.ErrDeadlineExceeded) && c.peer == nil && !c.queue.isSealed():
		c.cut("not initialised in " + initializeTimeout.String())
		return "", 0
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "daemon stops", 0
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		c.queue.drain()
		c.flushFor(flushEnd)
		return reasonEnd, 0
	default:
		c.cut("read failed: " + err.Error())
		return "", 0
	}
}

// admit makes the checks that need no state of the daemon, in the order of wire-v2 5, and hands
// the request on.
func (c *conn) admit(q wirev2.Request) {
	if !c.queue.outstanding(q.RequestID) {
		c.refuse(q, false, wirev2.CodeInvalidRequest, "request_id belongs to a request that is not answered yet")
		return
	}
	if code, message := c.check(q); code != "" {
		c.refuse(q, true, code, message)
		return
	}
	switch q.Method {
	case wirev2.MethodInitialize:
		c.initialize(q)
	case wirev2.MethodCapabilities:
		c.capabilities(q)
	default:
		c.server.opts.Coordinator.Handle(c.peer, q)
	}
}

func (c *conn) check(q wirev2.Request) (code wirev2.Code, message string) {
	initialize := q.Method == wirev2.MethodInitialize
	if c.peer == nil && !initialize {
		return wirev2.CodeNotInitialized, "the connection is not initialised: send initialize first"
	}
	if c.peer != nil && initialize {
		return wirev2.CodeAlreadyInitialized, "the connection is already initialised"
	}
	info, known := q.Method.Lookup()
	if !known {
		return wirev2.CodeUnknownMethod, "no such method"
	}
	if info.Profile && !c.selected {
		return wirev2.CodeUnsupportedCapability, "the method belongs to application_resources_v1, which this connection has not negotiated"
	}
	if text := checkMembers(info, q); text != "" {
		return wirev2.CodeInvalidRequest, text
	}
	return "", ""
}

// checkMembers compares the envelope with the method table. A control token that is needed and
// null is not refused here: who may learn that the session exists comes first.
func checkMembers(info wirev2.MethodInfo, q wirev2.Request) string {
	if info.Session == wirev2.Either { // operation.lookup
		if q.SessionID == "" && q.ControlToken != "" {
			return "control_token must be null where session_id is null"
		}
	} else {
		switch {
		case info.Session == wirev2.Null && q.SessionID != "":
			return "session_id must be null for this method"
		case info.Session == wirev2.Required && q.SessionID == "":
			return "session_id is required for this method"
		case info.Control == wirev2.Null && q.ControlToken != "":
			return "control_token must be null for this method"
		}
	}
	switch {
	case info.Operation == wirev2.Null && q.OperationID != "":
		return "operation_id must be null for this method"
	case info.Operation == wirev2.Required && q.OperationID == "":
		return "operation_id is required for this method"
	}
	return ""
}

// refuse answers with an error. answers says that the request_id was registered for this request.
func (c *conn) refuse(q wirev2.Request, answers bool, code wirev2.Code, message string) {
	r := c.response(q)
	r.Error = &wirev2.Error{Code: code, Message: message}
	c.send(r, answers)
}

// refusePayload answers a payload that does not decode.
func (c *conn) refusePayload(q wirev2.Request, err error) {
	var bad *wirev2.Error
	if !errors.As(err, &bad) {
		c.server.log.Error("payload cannot be decoded", "method", string(q.Method), "error", err.Error())
		bad = &wirev2.Error{Code: wirev2.CodeInternal, Message: "the payload cannot be decoded"}
	}
	c.refuse(q, true, bad.Code, bad.Message)
}

func (c *conn) send(r wirev2.Response, answers bool) {
	outbox{c}.taken(c.queue.respond(r, answers))
}

func (c *conn) response(q wirev2.Request) wirev2.Response {
	return wirev2.Response{
		RequestID: q.RequestID, Method: q.Method, InstanceID: c.server.opts.Instance, ConnectionID: c.id,
		SessionID: q.SessionID, OperationID: q.OperationID,
	}
}
