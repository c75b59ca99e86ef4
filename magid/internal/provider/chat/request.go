package chat

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

type requestBody struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitzero"`
	MaxTokens           int            `json:"max_tokens,omitzero"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitzero"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role string `json:"role"`
	// Content is null in an assistant's message that only calls.
	Content    *string    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitzero"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
}

// body writes the request as the server at hand takes it.
func (c *Client) body(r provider.Request) ([]byte, error) {
	b := requestBody{Model: c.model, Stream: true}
	if !c.withoutUsage.Load() {
		b.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if c.completionTokens.Load() {
		b.MaxCompletionTokens = r.MaxOutputTokens
	} else {
		b.MaxTokens = r.MaxOutputTokens
	}
	if r.System != "" {
		b.Messages = append(b.Messages, message{Role: "system", Content: &r.System})
	}
	for i, m := range r.Messages {
		out, err := messageOf(m)
		if err != nil {
			return nil, fmt.Errorf("chat: message %d: %w", i, err)
		}
		b.Messages = append(b.Messages, out)
	}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, tool{"function", function{t.Name, t.Description, t.InputSchema}})
	}
	raw, err := json.Marshal(&b)
	if err != nil {
		// The library's error would show where, in names of a tool's schema.
		return nil, errors.New("chat: the request cannot be written: a text is not UTF-8, or a schema is not JSON")
	}
	return raw, nil
}

func messageOf(m provider.Message) (message, error) {
	out := message{Role: string(m.Role), Content: &m.Text}
	switch m.Role {
	case provider.RoleUser:
	case provider.RoleAssistant:
		for _, c := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, toolCall{c.ID, "function", functionCall{c.Name, c.Arguments}})
		}
		if m.Text == "" && len(m.Calls) > 0 {
			out.Content = nil
		}
	case provider.RoleTool:
		out.ToolCallID = m.CallID
		if m.IsError {
			text, err := jsontext.AppendQuote(nil, m.Text)
			if err != nil {
				return message{}, errors.New("the text is not UTF-8")
			}
			// The format has no mark for a failed call, so the text carries it.
			content := `{"error":` + string(text) + `}`
			out.Content = &content
		}
	default:
		return message{}, fmt.Errorf("no role %q in this format", m.Role)
	}
	return out, nil
}
