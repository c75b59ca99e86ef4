package acpprofile

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

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
	case f.extra || f.result.exists() || f.failure.exists() || !f.method.isString() || !f.params.isObject():
		return m.adapter("a frame is neither a request nor a notification")
	case m.closing:
		return m.adapter("nothing follows a close")
	}
	method := string(f.method.text())
	if method == methodCancel {
		return m.cancel(f, b)
	}
	id, valid := m.requestID(f.id)
	switch {
	case !valid:
		return m.adapter("a request needs an id that is an integer or a text")
	case m.adapterIDs[id]:
		return m.adapter("a request id was used before")
	case m.pending:
		return m.adapter("a request came before the one before it was answered")
	}
	m.adapterIDs[id] = true
	if what := m.allow(method, f.params); what != "" {
		return m.adapter(what)
	}
	m.pending, m.pendingID, m.pendingMethod = true, id, method
	if method == methodInitialize {
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
func (m *Machine) allow(method string, params value) string {
	if !m.initialized && method != methodInitialize {
		return "the first request is initialize"
	}
	if m.failed && method != methodClose {
		return "after an error of the native client only a close is left"
	}
	switch method {
	case methodInitialize:
		return m.allowInitialize(params)
	case methodNew:
		p, ok := params.only("cwd", "mcpServers")
		if m.asked || m.c.RestoreSessionID != "" || !ok || !p[0].is("/work") || !emptyArray(p[1]) {
			return "the session that was reviewed is another one"
		}
		m.asked = true
	case methodResume:
		p, ok := params.only("sessionId", "cwd", "mcpServers")
		if m.asked || m.c.RestoreSessionID == "" || !m.canResume || !ok || !p[0].is(m.c.RestoreSessionID) || !p[1].is("/work") || !emptyArray(p[2]) {
			return "the session that was reviewed is another one"
		}
		m.asked = true
	case methodConfigure:
		if m.prompted || m.modeSet || !m.owns(params) || !m.nextSetting(params) {
			return "the configuration that was reviewed is another one"
		}
	case methodMode:
		p, ok := params.only("sessionId", "modeId")
		if m.prompted || m.modeSet || m.c.ModeID == "" || m.configured < len(m.c.Configuration) || !m.owns(params) || !ok || !p[1].is(m.c.ModeID) {
			return "the mode that was reviewed is another one"
		}
	case methodPrompt:
		return m.allowPrompt(params)
	case methodClose:
		_, ok := params.only("sessionId")
		if !m.canClose || !ok || !m.owns(params) || !(m.prompted && m.settled || m.failed) {
			return "a close is not due"
		}
		m.closing = true
	default:
		return "this method is not part of the conversation"
	}
	return ""
}

// owns says whether the params name the owned session.
func (m *Machine) owns(params value) bool {
	return m.session != "" && params.member("sessionId").is(m.session)
}

func (m *Machine) allowInitialize(params value) string {
	p, ok := params.only("protocolVersion", "clientCapabilities", "clientInfo")
	if m.asked || m.initialized || len(m.adapterIDs) > 1 || !ok || !p[0].one() {
		return "initialize comes first, once, at version 1"
	}
	if p[1].exists() && !emptyObject(p[1]) {
		return "the adapter has no client capabilities to offer"
	}
	if p[2].exists() {
		info, ok := p[2].only("name", "version", "title")
		if !ok || !info[0].exists() {
			return "the client info is malformed"
		}
		for _, v := range info {
			if _, valid := v.identifier(m.l.IdentifierBytes); v.exists() && !valid {
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
	line := append([]byte(`{"jsonrpc":"2.0","id":`), f.id...)
	line = append(line, `,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":`+diagnostics...)
	if info := f.params.member("clientInfo"); info.exists() {
		line = append(line, `,"clientInfo":`...)
		line, _ = json0.AppendCanonical(line, info) // checked with its frame
	}
	return append(line, "}}"...)
}

func (m *Machine) nextSetting(params value) bool {
	if m.configured >= len(m.c.Configuration) {
		return false
	}
	want := m.c.Configuration[m.configured]
	if want.Boolean != nil {
		p, ok := params.only("sessionId", "configId", "value", "type")
		return ok && p[1].is(want.ID) && p[2].isBool(*want.Boolean) && p[3].is("boolean")
	}
	p, ok := params.only("sessionId", "configId", "value")
	return ok && p[1].is(want.ID) && p[2].is(want.Value)
}

func (m *Machine) allowPrompt(params value) string {
	switch {
	case m.session == "" || m.configured < len(m.c.Configuration) || m.c.ModeID != "" && !m.modeSet:
		return "a prompt came before what was reviewed had been set"
	case m.turns >= m.c.MaxTurns:
		return "more prompts than were reviewed"
	}
	p, ok := params.only("sessionId", "prompt")
	if !ok || !m.owns(params) || !p[1].isArray() {
		return "a prompt is malformed"
	}
	blocks := slices.Collect(p[1].items)
	if len(blocks) != 1 {
		return "a prompt is one text"
	}
	block, ok := blocks[0].only("type", "text")
	if !ok || !block[0].is("text") || !block[1].isString() {
		return "a prompt is one text"
	}
	text := block[1].text()
	if len(text) == 0 || len(text) > m.l.PromptBytes || bytes.IndexByte(text, 0) >= 0 {
		return fmt.Sprintf("a prompt has 1 to %d bytes and no NUL", m.l.PromptBytes)
	}
	if bytes.HasPrefix(bytes.TrimLeftFunc(text, blank), []byte("/")) {
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
	_, ok := f.params.only("sessionId")
	if f.id.exists() || !ok || !m.owns(f.params) || !m.prompted || m.cancelled {
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
func quote[T string | []byte](dst []byte, s T) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // checked text
	return dst
}
