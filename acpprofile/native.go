package acpprofile

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Native decides on one line of the native client, without its newline.
func (m *Machine) Native(b []byte) (Decision, error) {
	if m.poisoned {
		return Decision{}, ErrClosed
	}
	m.nativeFrames++
	m.nativeBytes += len(b)
	switch {
	case len(b) > m.l.FrameBytes, m.nativeBytes > m.l.NativeBytes, m.nativeFrames > m.l.NativeFrames:
		return m.native("more lines or bytes than the client may write")
	}
	f, ok := open(b)
	switch {
	case !ok || f.extra:
		return m.native("a line is no JSON-RPC message")
	case !f.hasMethod:
		return m.reply(f)
	case f.method.Type != gjson.String || f.hasResult || f.hasError:
		return m.native("a line is no JSON-RPC message")
	case f.method.Str == methodUpdate:
		return m.update(f)
	case f.method.Str == methodPermission:
		return m.permission(f)
	}
	return m.native("the client asks for what it was not offered")
}

// permission answers a permission request: always, at once, and with no.
func (m *Machine) permission(f frame) (Decision, error) {
	id, valid := m.requestID(f.id)
	if !f.hasID || !valid || m.permissions[id] {
		return m.native("a permission request has no new id")
	}
	if len(m.permissions) >= m.l.Permissions {
		return m.native("more permission requests than there may be")
	}
	m.permissions[id] = true
	line := append([]byte(`{"jsonrpc":"2.0","id":`), f.id.Raw...)
	return Decision{ToNative: [][]byte{append(line, `,"result":{"outcome":{"outcome":"cancelled"}}}`...)}}, nil
}

// severity is what a typed diagnostic says.
type severity uint8

const (
	none severity = iota
	warning
	grave
	malformed
)

// fields are the members of an update that anything depends on, found in one
// pass: an update may be long.
type fields struct{ meta, kind, content, messageID, entries gjson.Result }

func readUpdate(v gjson.Result) (f fields) {
	v.ForEach(func(k, value gjson.Result) bool {
		switch k.Str {
		case "_meta":
			f.meta = value
		case "sessionUpdate":
			f.kind = value
		case "content":
			f.content = value
		case "messageId":
			f.messageID = value
		case "entries":
			f.entries = value
		}
		return true
	})
	return f
}

// failure reads jetbrains.air.sessionFailure below a _meta. The version is a member
// of air, as clients send it, or of sessionFailure, as the rule can be read.
func failure(meta gjson.Result) severity {
	air := member(member(meta, "jetbrains"), "air")
	failure := member(air, "sessionFailure")
	if !failure.Exists() || failure.Type == gjson.Null {
		return none
	}
	outer, inner := member(air, "version"), member(failure, "version")
	level := member(failure, "severity")
	switch {
	case outer.Exists() && !one(outer), inner.Exists() && !one(inner), !outer.Exists() && !inner.Exists():
	case isText(level, "warning"):
		return warning
	case isText(level, "error"):
		return grave
	}
	return malformed
}

// reported fails the conversation for an error that belongs to no request.
func (m *Machine) reported() (Decision, error) {
	m.poisoned = true
	return Decision{}, &Failure{ReasonNative, "native", "the client reported a failure of its session"}
}

// update projects a session/update.
func (m *Machine) update(f frame) (Decision, error) {
	var session, body gjson.Result
	ok := f.params.IsObject()
	if ok {
		f.params.ForEach(func(k, v gjson.Result) bool {
			switch k.Str {
			case "sessionId":
				session = v
			case "update":
				body = v
			case "_meta":
			default:
				ok = false
			}
			return ok
		})
	}
	if f.hasID || !ok || session.Type != gjson.String || !identifier(session.Str, m.l.IdentifierBytes) || !body.IsObject() {
		return m.native("an update is malformed")
	}
	if m.updates++; m.updates > m.l.Updates {
		return m.native("more updates than there may be")
	}
	u := readUpdate(body)
	level := failure(u.meta)
	switch level {
	case malformed:
		return m.native("a diagnostic is malformed")
	case grave:
		return m.reported()
	}
	if m.session == "" {
		// What comes before the session's own reply establishes nothing. The
		// replay of a restored history is swallowed here.
		if !m.pending || m.pendingMethod != methodNew && m.pendingMethod != methodResume {
			return m.native("an update came before any session was asked for")
		}
		m.notice = m.notice || level == warning
		return Decision{}, nil
	}
	if session.Str != m.session {
		return m.native("an update names another session")
	}
	if level == warning {
		return Decision{ToAdapter: [][]byte{m.warn()}}, nil
	}
	switch u.kind.Str {
	case "agent_message_chunk":
		return m.text(u)
	case "plan":
		return m.plan(u)
	}
	return Decision{}, nil
}

