package codex

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

const methodDelta = "item/agentMessage/delta"

var errLine = errors.New("codex: a line is no message of the app-server")

// message is any line of the app-server. Its versions add members; those are none
// of ours.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *failure       `json:"error"`
}

func (c *client) Line(line []byte) error {
	// An answer is thousands of these, and little else: they are read in one go.
	if piece, ok := readDelta(line); ok {
		c.delta(piece)
		return nil
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		return errLine
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return c.asked(m)
	case m.Method != "":
		return c.notified(m)
	}
	id, err := strconv.Atoi(string(m.ID))
	done, ok := c.calls[id]
	if err != nil || !ok || (m.Result == nil) == (m.Error == nil) {
		return errLine
	}
	delete(c.calls, id)
	done(m.Result, m.Error)
	return nil
}

// loginLine is the request for a login, made without a copy that stays.
func loginLine(id int, params []byte) []byte {
	b := make([]byte, 0, len(params)+64)
	b = strconv.AppendInt(append(b, `{"id":`...), int64(id), 10)
	b = append(b, `,"method":"account/login/start","params":`...)
	return append(append(b, params...), '}')
}

// asked answers a question of the app-server. All answers are no; their form is
// the one that lets the turn go on.
func (c *client) asked(m message) error {
	if k := m.ID.Kind(); k != '"' && k != '0' {
		return errLine
	}
	answer := func(body string) {
		b := append([]byte(`{"id":`), m.ID...)
		c.h.Send(append(append(append(b, ','), body...), '}'))
	}
	var body string
	switch m.Method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		body = `"result":{"decision":"decline"}`
	case "item/permissions/requestApproval":
		body = `"result":{"permissions":{},"scope":"turn"}`
	case "applyPatchApproval", "execCommandApproval":
		body = `"result":{"decision":"denied"}`
	case "item/tool/requestUserInput":
		answer(`"result":{"answers":{}}`)
		return nil
	case "mcpServer/elicitation/request":
		answer(`"result":{"action":"decline","content":null}`)
		return nil
	case "item/tool/call":
		answer(`"result":{"contentItems":[],"success":false}`)
		return nil
	case "account/chatgptAuthTokens/refresh":
		c.renew = true // what fails next fails for this
		fallthrough
	default: // attestation/generate among them
		answer(`"error":{"code":-32601,"message":"not available"}`)
		return nil
	}
	var p struct {
		Item string `json:"itemId"`
		Call string `json:"callId"`
	}
	_ = json.Unmarshal(m.Params, &p) // a name for the host's count, no more
	if p.Item == "" {
		p.Item = p.Call
	}
	c.h.Permission(p.Item, func() { answer(body) })
	return nil
}

type turn struct {
	ID     string   `json:"id"`
	Status string   `json:"status"`
	Error  *failure `json:"error"`
}

// notice is what the notifications that are looked at have in common.
type notice struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// delta is a piece of an answer.
type delta struct{ thread, turn, item, text string }

// readDelta reads a line that is a well-formed delta. Any other line is read again,
// and judged, elsewhere.
func readDelta(line []byte) (d delta, ok bool) {
	if !bytes.Contains(line[:min(len(line), 256)], []byte(`"`+methodDelta+`"`)) || !jsontext.Value(line).IsValid() {
		return d, false
	}
	strings := 0
	gjson.ParseBytes(line).ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "id":
			strings = -4 // a question of that name
		case "method":
			ok = v.Str == methodDelta
		case "params":
			v.ForEach(func(k, v gjson.Result) bool {
				if at := d.member(k.Str); at != nil && v.Type == gjson.String {
					*at = v.Str
					strings++
				}
				return true
			})
		}
		return true
	})
	return d, ok && strings == 4
}

func (d *delta) member(name string) *string {
	switch name {
	case "threadId":
		return &d.thread
	case "turnId":
		return &d.turn
	case "itemId":
		return &d.item
	case "delta":
		return &d.text
	}
	return nil
}

func (c *client) delta(d delta) {
	if c.thread == "" || d.thread != c.thread {
		return // a thread that Codex began by itself
	}
	if c.began(d.turn); !c.prompting || d.turn != c.turn {
		return
	}
	c.streamed[d.item] = true
	c.text(d.item, d.text)
}

type item struct {
	Item jsontext.Value `json:"item"`
}

type anyItem struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type plan struct {
	Plan []struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	} `json:"plan"`
}

