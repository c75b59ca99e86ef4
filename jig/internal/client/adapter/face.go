package adapter

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// maxWarnings is how many notices of a client are passed on.
const maxWarnings = 256

// noSession stands in an update that comes before there is a session. The host
// looks at the diagnostic first.
const noSession = "none"

// face is the ACP side of a conversation, and the [Host] of a client. It decides
// what goes where; it does no I/O.
type face struct {
	client Client
	native func(line []byte)     // to the program
	host   func(line []byte)     // to the host; without the end of the line
	report func(launch.Category) // to the host's operator
	now    func() time.Time
	after  func(time.Duration, func()) func()

	greeted bool   // initialize has come
	typed   bool   // the host understands typed diagnostics
	session string // the owned one
	held    bool   // a warning waits for a session
	warned  int
	over    bool // no more calls of the client

	pending *call
	settled bool // a prompt was answered, or any request with an error
	stopped bool // the prompt in progress was cancelled

	permissions map[string]func() // by id; what to do when it is answered
	asked       int
	text        coalescer
}

// call is the request in progress.
type call struct {
	id jsontext.Value // as written
	Request
}

// update sends one session/update with the members that body writes.
func (f *face) update(body func(b []byte) []byte) {
	session := f.session
	if session == "" {
		session = noSession
	}
	b := append(make([]byte, 0, 512), `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	b = append(quote(b, session), `,"update":{`...)
	f.host(append(body(b), "}}}"...))
}

// diagnose sends a typed diagnostic.
func (f *face) diagnose(severity string) {
	if !f.typed {
		return
	}
	f.text.updates++
	f.update(func(b []byte) []byte {
		b = append(b, `"sessionUpdate":"session_info_update","_meta":{"jetbrains":{"air":{"version":1,"sessionFailure":{"id":`...)
		b = quote(b, "jig:"+severity+":"+strconv.Itoa(f.text.updates))
		return append(b, `,"revision":1,"category":"unknown","severity":"`+severity+`","title":"","actions":[]}}}}`...)
	})
}

func (f *face) Send(line []byte) { f.native(line) }

func (f *face) Text(id, text string) {
	if f.over || text == "" || f.pending == nil || f.pending.Kind != Prompt {
		return
	}
	f.pieces(f.text.add(f.now(), id, text))
}

func (f *face) pieces(out []piece) {
	for _, p := range out {
		f.update(func(b []byte) []byte {
			b = quote(append(b, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`...), p.text)
			b = append(b, '}')
			if p.id != "" {
				b = quote(append(b, `,"messageId":`...), p.id)
			}
			return b
		})
	}
}

// flush sends the text that is held: another message is about to go out.
func (f *face) flush() { f.pieces(f.text.flush()) }

func (f *face) Plan(entries []Entry) {
	if f.over || f.pending == nil || f.pending.Kind != Prompt {
		return
	}
	f.flush()
	f.text.updates++
	f.update(func(b []byte) []byte {
		b = append(b, `"sessionUpdate":"plan","entries":[`...)
		for i, e := range entries {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(append(b, `{"content":`...), e.Content)
			b = quote(append(b, `,"priority":`...), e.Priority)
			b = quote(append(b, `,"status":`...), e.Status)
			b = append(b, '}')
		}
		return append(b, ']')
	})
}

func (f *face) Warn() {
	switch {
	case f.over || !f.typed:
	case f.session == "":
		f.held = true
	case f.warned < maxWarnings:
		f.warned++
		f.flush()
		f.diagnose("warning")
	}
}

func (f *face) Permission(toolCall string, refuse func()) {
	if f.over {
		return
	}
	if f.session == "" {
		refuse() // nothing to count it under
		return
	}
	f.flush()
	f.asked++
	id := strconv.Itoa(f.asked)
	f.permissions[id] = refuse
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = quote(append(b, `,"method":"session/request_permission","params":{"sessionId":`...), f.session)
	b = quote(append(b, `,"toolCall":{"toolCallId":`...), toolCall)
	f.host(append(b, `},"options":[{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}`...))
}

// answer begins the reply to the request in progress, which ends with it.
func (f *face) answer() (call, []byte) {
	f.flush()
	c := *f.pending
	f.pending = nil
	b := append([]byte(`{"jsonrpc":"2.0","id":`), c.id...)
	return c, b
}

func (f *face) Done(r Result) {
	if f.over || f.pending == nil {
		return
	}
	c, b := f.answer()
	b = append(b, `,"result":{`...)
	switch c.Kind {
	case Initialize:
		b = append(b, `"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}`...)
		if f.client.Offers().Resume {
			b = append(b, `,"resume":{}`...)
		}
		b = append(b, `}}`...)
		if f.typed {
			b = append(b, `,"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionFailure"]}}}`...)
		}
	case New:
		f.session = r.SessionID
		b = quote(append(b, `"sessionId":`...), r.SessionID)
	case Resume:
		f.session = c.SessionID
	case Configure:
		b = quote(append(b, `"configOptions":[{"id":`...), c.ConfigID)
		b = quote(append(b, `,"name":`...), c.ConfigID)
		b = quote(append(b, `,"type":"select","currentValue":`...), c.Value)
		b = quote(append(b, `,"options":[{"value":`...), c.Value)
		b = quote(append(b, `,"name":`...), c.Value)
		b = append(b, `}]}]`...)
	case Prompt:
		f.settled = true
		b = quote(append(b, `"stopReason":`...), string(r.StopReason))
	}
	f.host(append(b, "}}"...))
	if f.held && f.session != "" {
		f.held = false
		f.Warn()
	}
}

func (f *face) Fail(x Failure) {
	if f.over || f.pending == nil {
		return
	}
	f.report(x.Category)
	_, b := f.answer()
	f.settled = true
	if x.Invalid {
		f.host(append(b, `,"error":{"code":-32602,"message":"Invalid params"}}`...))
		return
	}
	b = append(b, `,"error":{"code":-32603,"message":"Internal error"`...)
	if x.Data != "" {
		b = quote(append(b, `,"data":`...), x.Data)
	}
	f.host(append(b, "}}"...))
}

func (f *face) Broken(c launch.Category) {
	if f.over {
		return
	}
	f.report(c)
	f.flush()
	f.over = true
	if f.typed {
		f.diagnose("error")
	} else if f.pending != nil {
		_, b := f.answer()
		f.host(append(b, `,"error":{"code":-32603,"message":"Internal error"}}`...))
	}
}

func (f *face) After(d time.Duration, run func()) func() {
	return f.after(d, func() {
		if !f.over {
			run()
		}
	})
}

// ended is the end of the program. Before the conversation has settled it is a
// failure; after that its exit status says what there is to say.
func (f *face) ended() {
	if f.pending != nil || !f.settled {
		f.Broken("")
	}
	f.flush()
	f.over = true
}

// quote appends s as a JSON string; what is no UTF-8 in it is replaced.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
