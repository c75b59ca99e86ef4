package flows_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"github.com/magi-jig/magi-jig/acpframing"
	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// native is the finite ACP resource with a script in place of a host.
type native struct {
	t      testing.TB
	script func(*play)
	admit  func(tree.ResourceCall) *fault.Error // before any channel moves; nil: everything
	calls  atomic.Int32
}

// Admit implements [tree.Admitter].
func (n *native) Admit(c tree.ResourceCall) *fault.Error {
	if n.admit == nil {
		return nil
	}
	return n.admit(c)
}

func (*native) Contract() *contract.Invocation {
	i, err := contract.Bundle(contract.FiniteACP)
	if err != nil {
		panic(err)
	}
	return i
}

func (*native) Native() bool { return true }

func (n *native) Call(ctx context.Context, c tree.ResourceCall) (result jsontext.Value, failure *fault.Error) {
	if n.calls.Add(1) > 1 {
		return nil, fault.New(fault.Uncertain, "a second call")
	}
	in, err := acpframing.NewJoiner(acpframing.Requests, acpframing.Limits{})
	if err != nil {
		panic(err)
	}
	out, err := acpframing.NewSplitter(acpframing.Responses, acpframing.Limits{})
	if err != nil {
		panic(err)
	}
	p := &play{t: n.t, ctx: ctx, call: c, in: in, out: out, result: closed}
	defer func() {
		if r := recover(); r != nil {
			if r != errStop { //nolint:errorlint // the very value
				panic(r)
			}
			result, failure = nil, p.failure
		}
	}()
	if n.script == nil {
		p.fail(fault.Unavailable, "there is no script")
	}
	n.script(p)
	return jsontext.Value(p.result), p.failure
}

// What a resource says that went well.
const (
	closed = `{"outcome":"done","output":{"stopReason":"closed","exitCode":null,"signal":"SIGTERM","cleanup":"complete"}}`
	exited = `{"outcome":"done","output":{"stopReason":"exited","exitCode":0,"signal":null,"cleanup":"complete"}}`
)

// play is one call of the resource as a script sees it.
type play struct {
	t       testing.TB
	ctx     context.Context
	call    tree.ResourceCall
	in      *acpframing.Joiner
	out     *acpframing.Splitter
	result  string
	failure *fault.Error
	asked   []string // methods, in order
}

var errStop = fmt.Errorf("the script has ended")

// fail ends the call with a failure.
func (p *play) fail(code fault.Code, text string) {
	p.failure = fault.New(code, text)
	panic(errStop)
}

// wrong fails the test, and the call.
func (p *play) wrong(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf(format, args...)
	p.fail(fault.ExecutionFailed, "the script was not followed")
}

// raw sends one item.
func (p *play) raw(item string) {
	p.t.Helper()
	if err := p.call.Senders["responses"].Send(p.ctx, []byte(item)); err != nil {
		p.wrong("an item was not taken: %v", err)
	}
}

const ready = `{"kind":"ready","protocolVersion":1,"cwd":"/work","maxTurns":1,"configuration":[{"configId":"model","value":"reviewed"}],"modeId":"read-only"}`

// frame sends one frame.
func (p *play) frame(text string) {
	p.t.Helper()
	if err := p.out.Begin([]byte(text)); err != nil {
		p.wrong("a frame of %d bytes: %v", len(text), err)
	}
	for p.out.More() {
		item, err := p.out.Next(nil)
		if err != nil {
			p.wrong("a fragment: %v", err)
		}
		p.raw(string(item))
	}
}

// next reads one frame of the Flow; none at the end.
func (p *play) next() *acpframing.Frame {
	for {
		item, err := p.call.Receivers["requests"].Next(p.ctx)
		if err != nil {
			p.fail(err.(*fault.Error).Code, "the requests broke")
		}
		if item.End {
			if err := p.in.Finish(); err != nil {
				p.wrong("the end: %v", err)
			}
			return nil
		}
		f, err := p.in.Add(item.Value)
		if err != nil {
			p.wrong("a fragment: %v", err)
		}
		if f != nil {
			return f
		}
	}
}

