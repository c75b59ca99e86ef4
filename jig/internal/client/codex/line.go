package codex

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

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
	default: // account/chatgptAuthTokens/refresh and attestation/generate among them
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

// notice is what any notification may hold that something depends on.
type notice struct {
	ThreadID  string   `json:"threadId"`
	TurnID    string   `json:"turnId"`
	ItemID    string   `json:"itemId"`
	Delta     string   `json:"delta"`
	Turn      turn     `json:"turn"`
	Error     *failure `json:"error"`
	WillRetry bool     `json:"willRetry"`
	Item      struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Text string `json:"text"`
	} `json:"item"`
	Plan []struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	} `json:"plan"`
}

// notified takes a notification. Those that are not here are dropped.
func (c *client) notified(m message) error {
	switch m.Method {
	case "warning", "configWarning", "deprecationNotice", "guardianWarning":
		c.h.Warn()
		return nil
	case "item/agentMessage/delta", "item/completed", "turn/started", "turn/completed", "turn/plan/updated", "error", "model/rerouted":
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
	case "turn/started":
		c.began(n.Turn.ID)
		return nil
	case "turn/completed":
		return c.completed(n.Turn)
	case "error":
		c.failed(n)
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
	case "item/agentMessage/delta":
		c.streamed[n.ItemID] = true
		c.h.Text(n.ItemID, n.Delta)
	case "item/completed":
		if n.Item.Type == "agentMessage" && !c.streamed[n.Item.ID] {
			c.h.Text(n.Item.ID, n.Item.Text)
		}
	case "turn/plan/updated":
		return c.plan(n)
	}
	return nil
}

func (c *client) plan(n notice) error {
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
	c.began(t.ID)
	if !c.prompting || t.ID != c.turn {
		return nil
	}
	c.settle()
	switch t.Status {
	case "completed":
		c.h.Done(adapter.Result{StopReason: adapter.EndTurn})
	case "interrupted":
		c.h.Done(adapter.Result{StopReason: adapter.Cancelled})
	case "failed":
		f := adapter.Failure{}
		if t.Error != nil {
			f.Category = t.Error.category()
		}
		c.h.Fail(f)
	default:
		return errLine
	}
	return nil
}

// failed takes an error notification. One that Codex gets over by itself is a
// notice; one of the turn in progress comes again with the turn's end; any other
// one belongs to no request.
func (c *client) failed(n notice) {
	switch {
	case n.WillRetry:
		c.h.Warn()
	case c.prompting:
	default:
		category := launch.Category("")
		if n.Error != nil {
			category = n.Error.category()
		}
		c.h.Broken(category)
	}
}
