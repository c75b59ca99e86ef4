package acpprofile

import (
	"strconv"

	"github.com/tidwall/gjson"

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

// frame is the top level of one message. The results are views of its bytes.
type frame struct {
	id, method, params, result, failure gjson.Result
	hasID, hasMethod                    bool
	hasParams, hasResult, hasError      bool
	extra                               bool
}

// open reads a frame that json0 has checked: strict JSON without duplicates, so
// there is one way to read it.
func open(b []byte) (f frame, ok bool) {
	if json0.Check(b) != nil {
		return f, false
	}
	root := gjson.ParseBytes(b)
	if !root.IsObject() {
		return f, false
	}
	version := false
	root.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "jsonrpc":
			version = v.Type == gjson.String && v.Str == "2.0"
		case "id":
			f.id, f.hasID = v, true
		case "method":
			f.method, f.hasMethod = v, true
		case "params":
			f.params, f.hasParams = v, true
		case "result":
			f.result, f.hasResult = v, true
		case "error":
			f.failure, f.hasError = v, true
		default:
			f.extra = true
		}
		return true
	})
	return f, version
}

// members reads an object whose members are all among names; each appears in the
// result at its name's place.
func members(v gjson.Result, names ...string) ([]gjson.Result, bool) {
	out := make([]gjson.Result, len(names))
	if !v.IsObject() {
		return nil, false
	}
	ok := true
	v.ForEach(func(k, value gjson.Result) bool {
		for i, name := range names {
			if k.Str == name {
				out[i] = value
				return true
			}
		}
		ok = false
		return false
	})
	return out, ok
}

// member is one member of an object, or a result that does not exist.
func member(v gjson.Result, name string) (found gjson.Result) {
	if v.IsObject() {
		v.ForEach(func(k, value gjson.Result) bool {
			if k.Str == name {
				found = value
				return false
			}
			return true
		})
	}
	return found
}

func isText(v gjson.Result, want string) bool { return v.Type == gjson.String && v.Str == want }

// requestID is an id as it is written, if it is one: a safe integer without
// fraction or exponent, or a text of 1 to 1,024 bytes.
func (m *Machine) requestID(v gjson.Result) (string, bool) {
	switch v.Type {
	case gjson.String:
		if !identifier(v.Str, m.l.IdentifierBytes) {
			return "", false
		}
		return `"` + v.Str, true // apart from numbers, and equal for equal texts
	case gjson.Number:
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != v.Raw || n > 1<<53-1 || n < -(1<<53-1) {
			return "", false
		}
		return v.Raw, true
	}
	return "", false
}

// one says whether v is the number 1.
func one(v gjson.Result) bool { return v.Type == gjson.Number && v.Num == 1 }

func emptyObject(v gjson.Result) bool {
	_, ok := members(v)
	return ok
}

func emptyArray(v gjson.Result) bool { return v.IsArray() && len(v.Array()) == 0 }