// message is one frame of the Flow.
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`
}

// request reads a frame, which is a request of this method, and returns its id and
// params.
func (p *play) request(method string) (id, params string) {
	p.t.Helper()
	f := p.next()
	if f == nil {
		p.wrong("the requests ended before %s", method)
	}
	var m message
	if err := json0.Decode(f.Bytes(), &m); err != nil {
		p.wrong("a frame: %v", err)
	}
	if m.Method != method {
		p.wrong("%s came, and not %s", m.Method, method)
	}
	p.asked = append(p.asked, m.Method+"#"+string(m.ID))
	return string(m.ID), string(m.Params)
}

// answer reads a request with these params, if any are named, and answers it.
func (p *play) answer(method, params, result string) {
	p.t.Helper()
	id, got := p.request(method)
	if params != "" {
		assert.JSONEq(p.t, params, got, method)
	}
	p.reply(id, result)
}

func (p *play) reply(id, result string) {
	p.t.Helper()
	p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// refuse reads a request and answers it with an error.
func (p *play) refuse(method, more string) {
	p.t.Helper()
	id, _ := p.request(method)
	p.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Native ACP request failed"%s}}`, id, more))
}

func (p *play) notify(update string) {
	p.t.Helper()
	p.frame(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"owned","update":` + update + `}}`)
}

// say sends a piece of the answer.
func (p *play) say(text string) {
	p.t.Helper()
	quoted, err := jsontext.AppendQuote(nil, text)
	assert.NoError(p.t, err)
	p.notify(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(quoted) + `}}`)
}

const warning = `{"sessionUpdate":"session_info_update","_meta":{"notice":{"code":"NATIVE_WARNING"}}}`

func (p *play) warn() { p.notify(warning) }

// open plays everything before the first prompt.
func (p *play) open() { p.openWith(1) }

func (p *play) openWith(turns int) {
	p.t.Helper()
	for _, step := range opening(turns) {
		step(p)
	}
}

// opening are the steps before the first prompt.
func opening(turns int) []func(*play) {
	return []func(*play){
		func(p *play) { p.raw(strings.Replace(ready, `"maxTurns":1`, fmt.Sprintf(`"maxTurns":%d`, turns), 1)) },
		func(p *play) {
			p.answer("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"jig-agent","version":"0.1.0"}}`, `{"protocolVersion":1,"agentCapabilities":{}}`)
		},
		func(p *play) { p.answer("session/new", `{"cwd":"/work","mcpServers":[]}`, `{"sessionId":"owned"}`) },
		func(p *play) {
			p.answer("session/set_config_option", `{"sessionId":"owned","configId":"model","value":"reviewed"}`,
				`{"configOptions":[{"id":"model","name":"model","type":"select","currentValue":"reviewed","options":[]}]}`)
		},
		func(p *play) { p.answer("session/set_mode", `{"sessionId":"owned","modeId":"read-only"}`, `{}`) },
	}
}

// abandoned expects that nobody waits for the call any more.
func (p *play) abandoned() {
	<-p.ctx.Done()
	p.fail(fault.Cancelled, "nobody waits")
}

// prompt reads a prompt and returns its id and text.
func (p *play) prompt() (id, text string) {
	p.t.Helper()
	id, raw := p.request("session/prompt")
	var params struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"prompt"`
	}
	if err := json0.Decode([]byte(raw), &params); err != nil || len(params.Prompt) != 1 || params.Prompt[0].Type != "text" || params.SessionID != "owned" {
		p.wrong("a prompt: %s", raw)
	}
	return id, params.Prompt[0].Text
}

// turn plays one turn with an answer.
func (p *play) turn(text, stop string) {
	p.t.Helper()
	id, _ := p.prompt()
	if text != "" {
		p.say(text)
	}
	p.reply(id, `{"stopReason":"`+stop+`"}`)
}

// eof expects the end of the requests.
func (p *play) eof() {
	p.t.Helper()
	if f := p.next(); f != nil {
		p.wrong("the requests go on: %.200s", f.Bytes())
	}
}

// end ends the conversation in order.
func (p *play) end() {
	p.t.Helper()
	p.eof()
	if err := p.call.Senders["responses"].Close(false); err != nil {
		p.wrong("the responses do not close: %v", err)
	}
}

// one is a whole conversation with this answer.
func one(text, stop string) func(*play) {
	return func(p *play) {
		p.open()
		p.turn(text, stop)
		p.end()
	}
}

// interrupted reads the cancellation of the turn under way.
func (p *play) interrupted() {
	p.t.Helper()
	f := p.next()
	if f == nil {
		p.wrong("the requests ended before session/cancel")
	}
	assert.JSONEq(p.t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"owned"}}`, string(f.Bytes()))
	p.asked = append(p.asked, "session/cancel")
}
