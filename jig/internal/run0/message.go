package run0

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// JSON-RPC's own codes.
const (
	codeParse       = -32700
	codeInvalid     = -32600
	codeNoMethod    = -32601
	codeBadParams   = -32602
	codeInternal    = -32603
	codeOperational = -32000
)

// message is one well-formed envelope.
type message struct {
	request, notification, response bool

	id     string
	method string
	params jsontext.Value // nil: none
	result jsontext.Value // of a success
	failed *rpcError      // of an error
}

type rpcError struct {
	code    int64
	message string
	fault   *fault.Error // of code -32000
}

// envelope reads a frame that is JSON/0. Where it is none, ok is false and id is
// that of the request if it is unambiguous and valid, else "".
func envelope(frame []byte) (m message, id string, ok bool) {
	members := map[string]jsontext.Value{}
	if len(frame) == 0 || json0.Decode(frame, &members) != nil || members == nil {
		return m, "", false
	}
	if text, isText := stringOf(members["id"]); isText && WireID(text) {
		id = text
	}
	for name := range members {
		switch name {
		case "jsonrpc", "id", "method", "params", "result", "error":
		default:
			return m, id, false
		}
	}
	if version, isText := stringOf(members["jsonrpc"]); !isText || version != "2.0" {
		return m, id, false
	}
	_, hasResult := members["result"]
	failure, hasError := members["error"]
	raw, hasID := members["id"]
	if method, hasMethod := members["method"]; hasMethod {
		var isText bool
		if m.method, isText = stringOf(method); !isText || hasResult || hasError || hasID && id == "" {
			return m, id, false
		}
		if m.params = members["params"]; m.params != nil && m.params.Kind() != '{' && m.params.Kind() != '[' {
			return m, id, false
		}
		m.id, m.request, m.notification = id, hasID, !hasID
		return m, id, true
	}
	if members["params"] != nil || hasResult == hasError || !hasID || id == "" && string(raw) != "null" {
		return m, "", false
	}
	m.id, m.response, m.result = id, true, members["result"]
	if hasResult {
		return m, id, id != ""
	}
	m.failed, ok = readError(failure, id)
	return m, id, ok
}

// readError reads the error of a response. id is "" for null, which only two
// codes allow.
func readError(raw jsontext.Value, id string) (*rpcError, bool) {
	var e struct {
		Code    *int64         `json:"code"`
		Message *string        `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if json0.Decode(raw, &e) != nil || e.Code == nil || e.Message == nil || !validMessage(*e.Message) {
		return nil, false
	}
	out := &rpcError{code: *e.Code, message: *e.Message}
	switch out.code {
	case codeParse:
		return out, id == ""
	case codeInvalid:
		return out, true
	case codeNoMethod, codeBadParams, codeInternal:
		return out, id != ""
	case codeOperational:
	default:
		return nil, false
	}
	var d struct {
		Code    *fault.Code    `json:"code"`
		Details jsontext.Value `json:"details"`
	}
	if e.Data == nil || json0.Decode(e.Data, &d) != nil || d.Code == nil || !d.Code.OnWire() || id == "" {
		return nil, false
	}
	out.fault = &fault.Error{Code: *d.Code, Message: *e.Message, Details: d.Details}
	return out, true
}

func validMessage(s string) bool {
	return s != "" && len(s) <= 4*1024 && utf8.RuneCountInString(s) <= 1024
}

func stringOf(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err == nil
}

// WireID says whether s may name a request, an operation, an endpoint or a
// source: 1 to 128 of [A-Za-z0-9._:/-], the first a letter or digit.
func WireID(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && (i == 0 || c != '.' && c != '_' && c != ':' && c != '/' && c != '-') {
			return false
		}
	}
	return true
}
