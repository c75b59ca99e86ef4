package acpprofile

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// Adapter decides on one complete frame of the adapter. It is counted before it
// is read.
func (m *Machine) Adapter(b []byte) (Decision, error) {
	if m.poisoned {
		return Decision{}, ErrClosed
	}
	m.adapterFrames++
	m.adapterBytes += len(b)
	switch {
	case len(b) > m.l.FrameBytes, m.adapterBytes > m.l.AdapterBytes, m.adapterFrames > m.l.AdapterFrames:
		return m.adapter("more frames or bytes than the adapter may send")
	}
	f, ok := open(b)
	switch {
	case !ok:
		return m.adapter("a frame is no JSON-RPC message")
	case f.extra || f.hasResult || f.hasError || !f.hasMethod || f.method.Type != gjson.String || !f.params.IsObject():
		return m.adapter("a frame is neither a request nor a notification")
	case m.closing:
		return m.adapter("nothing follows a close")
	}
	if f.method.Str == methodCancel {
		return m.cancel(f, b)
	}
	id, valid := m.requestID(f.id)
	switch {
	case !f.hasID || !valid:
		return m.adapter("a request needs an id that is an integer or a text")
	case m.adapterIDs[id]:
		return m.adapter("a request id was used before")
	case m.pending:
		return m.adapter("a request came before the one before it was answered")
	}
	m.adapterIDs[id] = true
	if what := m.allow(f); what != "" {
		return m.adapter(what)
	}
	m.pending, m.pendingID, m.pendingMethod = true, id, f.method.Str
	if f.method.Str == methodInitialize {
		return Decision{ToNative: [][]byte{m.initialize(f)}}, nil
	}
	return m.forward(b)
}

// forward writes a frame anew, canonical and on one line.
func (m *Machine) forward(b []byte) (Decision, error) {
	line, err := json0.Canonical(b)
	if err != nil {
		return m.adapter("a frame is no JSON-RPC message")
	}
	return Decision{ToNative: [][]byte{line}}, nil
}

// allow checks a request against the state and takes its effect. It returns what
// is wrong.
func (m *Machine) allow(f frame) string {
	method := f.method.Str
	if !m.initialized && method != methodInitialize {
		return "the first request is initialize"
	}
	if m.failed && method != methodClose {
		return "after an error of the native client only a close is left"
	}
	switch method {
	case methodInitialize:
		return m.allowInitialize(f.params)
	case methodNew:
		p, ok := members(f.params, "cwd", "mcpServers")
		if m.asked || m.c.RestoreSessionID != "" || !ok || !isText(p[0], "/work") || !emptyArray(p[1]) {
			return "the session that was reviewed is another one"
		}
		m.asked = true
	case methodResume:
		p, ok := members(f.params, "sessionId", "cwd", "mcpServers")
		if m.asked || m.c.RestoreSessionID == "" || !m.canResume || !ok || !isText(p[0], m.c.RestoreSessionID) || !isText(p[1], "/work") || !emptyArray(p[2]) {
			return "the session that was reviewed is another one"
		}
		m.asked = true
	case methodConfigure:
		if m.prompted || m.modeSet || !m.owns(f.params) || !m.nextSetting(f.params) {
			return "the configuration that was reviewed is another one"
		}
	case methodMode:
		p, ok := members(f.params, "sessionId", "modeId")
		if m.prompted || m.modeSet || m.c.ModeID == "" || m.configured < len(m.c.Configuration) || !m.owns(f.params) || !ok || !isText(p[1], m.c.ModeID) {
			return "the mode that was reviewed is another one"
		}
	case methodPrompt:
		return m.allowPrompt(f.params)
	case methodClose:
		_, ok := members(f.params, "sessionId")
		if !m.canClose || !ok || !m.owns(f.params) || !(m.prompted && m.settled || m.failed) {
			return "a close is not due"
		}
		m.closing = true
	default:
		return "this method is not part of the conversation"
	}
	return ""
}

// owns says whether the params name the owned session.
func (m *Machine) owns(params gjson.Result) bool {
	return m.session != "" && isText(member(params, "sessionId"), m.session)
}

