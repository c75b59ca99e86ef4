package provider

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// Provider talks to one model.
//
// A Provider is safe for concurrent use.
type Provider interface {
	// Stream gets one reply.
	//
	// text is called with pieces of the assistant's text, in order, each of at
	// least one byte and each valid UTF-8 by itself. While it runs, no idle
	// timeout does. An error it returns ends the reply at once and comes back
	// wrapped.
	//
	// A nil error means that the stream ended well. Calls are only in a Reply
	// whose error is nil; Usage may stand beside an error, because what a failed
	// reply cost was spent all the same.
	//
	// Stream returns promptly when ctx ends, and the upstream request is
	// cancelled by then.
	Stream(ctx context.Context, r Request, text func(string) error) (Reply, error)
}

// Request is what one reply is asked for: the whole history each time, because
// the formats keep no state at the provider.
type Request struct {
	// System is the system prompt; "" sends none.
	System string
	// Messages is the history, oldest first.
	Messages []Message
	// Tools may be called in the reply. None offered: the request has no member
	// for tools, since providers refuse an empty list.
	Tools []Tool
	// MaxOutputTokens bounds the reply at the provider; 0 leaves it to the
	// provider's own default.
	MaxOutputTokens int
}

// Tool is one function offered to the model.
type Tool struct {
	Name        string
	Description string
	// InputSchema is a JSON Schema object, sent as it stands.
	InputSchema jsontext.Value
}

// Role says who a message is from.
type Role string

// The three roles of a history. The system prompt is not a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a history.
type Message struct {
	Role Role
	// Text of a tool message is the result's JSON, or the error's text.
	Text string
	// Calls is what an assistant message asked for, in the model's order. Their
	// Arguments must be valid JSON: what the model got wrong is sent as {}.
	Calls []Call
	// CallID of a tool message names the call it answers.
	CallID string
	// IsError marks a tool message whose call failed.
	IsError bool
}

// Call is one tool call of a reply.
type Call struct {
	// ID is the provider's, "" when it gave none.
	ID string
	// Name is never empty in a Reply.
	Name string
	// Arguments is what the model wrote, joined and unchecked but for UTF-8: it
	// may be empty, truncated or no JSON at all.
	Arguments string
}

// Usage is what one reply cost. Both counts are at least zero.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
}

// Reply is one reply of the model, without its text, which has been streamed.
type Reply struct {
	// Calls is in the model's order.
	Calls []Call
	// Usage is nil when the provider did not say.
	Usage *Usage
}
