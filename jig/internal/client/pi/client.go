package pi

import (
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// errProtocol is a breach of the protocol.
var errProtocol = errors.New("pi: the client left its protocol")

// setting is the one thing that is configured.
const setting = "model"

// Client speaks to one `pi --mode rpc`. It is for one goroutine.
type Client struct {
	host  adapter.Host
	model string // provider/model, as reviewed

	asked   int
	wait    string // id of the command that the request in progress waits for
	request adapter.Request
	turn    *turn
}

// turn is one prompt in progress.
type turn struct {
	id        string // of the command
	taken     bool   // Pi took it up
	began     bool   // and the model is being asked
	text      bool   // there was some
	tool      bool   // the model wants a tool, and there is none
	cancelled bool
	last      *last // nil: the model has not ended a message
}

// last is how the last message of the model ended.
type last struct {
	reason   string
	tokens   int64
	category launch.Category // where it failed
}

// New returns a client. It is an [adapter.Factory].
func New() adapter.Client { return &Client{} }

// Offers says that no session can be restored.
func (c *Client) Offers() adapter.Offers { return adapter.Offers{} }

// Start opens the conversation.
func (c *Client) Start(h adapter.Host) { c.host = h }

// Request begins a request of the host.
func (c *Client) Request(r adapter.Request) {
	c.request = r
	switch r.Kind {
	case adapter.Initialize:
		c.wait = c.command("get_state", "")
	case adapter.New:
		c.host.Done(adapter.Result{SessionID: uuid.NewString()})
	case adapter.Configure:
		if r.ConfigID != setting || r.Value != c.model {
			c.host.Fail(adapter.Failure{Invalid: true})
			return
		}
		c.wait = c.command("get_state", "")
	case adapter.Prompt:
		c.turn = &turn{id: c.command("prompt", r.Text)}
	default: // a session to resume or a mode, neither of which there is
		c.host.Fail(adapter.Failure{Invalid: true})
	}
}

// command sends a command and returns its id.
func (c *Client) command(kind, message string) string {
	c.asked++
	id := "jig-" + strconv.Itoa(c.asked)
	line := append(make([]byte, 0, len(message)+len(message)/8+96), `{"type":"`+kind+`","id":"`+id+`"`...)
	if kind == "prompt" {
		line = jsonline.Quote(append(line, `,"message":`...), message)
	}
	c.host.Send(append(line, '}'))
	return id
}

// Cancel aborts the turn, as soon as it has begun: an abort that meets no turn is
// taken for done, and the prompt behind it goes on.
func (c *Client) Cancel() {
	if t := c.turn; t != nil && !t.cancelled {
		t.cancelled = true
		if t.began && !t.tool { // else it is being aborted already
			c.command("abort", "")
		}
	}
}

// Line takes one line of the program.
func (c *Client) Line(line []byte) error {
	v, err := jsonline.Parse(line)
	if err != nil {
		return err
	}
	switch jsonline.Text(v.Get("type")) {
	case "response":
		return c.answered(v)
	case "extension_ui_request":
		line := jsonline.Quote([]byte(`{"type":"extension_ui_response","id":`), jsonline.Text(v.Get("id")))
		c.host.Send(append(line, `,"cancelled":true}`...))
	case "message_update":
		return c.update(v.Get("assistantMessageEvent"))
	case "turn_start":
		c.begin()
	case "tool_execution_start":
		c.begin()
		c.refuse()
	case "turn_end":
		if message := v.Get("message"); c.turn != nil && jsonline.Text(message.Get("role")) == "assistant" {
			c.turn.last = &last{
				jsonline.Text(message.Get("stopReason")), message.Get("usage.output").Int(), category(jsonline.Text(message.Get("errorMessage"))),
			}
		}
	case "agent_settled":
		c.settled()
	}
	return nil
}

// answered takes the reply to a command.
func (c *Client) answered(v gjson.Result) error {
	id := jsonline.Text(v.Get("id"))
	ok := v.Get("success").Type == gjson.True
	switch {
	case id == "" && !ok:
		return errProtocol // it did not understand a line
	case c.turn != nil && id == c.turn.id:
		if !ok {
			c.turn = nil
			c.host.Fail(adapter.Failure{})
			return nil
		}
		c.turn.taken = true
	case id != "" && id == c.wait:
		c.wait = ""
		if !ok || !c.confirmed(v.Get("data.model")) {
			c.host.Fail(adapter.Failure{Category: launch.Model, Invalid: c.request.Kind == adapter.Configure})
			return nil
		}
		c.host.Done(adapter.Result{})
	}
	return nil
}

// confirmed says whether Pi has the reviewed model: it takes the arguments for a
// pattern, and a pattern may find something else.
func (c *Client) confirmed(model gjson.Result) bool {
	return jsonline.Text(model.Get("provider"))+"/"+jsonline.Text(model.Get("id")) == c.model
}

// begin notes that the turn has begun, and sends the abort that waits for that.
func (c *Client) begin() {
	if t := c.turn; t != nil && t.taken && !t.began {
		t.began = true
		if t.cancelled {
			c.command("abort", "")
		}
	}
}

// update takes one piece of the model's answer.
func (c *Client) update(v gjson.Result) error {
	c.begin()
	switch jsonline.Text(v.Get("type")) {
	case "text_delta":
		text := jsonline.Text(v.Get("delta"))
		switch {
		case text == "":
		case c.turn == nil:
			return errProtocol
		case !c.turn.tool:
			c.turn.text = true
			c.host.Text("", text)
		}
	case "toolcall_start":
		c.refuse()
	}
	return nil
}

// refuse ends a turn in which the model calls a tool. None was offered, and Pi
// would answer the model so, in another request, as often as the model likes.
func (c *Client) refuse() {
	if t := c.turn; t != nil && !t.tool {
		t.tool = true
		if !t.cancelled {
			c.command("abort", "")
		}
	}
}