func (m *Machine) allowInitialize(params gjson.Result) string {
	p, ok := members(params, "protocolVersion", "clientCapabilities", "clientInfo")
	if m.asked || m.initialized || len(m.adapterIDs) > 1 || !ok || !one(p[0]) {
		return "initialize comes first, once, at version 1"
	}
	if p[1].Exists() && !emptyObject(p[1]) {
		return "the adapter has no client capabilities to offer"
	}
	if p[2].Exists() {
		info, ok := members(p[2], "name", "version", "title")
		if !ok || !info[0].Exists() {
			return "the client info is malformed"
		}
		for _, v := range info {
			if v.Exists() && (v.Type != gjson.String || !identifier(v.Str, m.l.IdentifierBytes)) {
				return "the client info is malformed"
			}
		}
	}
	return ""
}

// diagnostics is what the host itself negotiates.
const diagnostics = `{"_meta":{"jetbrains":{"air":{"capabilities":["sessionFailure"],"version":1}}}}`

// initialize is the host's own form of the adapter's initialize.
func (m *Machine) initialize(f frame) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), f.id.Raw...)
	line = append(line, `,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":`+diagnostics...)
	if info := member(f.params, "clientInfo"); info.Exists() {
		line = append(line, `,"clientInfo":`...)
		line, _ = json0.AppendCanonical(line, []byte(info.Raw)) // checked with its frame
	}
	return append(line, "}}"...)
}

func (m *Machine) nextSetting(params gjson.Result) bool {
	if m.configured >= len(m.c.Configuration) {
		return false
	}
	want := m.c.Configuration[m.configured]
	if want.Boolean != nil {
		p, ok := members(params, "sessionId", "configId", "value", "type")
		return ok && isText(p[1], want.ID) && p[2].IsBool() && p[2].Bool() == *want.Boolean && isText(p[3], "boolean")
	}
	p, ok := members(params, "sessionId", "configId", "value")
	return ok && isText(p[1], want.ID) && isText(p[2], want.Value)
}

func (m *Machine) allowPrompt(params gjson.Result) string {
	switch {
	case m.session == "" || m.configured < len(m.c.Configuration) || m.c.ModeID != "" && !m.modeSet:
		return "a prompt came before what was reviewed had been set"
	case m.turns >= m.c.MaxTurns:
		return "more prompts than were reviewed"
	}
	p, ok := members(params, "sessionId", "prompt")
	if !ok || !m.owns(params) || !p[1].IsArray() {
		return "a prompt is malformed"
	}
	blocks := p[1].Array()
	if len(blocks) != 1 {
		return "a prompt is one text"
	}
	block, ok := members(blocks[0], "type", "text")
	if !ok || !isText(block[0], "text") || block[1].Type != gjson.String {
		return "a prompt is one text"
	}
	text := block[1].Str
	if text == "" || len(text) > m.l.PromptBytes || strings.ContainsRune(text, 0) {
		return fmt.Sprintf("a prompt has 1 to %d bytes and no NUL", m.l.PromptBytes)
	}
	start := strings.TrimLeftFunc(text, blank)
	if strings.HasPrefix(start, "/") {
		return "a prompt does not begin with a slash"
	}
	m.turns++
	m.prompted, m.settled, m.cancelled = true, false, false
	return ""
}

// blank is white space as a client written in JavaScript trims it: what Unicode
// says, with U+FEFF and without U+0085.
func blank(r rune) bool { return unicode.IsSpace(r) && r != 0x85 || r == 0xfeff }

// cancel decides on a session/cancel notification.
func (m *Machine) cancel(f frame, b []byte) (Decision, error) {
	_, ok := members(f.params, "sessionId")
	if f.hasID || !ok || !m.owns(f.params) || !m.prompted || m.cancelled {
		return m.adapter("a cancel is not due")
	}
	m.cancelled = true
	if !m.Prompting() {
		return Decision{Consumed: true}, nil
	}
	d, err := m.forward(b)
	d.Cancel = err == nil
	return d, err
}

// quote appends a JSON string.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // checked text
	return dst
}
