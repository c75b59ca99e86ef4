package component

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// message is one well-formed envelope of the host.
type message struct {
	method string
	id     string // "" for a notification
	params jsontext.Value

	response bool
	result   jsontext.Value
	failure  *fault.Error // of an operational error
	standard bool         // a JSON-RPC error of its own
}

// envelope reads a frame that is JSON/0. Where it is no message, ok is false and
// id is the request's if it is unambiguous and valid.
func envelope(frame []byte) (m message, id string, ok bool) {
	members := map[string]jsontext.Value{}
	if json0.Decode(frame, &members) != nil || members == nil {
		return m, "", false
	}
	rawID, hasID := members["id"]
	if s, isText := stringOf(rawID); isText && run0.WireID(s) {
		id = s
	}
	result, hasResult := members["result"]
	failure, hasError := members["error"]
	method, hasMethod := members["method"]
	if version, isText := stringOf(members["jsonrpc"]); !isText || version != "2.0" || !closed(members, "jsonrpc", "id", "method", "params", "result", "error") {
		return m, id, false
	}
	if hasMethod {
		var isText bool
		m.method, isText = stringOf(method)
		m.id, m.params = id, members["params"]
		kind := m.params.Kind()
		return m, id, isText && !hasResult && !hasError && (!hasID || id != "") && (m.params == nil || kind == '{' || kind == '[')
	}
	m.response, m.id, m.result = true, id, result
	if members["params"] != nil || hasResult == hasError || !hasID || id == "" && string(rawID) != "null" || hasResult && id == "" {
		return m, "", false
	}
	return m, "", hasResult || m.readError(failure)
}

// readError reads the error of a response.
func (m *message) readError(raw jsontext.Value) bool {
	var e struct {
		Code    *int64         `json:"code"`
		Message *string        `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if json0.Decode(raw, &e) != nil || e.Code == nil || e.Message == nil || !ValidMessage(*e.Message) {
		return false
	}
	switch *e.Code {
	case -32700, -32600, -32601, -32602, -32603:
		m.standard = true
		return true
	case -32000:
	default:
		return false
	}
	var d struct {
		Code    *fault.Code    `json:"code"`
		Details jsontext.Value `json:"details"`
	}
	if e.Data == nil || json0.Decode(e.Data, &d) != nil || d.Code == nil || !d.Code.OnWire() || m.id == "" {
		return false
	}
	m.failure = &fault.Error{Code: *d.Code, Message: *e.Message, Details: d.Details}
	return true
}

// ValidMessage says whether s may be the message of an error: 1 to 1,024 Unicode
// scalars.
func ValidMessage(s string) bool {
	return s != "" && len(s) <= 4*1024 && utf8.ValidString(s) && utf8.RuneCountInString(s) <= 1024
}

func stringOf(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err == nil
}

// closed says whether members has no other name than these.
func closed(members map[string]jsontext.Value, names ...string) bool {
	for name := range members {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// exactly reads an object that has these members and no other.
func exactly(raw jsontext.Value, names ...string) (map[string]jsontext.Value, bool) {
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil || len(members) != len(names) {
		return nil, false
	}
	return members, closed(members, names...)
}

func sortByID(requests []*request) {
	slices.SortFunc(requests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
}

func sortedEnds(ends map[int]*endpoint) []int { return slices.Sorted(maps.Keys(ends)) }
