package acpprofile

import (
	"bytes"
	"slices"
	"strconv"
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
	case !f.method.exists():
		return m.reply(f)
	case !f.method.isString() || f.result.exists() || f.failure.exists():
		return m.native("a line is no JSON-RPC message")
	}
	switch string(f.method.text()) {
	case methodUpdate:
		return m.update(f, b)
	case methodPermission:
		return m.permission(f)
	}
	return m.native("the client asks for what it was not offered")
}

// permission answers a permission request: always, at once, and with no.
func (m *Machine) permission(f frame) (Decision, error) {
	id, valid := m.requestID(f.id)
	if !valid || m.permissions[id] {
		return m.native("a permission request has no new id")
	}
	if len(m.permissions) >= m.l.Permissions {
		return m.native("more permission requests than there may be")
	}
	m.permissions[id] = true
	line := append([]byte(`{"jsonrpc":"2.0","id":`), f.id...)
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

// fields are what anything depends on in an update and beside it.
type fields struct {
	session, meta, kind, contentType, text, messageID, entries value
	object                                                     bool
}

// read reads an update in one pass: it may be long.
func (u *fields) read(in *cursor) {
	for name := range in.members {
		switch string(name) {
		case "_meta":
			u.meta = in.value()
		case "sessionUpdate":
			u.kind = in.value()
		case "messageId":
			u.messageID = in.value()
		case "entries":
			u.entries = in.value()
		case "content":
			for name := range in.members {
				switch string(name) {
				case "type":
					u.contentType = in.value()
				case "text":
					u.text = in.value()
				}
			}
		}
	}
}

// failure reads jetbrains.air.sessionFailure below a _meta. The version is a member
// of air, as clients send it, or of sessionFailure, as the rule can be read.
func failure(meta value) severity {
	air := meta.member("jetbrains").member("air")
	failure := air.member("sessionFailure")
	if !failure.exists() || failure.isNull() {
		return none
	}
	outer, inner := air.member("version"), failure.member("version")
	level := failure.member("severity")
	switch {
	case outer.exists() && !outer.one(), inner.exists() && !inner.one(), !outer.exists() && !inner.exists():
	case level.is("warning"):
		return warning
	case level.is("error"):
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
func (m *Machine) update(f frame, line []byte) (Decision, error) {
	var u fields
	in := cursor{doc: f.params}
	for name := range in.members {
		switch string(name) {
		case "sessionId":
			u.session = in.value()
		case "update":
			u.object = in.isObject()
			u.read(&in)
		case "_meta":
		default:
			return m.native("an update is malformed")
		}
	}
	id, valid := u.session.identifier(m.l.IdentifierBytes)
	if f.id.exists() || !valid || !u.object {
		return m.native("an update is malformed")
	}
	if m.updates++; m.updates > m.l.Updates {
		return m.native("more updates than there may be")
	}
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
	if string(id) != m.session {
		return m.native("an update names another session")
	}
	if level == warning {
		return Decision{ToAdapter: [][]byte{m.warn()}}, nil
	}
	switch string(u.kind.text()) {
	case "agent_message_chunk":
		return m.text(u, line)
	case "plan":
		return m.plan(u)
	}
	return Decision{}, nil
}

// A projected update begins with these two, and its session between them.
const (
	updateStart = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`
	updateBody  = `,"update":{`
)

// updateHead begins a projected update, with room for more bytes.
func (m *Machine) updateHead(more int) []byte {
	b := make([]byte, 0, more+len(m.session)+256)
	return append(quote(append(b, updateStart...), m.session), updateBody...)
}

// warn is the closed form of a warning.
func (m *Machine) warn() []byte {
	return append(m.updateHead(0), `"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}}}`...)
}

// What stands before the text of a projected text, behind it, before the message
// id, and at the end.
const (
	textStart = `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`
	textClose = `}`
	textID    = `,"messageId":`
	textEnd   = `}}}`
)

func (m *Machine) text(u fields, line []byte) (Decision, error) {
	if !m.Prompting() {
		return m.native("text came outside a prompt")
	}
	if !u.contentType.is("text") {
		return Decision{}, nil
	}
	if !u.text.isString() {
		return m.native("a text is no text")
	}
	if m.textBytes += u.text.textBytes(); m.textBytes > m.l.TextBytes {
		return m.native("more text than there may be")
	}
	if _, ok := u.messageID.identifier(m.l.IdentifierBytes); !ok {
		u.messageID = nil
	}
	if len(line) == u.textSize() {
		return Decision{ToAdapter: [][]byte{line[:len(line):len(line)]}}, nil
	}
	// The strings go on as they were written: they are checked JSON, and unpacking
	// them to pack them again would change nothing but the time.
	b := append(m.updateHead(len(u.text)+len(u.messageID)), textStart...)
	b = append(append(b, u.text...), textClose...)
	if u.messageID.exists() {
		b = append(append(b, textID...), u.messageID...)
	}
	return Decision{ToAdapter: [][]byte{append(b, textEnd...)}}, nil
}

// textSize is the length of the projection of a text. All that it has was read from
// the line, where nothing can stand shorter. So a line of that very length has
// nothing else, not a space, and is its own projection but for the order of members.
func (u *fields) textSize() int {
	size := len(updateStart) + len(u.session) + len(updateBody) + len(textStart) + len(u.text) + len(textClose) + len(textEnd)
	if u.messageID.exists() {
		size += len(textID) + len(u.messageID)
	}
	return size
}

func (m *Machine) plan(u fields) (Decision, error) {
	if !m.Prompting() {
		return m.native("a plan came outside a prompt")
	}
	if !u.entries.isArray() {
		return m.native("a plan is malformed")
	}
	b := append(m.updateHead(len(u.entries)), `"sessionUpdate":"plan","entries":[`...)
	first := true
	for e := range u.entries.items {
		content, priority, status := e.member("content"), e.member("priority"), e.member("status")
		if !content.isString() || !among(priority, "high", "medium", "low") || !among(status, "pending", "in_progress", "completed") {
			return m.native("a plan is malformed")
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = quote(append(b, `{"content":`...), content.text())
		b = append(append(b, `,"priority":"`...), priority.text()...)
		b = append(append(b, `","status":"`...), status.text()...)
		b = append(b, `"}`...)
	}
	return Decision{ToAdapter: [][]byte{append(b, "]}}}"...)}}, nil
}

func among(v value, words ...string) bool {
	return slices.ContainsFunc(words, v.is)
}

// reply projects the answer to the pending request.
func (m *Machine) reply(f frame) (Decision, error) {
	id, valid := m.requestID(f.id)
	if f.params.exists() || f.result.exists() == f.failure.exists() || !valid || !m.pending || id != m.pendingID {
		return m.native("a reply answers nothing that is pending")
	}
	head := append([]byte(`{"jsonrpc":"2.0","id":`), f.id...)
	if f.failure.exists() {
		return m.refused(f, head)
	}
	if !f.result.isObject() {
		return m.native("a result is no object")
	}
	level := failure(f.result.member("_meta"))
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
	code, message, data := f.failure.member("code"), f.failure.member("message"), f.failure.member("data")
	n, err := strconv.ParseInt(string(code), 10, 64)
	if err != nil || !safe(n) || !message.isString() {
		return m.native("an error is malformed")
	}
	b := append(head, `,"error":{"code":`+strconv.FormatInt(n, 10)+`,"message":"Native ACP request failed"`...)
	if m.c.Client == "codex" && m.pendingMethod == methodNew && n == -32603 && message.is("Internal error") &&
		bytes.HasPrefix(data.text(), []byte(preferences)) {
		b = append(b, `,"data":{"reason":"managed-preferences-unavailable"}`...)
	}
	m.pending, m.pendingID, m.pendingMethod = false, "", ""
	m.failed = true
	return Decision{ToAdapter: [][]byte{append(b, "}}"...)}}, nil
}