// updateHead begins a projected update, with room for more bytes.
func (m *Machine) updateHead(more int) []byte {
	b := make([]byte, 0, more+len(m.session)+256)
	b = append(b, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	return append(quote(b, m.session), `,"update":{`...)
}

// warn is the closed form of a warning.
func (m *Machine) warn() []byte {
	return append(m.updateHead(0), `"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}}}`...)
}

func (m *Machine) text(u fields) (Decision, error) {
	if !m.Prompting() {
		return m.native("text came outside a prompt")
	}
	var kind, text gjson.Result
	if u.content.IsObject() {
		u.content.ForEach(func(k, v gjson.Result) bool {
			switch k.Str {
			case "type":
				kind = v
			case "text":
				text = v
			}
			return true
		})
	}
	if !isText(kind, "text") {
		return Decision{}, nil
	}
	if text.Type != gjson.String {
		return m.native("a text is no text")
	}
	if m.textBytes += len(text.Str); m.textBytes > m.l.TextBytes {
		return m.native("more text than there may be")
	}
	// The text goes on as it was written: it is checked JSON, and unpacking it
	// to pack it again would change nothing but the time.
	b := append(m.updateHead(len(text.Raw)), `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`...)
	b = append(append(b, text.Raw...), '}')
	if id := u.messageID; id.Type == gjson.String && identifier(id.Str, m.l.IdentifierBytes) {
		b = quote(append(b, `,"messageId":`...), id.Str)
	}
	return Decision{ToAdapter: [][]byte{append(b, "}}}"...)}}, nil
}

func (m *Machine) plan(u fields) (Decision, error) {
	if !m.Prompting() {
		return m.native("a plan came outside a prompt")
	}
	entries := u.entries
	if !entries.IsArray() {
		return m.native("a plan is malformed")
	}
	b := append(m.updateHead(len(u.entries.Raw)), `"sessionUpdate":"plan","entries":[`...)
	for i, e := range entries.Array() {
		content, priority, status := member(e, "content"), member(e, "priority"), member(e, "status")
		if content.Type != gjson.String || !among(priority, "high", "medium", "low") || !among(status, "pending", "in_progress", "completed") {
			return m.native("a plan is malformed")
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(append(b, `{"content":`...), content.Str)
		b = append(b, `,"priority":"`+priority.Str+`","status":"`+status.Str+`"}`...)
	}
	return Decision{ToAdapter: [][]byte{append(b, "]}}}"...)}}, nil
}

func among(v gjson.Result, words ...string) bool {
	for _, w := range words {
		if isText(v, w) {
			return true
		}
	}
	return false
}

// reply projects the answer to the pending request.
func (m *Machine) reply(f frame) (Decision, error) {
	id, valid := m.requestID(f.id)
	if f.hasParams || f.hasResult == f.hasError || !f.hasID || !valid || !m.pending || id != m.pendingID {
		return m.native("a reply answers nothing that is pending")
	}
	head := append([]byte(`{"jsonrpc":"2.0","id":`), f.id.Raw...)
	if f.hasError {
		return m.refused(f, head)
	}
	if !f.result.IsObject() {
		return m.native("a result is no object")
	}
	level := failure(member(f.result, "_meta"))
	switch level {
	case malformed:
		return m.native("a diagnostic is malformed")
	case grave:
		return m.reported()
	}
	result, ok := m.project(f.result)
	if !ok {
		return m.native("a result is not the one that was asked for")
	}
	method := m.pendingMethod
	m.pending, m.pendingID, m.pendingMethod = false, "", ""
	d := Decision{ToAdapter: [][]byte{append(append(append(head, `,"result":`...), result...), '}')}}
	established := method == methodNew || method == methodResume
	switch {
	case level == warning && m.session == "":
		m.notice = true
	case level == warning || established && m.notice:
		m.notice = false
		d.ToAdapter = append(d.ToAdapter, m.warn())
	}
	return d, nil
}

const preferences = "failed to load configuration: Failed to synchronize managed preferences\n\nCheck"

// refused projects an error: a safe code and a fixed sentence. It settles the
// conversation.
func (m *Machine) refused(f frame, head []byte) (Decision, error) {
	code, message, data := member(f.failure, "code"), member(f.failure, "message"), member(f.failure, "data")
	n, err := strconv.ParseInt(code.Raw, 10, 64)
	if !f.failure.IsObject() || code.Type != gjson.Number || err != nil || n > 1<<53-1 || n < -(1<<53-1) || message.Type != gjson.String {
		return m.native("an error is malformed")
	}
	b := append(head, `,"error":{"code":`+strconv.FormatInt(n, 10)+`,"message":"Native ACP request failed"`...)
	if m.c.Client == "codex" && m.pendingMethod == methodNew && n == -32603 && message.Str == "Internal error" &&
		data.Type == gjson.String && strings.HasPrefix(data.Str, preferences) {
		b = append(b, `,"data":{"reason":"managed-preferences-unavailable"}`...)
	}
	m.pending, m.pendingID, m.pendingMethod = false, "", ""
	m.failed = true
	return Decision{ToAdapter: [][]byte{append(b, "}}"...)}}, nil
}
