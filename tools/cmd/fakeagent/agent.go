package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// agent is the conversation. It is for one goroutine.
type agent struct {
	in     *bufio.Reader
	out    io.Writer
	errs   io.Writer
	pieces int
	faults []fault

	session string       // the open session
	slow    *request     // a prompt that waits for its cancel
	code    int          // that it will exit with
	config  []configured // as last told
	struck  map[string]bool
}

type configured struct{ id, value string }

const sessionID = "fake-session-1"

func newAgent(in io.Reader, out, errs io.Writer, pieces int) *agent {
	return &agent{
		in: bufio.NewReaderSize(in, 1<<20), out: out, errs: errs, pieces: pieces,
		config: []configured{{"model", `"fake-model"`}, {"web", "false"}},
		struck: map[string]bool{},
	}
}

// request is what the host sent: a request, or without ID a notification, or
// without Method a reply.
type request struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params params         `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// params are those members that the agent looks at.
type params struct {
	SessionID string         `json:"sessionId"`
	ConfigID  string         `json:"configId"`
	Value     jsontext.Value `json:"value"`
	Prompt    []struct {
		Text string `json:"text"`
	} `json:"prompt"`
}

func (r *request) text() string {
	var b strings.Builder
	for _, part := range r.Params.Prompt {
		b.WriteString(part.Text)
	}
	return b.String()
}

// errExit ends the conversation at once, with the agent's code.
var errExit = errors.New("exit")

// serve talks until its input ends, and returns the exit code.
func (a *agent) serve() int {
	if _, err := a.strike(atStart, &request{}); err != nil {
		return a.code
	}
	for {
		line, err := a.in.ReadBytes('\n')
		if err != nil {
			if _, err := a.strike(atEOF, &request{}); err != nil {
				return a.code
			}
			return a.code
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(a.errs, "fakeagent: a line of the host is no message:", err)
			return 3
		}
		if err := a.handle(&r); err != nil {
			return a.code
		}
	}
}

// handle does what a request asks for, or what a fault makes of it.
func (a *agent) handle(r *request) error {
	if r.Method == "" {
		return nil // the host's answer to a permission request
	}
	done, err := a.strike(r.Method, r)
	if err != nil {
		return err
	}
	if !done {
		a.answer(r)
	}
	_, err = a.strike(after+r.Method, r)
	return err
}

// strike commits the faults of that place: those of the command line the first time
// that the conversation comes to it, those of a prompt's text in its turn. It
// reports whether one of them took the place of the answer.
func (a *agent) strike(at string, r *request) (done bool, err error) {
	var all []fault
	for _, f := range a.faults {
		if f.at == at && !a.struck[f.name] {
			a.struck[f.name] = true
			all = append(all, f)
		}
	}
	if strings.HasSuffix(at, methodPrompt) {
		for line := range strings.SplitSeq(r.text(), "\n") {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "FAULT "); ok {
				if f, ok := find(strings.TrimSpace(name)); ok && f.at == at {
					all = append(all, f)
				}
			}
		}
	}
	for _, f := range all {
		took, err := f.do(a, r)
		if err != nil {
			return true, err
		}
		done = done || took
	}
	return done, nil
}

const (
	methodInit    = "initialize"
	methodNew     = "session/new"
	methodResume  = "session/resume"
	methodConfig  = "session/set_config_option"
	methodMode    = "session/set_mode"
	methodPrompt  = "session/prompt"
	methodCancel  = "session/cancel"
	methodClose   = "session/close"
	methodUpdate  = "session/update"
	methodPermit  = "session/request_permission"
	capabilities  = `{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"close":{},"resume":{},"list":{}}}`
	initializedAs = `{"protocolVersion":1,"agentInfo":{"name":"fakeagent","version":"1"},"authMethods":[{"id":"fake","name":"Fake"}],"agentCapabilities":`
)

// answer is what a well-behaved agent says.
func (a *agent) answer(r *request) {
	switch r.Method {
	case methodInit:
		a.result(r, initializedAs+capabilities+`}`)
	case methodNew:
		a.session = sessionID
		a.result(r, `{"sessionId":`+quote(a.session)+`,"modes":{"currentModeId":"agent","availableModes":[]},"configOptions":`+a.options()+`}`)
		a.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
	case methodResume:
		a.session = r.Params.SessionID
		a.result(r, `{"modes":{"currentModeId":"agent","availableModes":[]},"configOptions":`+a.options()+`}`)
	case methodConfig:
		for i, c := range a.config {
			if c.id == r.Params.ConfigID {
				a.config[i].value = string(r.Params.Value)
			}
		}
		a.result(r, `{"configOptions":`+a.options()+`}`)
	case methodMode, methodClose:
		a.result(r, `{}`)
	case methodPrompt:
		a.prompt(r)
	case methodCancel:
		if a.slow != nil {
			a.result(a.slow, `{"stopReason":"cancelled"}`)
			a.slow = nil
		}
	default:
		a.error(r, -32601, "Method not found", "")
	}
}

func (a *agent) options() string {
	var all []string
	for _, c := range a.config {
		kind := "select"
		if c.value == "true" || c.value == "false" {
			kind = "boolean"
		}
		all = append(all, `{"id":`+quote(c.id)+`,"name":`+quote(c.id)+`,"type":`+quote(kind)+`,"currentValue":`+c.value+`}`)
	}
	return "[" + strings.Join(all, ",") + "]"
}

func (a *agent) prompt(r *request) {
	text := r.text()
	if strings.Contains(text, "SLOW") {
		a.say("Wait. ")
		a.slow = r
		return
	}
	answer := "You said: " + text
	if _, echo, ok := strings.Cut(text, "ECHO "); ok {
		answer = echo
	}
	a.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}`)
	half := len(answer) / 2
	for half > 0 && answer[half]&0xC0 == 0x80 {
		half-- // not within a character
	}
	a.say(answer[:half])
	a.say(answer[half:])
	a.update(`{"sessionUpdate":"usage_update","used":1,"size":2}`)
	a.result(r, `{"stopReason":"end_turn","usage":null,"_meta":{"private":true}}`)
}

// say is one piece of the answer; an empty piece is none.
func (a *agent) say(text string) {
	if text != "" {
		a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + quote(text) + `}}`)
	}
}

func (a *agent) update(update string) { a.updateOf(a.session, update) }

func (a *agent) updateOf(session, update string) {
	a.line(`{"jsonrpc":"2.0","method":"` + methodUpdate + `","params":{"sessionId":` + quote(session) + `,"update":` + update + `}}`)
}

func (a *agent) result(r *request, result string) {
	a.line(`{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":` + result + `}`)
}

func (a *agent) error(r *request, code int, message, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	a.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, r.ID, code, quote(message), data))
}

func (a *agent) permission(id, session string) {
	a.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + methodPermit + `","params":{"sessionId":` + quote(session) +
		`,"toolCall":{"toolCallId":"call-1","title":"touch /etc/passwd"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`)
}

func (a *agent) line(text string) { a.write(text + "\n") }

// write writes bytes as they are. A host that no longer reads is no concern of the
// agent's: it goes on until its own input ends.
func (a *agent) write(text string) {
	for a.pieces > 0 && len(text) > a.pieces {
		_, _ = io.WriteString(a.out, text[:a.pieces])
		text = text[a.pieces:]
	}
	_, _ = io.WriteString(a.out, text)
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(b)
}
