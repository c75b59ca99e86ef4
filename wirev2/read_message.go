package wirev2

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// message makes m of the record in the scanner, and says what is wrong with it. The strings that seldom change, and the
// ones that echo a request, are taken over and not allocated again.
func (r *Reader) message(m *Message, pending func([]byte) (*Request, bool)) string {
	kind := r.member("kind")
	switch {
	case kind == nil:
		return "kind is missing"
	case isText(kind, "response"):
		m.IsEvent = false
		return r.response(&m.Response, pending)
	case isText(kind, "event"):
		m.IsEvent = true
		return r.event(&m.Event)
	}
	return "kind is malformed"
}

func (r *Reader) member(name string) []byte {
	for _, m := range r.scan.members {
		if string(m.name) == name {
			return m.value
		}
	}
	return nil
}

func (r *Reader) response(p *Response, pending func([]byte) (*Request, bool)) string {
	last := *p
	*p = Response{}
	limit := MaxHistoryPayloadBytes // the largest there is, where the method is not known
	var q *Request
	if raw := r.member("request_id"); raw != nil && string(raw) != nullLiteral {
		id := content(raw)
		if !validRequestID(id) {
			return "request_id is malformed"
		}
		if pending != nil {
			var ok bool
			if q, ok = pending(id); !ok {
				return "it answers no request"
			}
			p.RequestID, p.Method = q.RequestID, q.Method
			limit = q.Method.MaxReplyBytes(r.limits)
			last.SessionID, last.OperationID = q.SessionID, q.OperationID
		} else {
			p.RequestID = string(id)
		}
	}
	seen := 0
	for _, m := range r.scan.members {
		ok := true
		switch string(m.name) {
		case "v":
			seen |= 1 << 0
			ok = string(m.value) == "2"
		case "kind":
			seen |= 1 << 1
		case "request_id":
			seen |= 1 << 2
		case "instance_id":
			seen |= 1 << 3
			ok = takeID(m.value, last.InstanceID, &p.InstanceID)
		case "connection_id":
			seen |= 1 << 4
			ok = takeID(m.value, last.ConnectionID, &p.ConnectionID)
		case "session_id":
			seen |= 1 << 5
			ok = takeNullOrID(m.value, last.SessionID, &p.SessionID)
		case "operation_id":
			seen |= 1 << 6
			ok = takeNullOrID(m.value, last.OperationID, &p.OperationID)
		case "grant_generation":
			seen |= 1 << 7
			p.GrantGeneration, ok = nullOrPositive(m.value)
		case "payload":
			seen |= 1 << 8
			p.Payload = jsontext.Value(m.value)
			ok = m.value[0] == '{' && len(m.value) <= limit
		case "error":
			seen |= 1 << 9
			p.Error = new(Error)
			ok = DecodePayload(m.value, p.Error) == nil
		default:
			return "it has a member that is not known"
		}
		if !ok {
			return string(m.name) + " is malformed"
		}
	}
	switch {
	case seen&0xff != 0xff:
		return "a member is missing"
	case r.scan.extra || (p.Payload == nil) == (p.Error == nil):
		return "it has not either payload or error"
	case p.RequestID == "" && p.Error == nil:
		return "it answers no request"
	case q != nil && (p.SessionID != q.SessionID || p.OperationID != q.OperationID):
		return "it does not echo the session and operation of its request"
	}
	return ""
}

func (r *Reader) event(e *Event) string {
	last := *e
	*e = Event{}
	seen := 0
	for _, m := range r.scan.members {
		ok := true
		switch string(m.name) {
		case "v":
			seen |= 1 << 0
			ok = string(m.value) == "2"
		case "kind":
			seen |= 1 << 1
		case "event":
			seen |= 1 << 2
			if isText(m.value, string(last.Event)) {
				e.Event = last.Event
				break
			}
			var name string
			name, ok = text(m.value)
			e.Event = EventName(name)
		case "instance_id":
			seen |= 1 << 3
			ok = takeID(m.value, last.InstanceID, &e.InstanceID)
		case "connection_id":
			seen |= 1 << 4
			ok = takeID(m.value, last.ConnectionID, &e.ConnectionID)
		case "session_id":
			seen |= 1 << 5
			ok = takeNullOrID(m.value, last.SessionID, &e.SessionID)
		case "operation_id":
			seen |= 1 << 6
			ok = takeNullOrID(m.value, last.OperationID, &e.OperationID)
		case "grant_generation":
			seen |= 1 << 7
			e.GrantGeneration, ok = nullOrPositive(m.value)
		case "live_sequence":
			seen |= 1 << 8
			e.LiveSequence, ok = nullOrPositive(m.value)
		case "payload":
			seen |= 1 << 9
			e.Payload = jsontext.Value(m.value)
			ok = m.value[0] == '{' && len(m.value) <= int(r.limits.MaxPayloadBytes)
		default:
			return "it has a member that is not known"
		}
		if !ok {
			return string(m.name) + " is malformed"
		}
	}
	switch {
	case r.scan.extra:
		return "it has a member that is not known"
	case seen != 1<<10-1:
		return "a member is missing"
	case (e.GrantGeneration == 0) != (e.LiveSequence == 0):
		return "it has not both or neither of grant_generation and live_sequence"
	}
	return ""
}

// takeID reads an ID into dst, and takes the string of last when it is the same.
func takeID(raw []byte, last ID, dst *ID) bool {
	if len(raw) == 38 && last != "" && string(raw[1:37]) == string(last) {
		*dst = last
		return raw[0] == '"'
	}
	id, ok := nullOrID(raw)
	*dst = id
	return ok && id != ""
}

func takeNullOrID(raw []byte, last ID, dst *ID) bool {
	return string(raw) == nullLiteral || takeID(raw, last, dst)
}

// nullOrPositive returns an integer from 1, or 0 for null.
func nullOrPositive(raw []byte) (int64, bool) {
	if string(raw) == nullLiteral {
		return 0, true
	}
	return positive(raw, math.MaxInt64)
}

// Clone returns a copy of e that shares no memory with the Reader.
func (e *Event) Clone() Event {
	c := *e
	c.Payload = jsontext.Value(bytes.Clone(e.Payload))
	return c
}
