package component

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// outcome is what the handler came to.
type outcome struct {
	result  jsontext.Value // of a success
	failure *fault.Error
	undone  string // why a success became a failure
}

// Executed is the failure of a handler that threw something.
func Executed() *fault.Error { return fault.New(fault.ExecutionFailed, "Run execution failed") }

// Invalid is the failure of a handler whose value is no result.
func Invalid() *fault.Error { return fault.New(fault.InvalidResult, "Run result is invalid") }

// Succeed ends the handler with what it returned. raw is nil where that is not
// JSON/0 at all. For a value that is no result it returns why, for the author.
func (c *Component) Succeed(raw jsontext.Value) (why string) {
	if why = c.unfit(raw); why != "" {
		c.finish(outcome{failure: Invalid()})
		return why
	}
	c.finish(outcome{result: raw})
	return ""
}

// unfit says why raw cannot be the result.
func (c *Component) unfit(raw jsontext.Value) string {
	if raw == nil {
		return "the result is not JSON"
	}
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, c.rootID, raw)
	if len(frame) > c.l.FrameBytes {
		return fmt.Sprintf("the result does not fit a message of %d bytes", c.l.FrameBytes)
	}
	members, ok := exactly(raw, "outcome", "output")
	name, isText := stringOf(members["outcome"])
	switch {
	case !ok:
		return "the result has to be {outcome, output}, with both and with nothing else"
	case !isText || !contract.LocalName(name):
		return "the outcome of the result has to be a name of lower-case words joined by single hyphens"
	}
	if err := json0.Check(frame); err != nil {
		return "the result does not fit a message: " + err.Error()
	}
	return ""
}

// Fail ends the handler with a failure. One that cannot be sent is an
// EXECUTION_FAILED, and kept is false.
func (c *Component) Fail(err *fault.Error) (kept bool) {
	kept = true
	if !err.Code.OnWire() || !ValidMessage(err.Message) || json0.Check(c.failed(err)) != nil || len(c.failed(err)) > c.l.FrameBytes {
		err, kept = Executed(), false
	}
	c.finish(outcome{failure: err})
	return kept
}

// finish closes admission and settles everything that is still owned
// (flow-author-api 1.4).
func (c *Component) finish(o outcome) {
	if c.state != stateOpen {
		return
	}
	c.state, c.outcome = stateClosing, o
	for _, n := range sortedEnds(c.ends) {
		if c.ends[n].abandoned() {
			c.execution("a receiver was neither read to its end nor closed")
		}
	}
	for _, r := range c.all() {
		if !r.control && len(r.waiters) > 0 {
			c.execution(began[r.method] + " was not awaited")
		}
	}
	c.abandonAll()
	c.advance()
}

// began is what the author began with a request.
var began = map[string]string{
	"flow/call": "a call of a slot", "channel/create": "the creation of a channel", "channel/subscribe": "a subscription",
	"channel/send": "a send", "channel/next": "a read",
}

// execution makes a failure of a success, which left something undone.
func (c *Component) execution(undone string) {
	if c.failure == nil {
		c.failure = Executed()
		c.undone = undone
	}
}

// advance answers the root once nothing is pending any more.
func (c *Component) advance() {
	if c.state != stateClosing || len(c.requests)+len(c.parked) > 0 {
		return
	}
	if !c.disposed {
		c.disposed = true
		for _, n := range sortedEnds(c.ends) {
			if e := c.ends[n]; e.loose() && !e.abandoned() {
				c.dispose(e, false)
			}
		}
		if len(c.requests) > 0 {
			return
		}
	}
	if c.cleanup {
		c.execution("a channel could not be put away")
	}
	if c.unsure {
		c.failure, c.undone = fault.New(fault.Uncertain, "the end of a channel could not be settled"), ""
	}
	if c.aborted {
		c.failure, c.undone = fault.New(fault.Cancelled, "Run was cancelled"), ""
	}
	c.state = stateAnswered
	if c.failure != nil {
		c.write(c.failed(c.failure), false)
	} else {
		c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, c.rootID, c.result), false)
	}
	e := Event{Kind: Answered}
	if c.undone != "" {
		e.Err = errors.New("the handler has returned a result, but " + c.undone)
	}
	c.emit(e)
}

// failed is the root's answer for a failure. It is nil for details without a JSON
// form.
func (c *Component) failed(err *fault.Error) []byte {
	b, merr := json0.Marshal(struct {
		RPC   string `json:"jsonrpc"`
		ID    string `json:"id"`
		Error any    `json:"error"`
	}{"2.0", c.rootID, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{-32000, err.Message, struct {
		Code    fault.Code     `json:"code"`
		Details jsontext.Value `json:"details,omitzero"`
	}{err.Code, err.Details}}})
	if merr != nil {
		return nil
	}
	return b
}
