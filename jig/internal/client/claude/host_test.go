package claude_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

func frame(model string) *launch.Frame {
	return &launch.Frame{
		Client: "claude", Native: "/bin/claude", Argv: claude.Argv(model), Env: map[string]string{},
		Credential: jsontext.Value(`{"variable":"ANTHROPIC_API_KEY","value":"k"}`),
	}
}

// open is a client in a session, before its first prompt.
func open(t *testing.T, model string) (adapter.Client, *adaptertest.Host) {
	t.Helper()
	c, h := claude.New(), &adaptertest.Host{}
	_, err := c.Prepare(frame(model))
	require.NoError(t, err)
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	require.Equal(t, []string{`send {"type":"control_request","request_id":"jig-1","request":{"subtype":"initialize","hooks":{}}}`}, h.Took())
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"success","request_id":"jig-1","response":{"commands":[],"models":[]}}}`)
	c.Request(adapter.Request{Kind: adapter.New})
	require.Equal(t, []string{"done ", "done session"}, h.Took())
	return c, h
}

// prompt sends a prompt and lets the program take it up.
func prompt(t *testing.T, c adapter.Client, h *adaptertest.Host, model string) {
	t.Helper()
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "say hello"})
	require.Equal(t, []string{`send {"type":"user","message":{"role":"user","content":[{"type":"text","text":"say hello"}]},"parent_tool_use_id":null,"session_id":""}`}, h.Took())
	adaptertest.Lines(t, c, `{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"`+model+`","permissionMode":"default"}`, requesting)
}

// Lines of the program, cut down to what matters.
const (
	requesting = `{"type":"system","subtype":"status","status":"requesting","session_id":"s"}`
	start      = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","role":"assistant","model":"x","content":[]}},"parent_tool_use_id":null}`
	success    = `{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","terminal_reason":"completed","api_error_status":null,"result":"Hello","usage":{"output_tokens":7}}`
)

func delta(text string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}},"parent_tool_use_id":null}`, text)
}

func stopped(reason string) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null}},"parent_tool_use_id":null}`, reason)
}

func assistant(model, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m1","role":"assistant","model":%q,"content":[{"type":"text","text":%q}]},"parent_tool_use_id":null}`, model, text)
}

// failed is the end of a turn with an error; its members follow.
func failed(members string) string {
	return `{"type":"result","is_error":true,"result":"API Error: PRIVATE",` + members + `}`
}
