package claude

import (
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// Breaches of the protocol.
var (
	errRetry = errors.New("claude: an answer that had begun is asked for again")
	errText  = errors.New("claude: text outside a turn, or before the model was named")
)

// mode is the only permission mode that is ever reviewed.
const mode = "default"

// Client speaks to one `claude -p`. It is for one goroutine.
type Client struct {
	host  adapter.Host
	model string // that has to be named; empty: a word the program resolves itself
	named bool   // it was

	asked int          // control requests so far
	wait  string       // id of the control request that the request in progress waits for
	kind  adapter.Kind // of the request in progress
	stop  string       // id of the interrupt that is not answered yet
	held  string       // a prompt that waits for that answer
	turn  *turn
}

// turn is one prompt in progress.
type turn struct {
	message   string // id of the message that is being streamed
	began     bool   // the program has taken the prompt up
	text      bool   // there was some
	reason    string // why the model stopped last
	cancelled bool
}

// New returns a client. It is an [adapter.Factory].
func New() adapter.Client { return &Client{} }

// Offers says that no session can be restored.
func (c *Client) Offers() adapter.Offers { return adapter.Offers{} }

// Start opens the conversation.
func (c *Client) Start(h adapter.Host) { c.host = h }

// Request begins a request of the host.
func (c *Client) Request(r adapter.Request) {
	c.kind = r.Kind
	switch r.Kind {
	case adapter.Initialize:
		c.wait = c.control(`"subtype":"initialize","hooks":{}`)
	case adapter.New:
		c.host.Done(adapter.Result{SessionID: uuid.NewString()})
	case adapter.Mode:
		if r.ModeID != mode {
			c.host.Fail(adapter.Failure{Invalid: true})
			return
		}
		c.wait = c.control(`"subtype":"set_permission_mode","mode":"` + mode + `"`)
	case adapter.Prompt:
		if c.turn = new(turn); c.stop != "" {
			c.held = r.Text // so that no late interrupt meets it
			return
		}
		c.prompt(r.Text)
	default: // a session to resume or a setting, neither of which there is
		c.host.Fail(adapter.Failure{Invalid: true})
	}
}

// control sends a control request and returns its id.
func (c *Client) control(request string) string {
	c.asked++
	id := "jig-" + strconv.Itoa(c.asked)
	c.host.Send([]byte(`{"type":"control_request","request_id":"` + id + `","request":{` + request + `}}`))
	return id
}

func (c *Client) prompt(text string) {
	line := append(make([]byte, 0, len(text)+len(text)/8+160), `{"type":"user","message":{"role":"user","content":[{"type":"text","text":`...)
	line = jsonline.Quote(line, text)
	c.host.Send(append(line, `}]},"parent_tool_use_id":null,"session_id":""}`...))
}

// Cancel interrupts the turn, as soon as it has begun: an interrupt that meets no turn
// is taken for done, and the prompt behind it goes on.
func (c *Client) Cancel() {
	if c.turn == nil || c.turn.cancelled {
		return
	}
	c.turn.cancelled = true
	if c.held != "" { // it was never sent
		c.held, c.turn = "", nil
		c.host.Done(adapter.Result{StopReason: adapter.Cancelled})
		return
	}
	if c.turn.began {
		c.interrupt()
	}
}

func (c *Client) interrupt() { c.stop = c.control(`"subtype":"interrupt"`) }

// Line takes one line of the program.
func (c *Client) Line(line []byte) error {
	v, err := jsonline.Parse(line)
	if err != nil {
		return err
	}
	switch jsonline.Text(v.Get("type")) {
	case "control_response":
		c.answered(v.Get("response"))
	case "control_request":
		c.question(v)
	case "system":
		return c.system(v)
	case "stream_event":
		if parent := v.Get("parent_tool_use_id"); !parent.Exists() || parent.Type == gjson.Null {
			return c.stream(v.Get("event"))
		}
	case "result":
		c.result(v)
	}
	// Everything else repeats what was streamed, or is nothing to the host. The
	// text of a message that the program wrote itself, where a request failed,
	// comes that way and goes nowhere.
	return nil
}

// answered takes the reply to a control request.
func (c *Client) answered(v gjson.Result) {
	id := jsonline.Text(v.Get("request_id"))
	ok := jsonline.Text(v.Get("subtype")) == "success"
	switch {
	case id == "":
	case id == c.stop:
		// An interrupt that was refused stops nothing; the turn goes on.
		c.stop = ""
		if c.held != "" {
			text := c.held
			c.held = ""
			c.prompt(text)
		}
	case id == c.wait:
		c.wait = ""
		if c.kind == adapter.Mode {
			ok = ok && jsonline.Text(v.Get("response.mode")) == mode
		}
		if !ok {
			c.host.Fail(adapter.Failure{})
			return
		}
		c.host.Done(adapter.Result{})
	}
}

// question refuses whatever the program asks. A permission is counted by the host
// first.
func (c *Client) question(v gjson.Result) {
	id := jsonline.Quote(nil, jsonline.Text(v.Get("request_id")))
	if jsonline.Text(v.Get("request.subtype")) != "can_use_tool" {
		line := append([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":`), id...)
		c.host.Send(append(line, `,"error":"not offered"}}`...))
		return
	}
	call := jsonline.Text(v.Get("request.tool_use_id"))
	if call == "" || len(call) > 1024 {
		call = "tool"
	}
	c.host.Permission(call, func() {
		line := append([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":`), id...)
		c.host.Send(append(line, `,"response":{"behavior":"deny","message":"not permitted","interrupt":false}}}`...))
	})
}

// system takes the program's word on which model it runs, which it gives before
// each turn.
func (c *Client) system(v gjson.Result) error {
	switch jsonline.Text(v.Get("subtype")) {
	case "init":
		if c.model != "" && jsonline.Text(v.Get("model")) != c.model {
			if c.turn != nil {
				c.control(`"subtype":"interrupt"`)
			}
			c.host.Broken(launch.Model) // another one than was reviewed
			return nil
		}
		c.named = true
	case "status":
		if c.turn == nil || jsonline.Text(v.Get("status")) != "requesting" {
			return nil
		}
		c.turn.reason = "" // another request of the same turn: why the last one stopped is over
		c.begin()
	case "api_retry":
		if c.turn != nil && c.turn.text {
			return errRetry
		}
	}
	return nil
}

// begin notes that the turn has begun, and sends the interrupt that waits for that.
func (c *Client) begin() {
	if t := c.turn; t != nil && !t.began {
		t.began = true
		if t.cancelled {
			c.interrupt()
		}
	}
}

// stream takes one event of the model's answer.
func (c *Client) stream(v gjson.Result) error {
	c.begin()
	switch jsonline.Text(v.Get("type")) {
	case "message_start":
		if c.turn != nil {
			c.turn.message = jsonline.Text(v.Get("message.id"))
		}
	case "content_block_delta":
		if jsonline.Text(v.Get("delta.type")) != "text_delta" {
			return nil
		}
		text := jsonline.Text(v.Get("delta.text"))
		if text == "" {
			return nil
		}
		if c.turn == nil || c.model != "" && !c.named {
			return errText
		}
		c.turn.text = true
		c.host.Text(c.turn.message, text)
	case "message_delta":
		if reason := jsonline.Text(v.Get("delta.stop_reason")); c.turn != nil && reason != "" {
			c.turn.reason = reason
		}
	}
	return nil
}

// full says whether a model's name is a full one and not a word of the program's.
func full(model string) bool {
	return strings.ContainsFunc(model, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}
