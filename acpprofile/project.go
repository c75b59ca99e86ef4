package acpprofile

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// project reads the result of the pending request, takes its effect, and returns
// what the adapter may see of it.
func (m *Machine) project(result gjson.Result) ([]byte, bool) {
	switch m.pendingMethod {
	case methodInitialize:
		return m.projectInitialize(result)
	case methodNew:
		id := member(result, "sessionId")
		if id.Type != gjson.String || !identifier(id.Str, m.l.IdentifierBytes) {
			return nil, false
		}
		m.session = id.Str
		return append(quote([]byte(`{"sessionId":`), id.Str), '}'), true
	case methodResume:
		m.session = m.c.RestoreSessionID
	case methodConfigure:
		return m.projectSetting(result)
	case methodMode:
		m.modeSet = true
	case methodPrompt:
		reason := member(result, "stopReason")
		if !among(reason, "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled") {
			return nil, false
		}
		m.settled = true
		return []byte(`{"stopReason":"` + reason.Str + `"}`), true
	case methodClose:
		m.closed = true
	}
	return []byte("{}"), true
}

func (m *Machine) projectInitialize(result gjson.Result) ([]byte, bool) {
	offered := func(v gjson.Result) (there, ok bool) {
		if !v.Exists() || v.Type == gjson.Null {
			return false, true
		}
		return true, v.IsObject()
	}
	agent := member(result, "agentCapabilities")
	_, agentOK := offered(agent)
	session := member(agent, "sessionCapabilities")
	_, sessionOK := offered(session)
	canClose, closeOK := offered(member(session, "close"))
	canResume, resumeOK := offered(member(session, "resume"))
	if !one(member(result, "protocolVersion")) || !agentOK || !sessionOK || !closeOK || !resumeOK || m.c.RestoreSessionID != "" && !canResume {
		return nil, false
	}
	m.initialized, m.canClose, m.canResume = true, canClose, canResume
	b := []byte(`{"protocolVersion":1,"agentCapabilities":{`)
	if canClose || canResume {
		b = append(b, `"sessionCapabilities":{`...)
		if canClose {
			b = append(b, `"close":{}`...)
		}
		if canClose && canResume {
			b = append(b, ',')
		}
		if canResume {
			b = append(b, `"resume":{}`...)
		}
		b = append(b, '}')
	}
	return append(b, "}}"...), true
}

// projectSetting demands that exactly the reviewed value is confirmed.
func (m *Machine) projectSetting(result gjson.Result) ([]byte, bool) {
	want := m.c.Configuration[m.configured]
	options := member(result, "configOptions")
	if !options.IsArray() {
		return nil, false
	}
	confirmed := 0
	for _, o := range options.Array() {
		if !isText(member(o, "id"), want.ID) {
			continue
		}
		current := member(o, "currentValue")
		if want.Boolean != nil && (!current.IsBool() || current.Bool() != *want.Boolean) || want.Boolean == nil && !isText(current, want.Value) {
			return nil, false
		}
		confirmed++
	}
	if confirmed != 1 {
		return nil, false
	}
	m.configured++
	b := quote([]byte(`{"configOptions":[{"id":`), want.ID)
	b = quote(append(b, `,"name":`...), want.ID)
	if want.Boolean != nil {
		b = append(b, `,"currentValue":`+strconv.FormatBool(*want.Boolean)+`,"type":"boolean"}]}`...)
		return b, true
	}
	b = quote(append(b, `,"currentValue":`...), want.Value)
	b = quote(append(b, `,"type":"select","options":[{"value":`...), want.Value)
	b = quote(append(b, `,"name":`...), want.Value)
	return append(b, "}]}]}"...), true
}
