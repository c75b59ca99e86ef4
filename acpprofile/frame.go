package acpprofile

import (
	"strconv"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// The methods the adapter may use, and those of the native client.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodResume     = "session/resume"
	methodConfigure  = "session/set_config_option"
	methodMode       = "session/set_mode"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodClose      = "session/close"
	methodPermission = "session/request_permission"
	methodUpdate     = "session/update"
)

// frame is the top level of one message. Its values are views of its bytes.
type frame struct {
	id, method, params, result, failure value
	extra                               bool
}

// open checks a frame and reads its top level. What json0 has checked is strict
// JSON without duplicates, so there is one way to read it.
func open(b []byte) (f frame, ok bool) {
	if json0.Check(b) != nil {
		return f, false
	}
	for name, v := range rootOf(b).members {
		switch string(name) {
		case "jsonrpc":
			ok = v.is("2.0")
		case "id":
			f.id = v
		case "method":
			f.method = v
		case "params":
			f.params = v
		case "result":
			f.result = v
		case "error":
			f.failure = v
		default:
			f.extra = true
		}
	}
	return f, ok
}

// requestID is an id as it is written, if it is one: a safe integer without
// fraction or exponent, or a text of 1 to 1,024 bytes.
func (m *Machine) requestID(v value) (string, bool) {
	if v.isNumber() {
		n, err := strconv.ParseInt(string(v), 10, 64)
		return string(v), err == nil && strconv.FormatInt(n, 10) == string(v) && safe(n)
	}
	text, ok := v.identifier(m.l.IdentifierBytes)
	if !ok {
		return "", false
	}
	return `"` + string(text), true // apart from numbers, and equal for equal texts
}

// safe says whether every reader of JSON knows n as it is.
func safe(n int64) bool { return -(1<<53-1) <= n && n <= 1<<53-1 }

func emptyObject(v value) bool {
	_, ok := v.only()
	return ok
}

func emptyArray(v value) bool {
	for range v.items {
		return false
	}
	return v.isArray()
}
