package claude_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// host writes down what a client does to it, one line each.
type host struct {
	did    []string
	refuse []func()
}

func (h *host) add(format string, a ...any) { h.did = append(h.did, fmt.Sprintf(format, a...)) }

func (h *host) Send(line []byte) { h.add("send %s", line) }
func (h *host) Done(r adapter.Result) {
	session := ""
	if r.SessionID != "" {
		session = "session"
	}
	h.add("done %s%s", session, r.StopReason)
}
func (h *host) Fail(f adapter.Failure) {
	h.add("fail %s%s", f.Category, map[bool]string{true: "invalid"}[f.Invalid]+f.Data)
}
func (h *host) Text(id, text string)     { h.add("text %s %q", id, text) }
func (h *host) Plan(e []adapter.Entry)   { h.add("plan %v", e) }
func (h *host) Warn()                    { h.add("warn") }
func (h *host) Broken(c launch.Category) { h.add("broken %s", c) }
func (h *host) Permission(id string, refuse func()) {
	h.add("permission %s", id)
	h.refuse = append(h.refuse, refuse)
}
func (h *host) After(time.Duration, func()) func() { panic("claude sets no timer") }

// took returns what was done since the last call.
func (h *host) took() []string {
	did := h.did
	h.did = nil
	return did
}

// lines feeds lines and demands that none breaks the protocol.
func lines(t *testing.T, c adapter.Client, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, c.Line([]byte(line)), "%s", line)
	}
}

func frame(model string) *launch.Frame {
	return &launch.Frame{
		Client: "claude", Native: "/bin/claude", Argv: claude.Argv(model), Env: map[string]string{},
		Credential: jsontext.Value(`{"variable":"ANTHROPIC_API_KEY","value":"k"}`),
	}
}

// open is a client in a session, before its first prompt.
func open(t *testing.T, model string) (adapter.Client, *host) {
	t.Helper()
	c, h := claude.New(), &host{}
	_, err := c.Prepare(frame(model))
	require.NoError(t, err)
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	require.Equal(t, []string{`send {"type":"control_request","request_id":"jig-1","request":{"subtype":"initialize","hooks":{}}}`}, h.took())
	lines(t, c, `{"type":"control_response","response":{"subtype":"success","request_id":"jig-1","response":{"commands":[],"models":[]}}}`)
	c.Request(adapter.Request{Kind: adapter.New})
	require.Equal(t, []string{"done ", "done session"}, h.took())
	return c, h
}

// prompt sends a prompt and lets the program take it up.
func prompt(t *testing.T, c adapter.Client, h *host, model string) {
	t.Helper()
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "say hello"})
	require.Equal(t, []string{`send {"type":"user","message":{"role":"user","content":[{"type":"text","text":"say hello"}]},"parent_tool_use_id":null,"session_id":""}`}, h.took())
	lines(t, c, `{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"`+model+`","permissionMode":"default"}`, requesting)
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
