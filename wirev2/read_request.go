package wirev2

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// request makes a request of the record in the scanner. The first fault is reported, and every member that is valid
// by itself is kept for the echo.
func (r *Reader) request() (Request, error) {
	var q Request
	var seen int
	why := ""
	fault := func(reason string) {
		if why == "" {
			why = reason
		}
	}
	if r.scan.extra {
		fault("it has a member that is not known")
	}
	q.DeadlineMS = r.limits.DefaultDeadlineMS
	for _, m := range r.scan.members {
		ok := true
		switch string(m.name) {
		case "v":
			seen |= 1 << 0
			ok = string(m.value) == "2"
		case "kind":
			seen |= 1 << 1
			ok = isText(m.value, "request")
		case "request_id":
			seen |= 1 << 2
			if q.RequestID, ok = text(m.value); !validRequestID(q.RequestID) {
				q.RequestID, ok = "", false
			}
		case "method":
			seen |= 1 << 3
			q.Method, ok = methodText(m.value)
		case "session_id":
			seen |= 1 << 4
			q.SessionID, ok = nullOrID(m.value)
		case "control_token":
			seen |= 1 << 5
			if string(m.value) != nullLiteral {
				var token string
				token, ok = text(m.value)
				if q.ControlToken = Secret(token); !q.ControlToken.Valid() {
					q.ControlToken, ok = "", false
				}
			}
		case "operation_id":
			seen |= 1 << 6
			q.OperationID, ok = nullOrID(m.value)
		case "payload":
			seen |= 1 << 7
			switch {
			case m.value[0] != '{':
				ok = false
			case len(m.value) > int(r.limits.MaxPayloadBytes):
				fault(fmt.Sprintf("payload is longer than %d bytes", r.limits.MaxPayloadBytes))
			default:
				q.Payload = jsontext.Value(bytes.Clone(m.value))
			}
		case "deadline_ms":
			q.DeadlineMS, ok = positive(m.value, r.limits.MaxDeadlineMS)
		default:
			fault("it has a member that is not known")
		}
		if !ok {
			fault(string(m.name) + " is malformed")
		}
	}
	for i, name := range requestMembers {
		if seen&(1<<i) == 0 {
			fault(name + " is missing")
		}
	}
	if why != "" {
		return Request{}, &RequestError{q, why}
	}
	return q, nil
}

var requestMembers = [...]string{
	"v", "kind", "request_id", "method", "session_id", "control_token", "operation_id", "payload",
}

// content returns the text of the string that raw, a valid JSON value, is; nil when it is none.
func content(raw []byte) []byte {
	if raw[0] != '"' {
		return nil
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(nil, raw)
}

// text is content as a string.
func text(raw []byte) (string, bool) { return string(content(raw)), raw[0] == '"' }

// isText reports whether raw is the string want.
func isText(raw []byte, want string) bool { return raw[0] == '"' && string(content(raw)) == want }

// methodText returns a method, known or not.
func methodText(raw []byte) (Method, bool) {
	name := content(raw)
	if i, ok := methodIndex[Method(name)]; ok {
		return methods[i].Method, true // saves the copy
	}
	return Method(name), raw[0] == '"'
}

// nullOrID returns an ID, empty for null.
func nullOrID(raw []byte) (ID, bool) {
	if string(raw) == nullLiteral {
		return "", true
	}
	id, ok := text(raw)
	if !ok || !validID(id) {
		return "", false
	}
	return ID(id), true
}

// positive returns an integer in plain digits from 1 to limit.
func positive(raw []byte, limit int64) (int64, bool) {
	if raw[0] < '1' || raw[0] > '9' || !isInteger(raw) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n > limit {
		return 0, false
	}
	return n, true
}