type turned struct {
	Turn turn `json:"turn"`
}

type failed struct {
	Error     *failure `json:"error"`
	WillRetry bool     `json:"willRetry"`
}

// notified takes a notification. Those that are not here are dropped.
func (c *client) notified(m message) error {
	switch m.Method {
	case "warning", "configWarning", "deprecationNotice", "guardianWarning":
		c.h.Warn()
		return nil
	case "item/completed", "turn/started", "turn/completed", "turn/plan/updated", "error", "model/rerouted":
	case methodDelta:
		return errLine // it would have been read by now
	default:
		return nil
	}
	var n notice
	if json.Unmarshal(m.Params, &n) != nil {
		return errLine
	}
	if n.ThreadID != c.thread || c.thread == "" {
		return nil // a thread that Codex began by itself
	}
	switch m.Method {
	case "turn/started", "turn/completed":
		var t turned
		if json.Unmarshal(m.Params, &t) != nil {
			return errLine
		}
		if m.Method == "turn/started" {
			c.began(t.Turn.ID)
			return nil
		}
		return c.completed(t.Turn)
	case "error":
		var f failed
		if json.Unmarshal(m.Params, &f) != nil {
			return errLine
		}
		c.failed(f)
		return nil
	case "model/rerouted":
		if c.model != "" {
			c.h.Broken(launch.Model) // another one than was reviewed
		}
		return nil
	}
	if c.began(n.TurnID); !c.prompting || n.TurnID != c.turn {
		return nil
	}
	switch m.Method {
	case "item/completed":
		return c.item(m.Params)
	default:
		return c.plan(m.Params)
	}
}

func (c *client) text(id, text string) {
	c.spoke = c.spoke || text != ""
	c.h.Text(id, text)
}

// item takes a message that came whole. All other items have a form of their own.
func (c *client) item(params jsontext.Value) error {
	var i item
	var kind anyItem
	if json.Unmarshal(params, &i) != nil || json.Unmarshal(i.Item, &kind) != nil {
		return errLine
	}
	if kind.Type != "agentMessage" || c.streamed[kind.ID] {
		return nil
	}
	var whole struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(i.Item, &whole) != nil {
		return errLine
	}
	c.text(kind.ID, whole.Text)
	return nil
}

func (c *client) plan(params jsontext.Value) error {
	var n plan
	if json.Unmarshal(params, &n) != nil {
		return errLine
	}
	entries := make([]adapter.Entry, 0, len(n.Plan))
	for _, s := range n.Plan {
		status, ok := map[string]string{"pending": "pending", "inProgress": "in_progress", "completed": "completed"}[s.Status]
		if !ok {
			return errLine
		}
		entries = append(entries, adapter.Entry{Content: s.Step, Priority: "medium", Status: status})
	}
	c.h.Plan(entries)
	return nil
}

// completed settles the prompt, if the turn is its turn.
func (c *client) completed(t turn) error {
	if !c.prompting || t.ID == "" || t.ID == c.last || c.turn != "" && t.ID != c.turn {
		return nil
	}
	c.turn = t.ID // it may have ended before anything else was heard of it
	x, spoke, renew := c.broke, c.spoke, c.renew
	c.settle()
	switch t.Status {
	case "completed":
		if x != nil && !spoke {
			// It ended well and said nothing, and there was an error on the way:
			// a limit that was reached looks like this.
			c.h.Fail(adapter.Failure{Category: x.category()})
			return nil
		}
		c.h.Done(adapter.Result{StopReason: adapter.EndTurn})
	case "interrupted":
		c.h.Done(adapter.Result{StopReason: adapter.Cancelled})
	case "failed":
		if t.Error != nil {
			x = t.Error
		}
		f := adapter.Failure{}
		if x != nil {
			f.Category = x.category()
		}
		if f.Category == "" && renew {
			f.Category = launch.Auth
		}
		c.h.Fail(f)
	default:
		return errLine
	}
	return nil
}

// failed takes an error notification. One that Codex gets over by itself is a
// notice; one of the turn in progress is told again at the turn's end, if it ended
// the turn; any other one belongs to no request.
func (c *client) failed(f failed) {
	if f.Error == nil {
		f.Error = &failure{}
	}
	switch {
	case f.WillRetry:
		c.h.Warn()
	case c.prompting:
		c.broke = f.Error
	default:
		c.h.Broken(f.Error.category())
	}
}
