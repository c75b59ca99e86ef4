package acpprofile

import (
	"strconv"
)

// project reads the result of the pending request, takes its effect, and returns
// what the adapter may see of it.
func (m *Machine) project(result value) ([]byte, bool) {
	switch m.pendingMethod {
	case methodInitialize:
		return m.projectInitialize(result)
	case methodNew:
		id, ok := result.member("sessionId").identifier(m.l.IdentifierBytes)
		if !ok {
			return nil, false
		}
		m.session = string(id)
		return append(quote([]byte(`{"sessionId":`), id), '}'), true
	case methodResume:
		m.session = m.c.RestoreSessionID
	case methodConfigure:
		return m.projectSetting(result)
	case methodMode:
		m.modeSet = true
	case methodPrompt:
		reason := result.member("stopReason")
		if !among(reason, "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled") {
			return nil, false
		}
		m.settled = true
		return []byte(`{"stopReason":"` + string(reason.text()) + `"}`), true
	case methodClose:
		m.closed = true
	}
	return []byte("{}"), true
}

func (m *Machine) projectInitialize(result value) ([]byte, bool) {
	offered := func(v value) (there, ok bool) {
		if !v.exists() || v.isNull() {
			return false, true
		}
		return true, v.isObject()
	}
	agent := result.member("agentCapabilities")
	_, agentOK := offered(agent)
	session := agent.member("sessionCapabilities")
	_, sessionOK := offered(session)
	canClose, closeOK := offered(session.member("close"))
	canResume, resumeOK := offered(session.member("resume"))
	if !result.member("protocolVersion").one() || !agentOK || !sessionOK || !closeOK || !resumeOK || m.c.RestoreSessionID != "" && !canResume {
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
func (m *Machine) projectSetting(result value) ([]byte, bool) {
	want := m.c.Configuration[m.configured]
	options := result.member("configOptions")
	if !options.isArray() {
		return nil, false
	}
	confirmed := 0
	for o := range options.items {
		if !o.member("id").is(want.ID) {
			continue
		}
		current := o.member("currentValue")
		if want.Boolean != nil && !current.isBool(*want.Boolean) || want.Boolean == nil && !current.is(want.Value) {
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
