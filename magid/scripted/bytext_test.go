package scripted

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

var paths = map[Format]string{Chat: "/v1/chat/completions", Responses: "/v1/responses", Messages: "/v1/messages"}

// asking is a request's body whose last text of the user is this.
func asking(f Format, text string) string {
	user := `{"role":"user","content":` + quote(text) + `}`
	switch f {
	case Responses:
		return `{"model":"m","stream":true,"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"ECHO developer"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"ECHO earlier"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":` + quote(text) + `}]}],` +
			`"tools":[{"type":"function","name":"exec_command"}]}`
	case Messages:
		return `{"model":"m","stream":true,"system":"ECHO system","messages":[{"role":"user","content":"ECHO earlier"},{"role":"assistant","content":[]},` +
			`{"role":"user","content":[{"type":"text","text":` + quote(text) + `},{"type":"text","text":"<system-reminder>ECHO program</system-reminder>"}]}],` +
			`"tools":[{"name":"Read"},{"name":"Bash"}]}`
	default:
		return `{"model":"m","stream":true,"messages":[{"role":"system","content":"ECHO system"},` + user +
			`],"tools":[{"type":"function","function":{"name":"bash"}}]}`
	}
}

func chosen(t *testing.T, f Format, body string) Reply {
	t.Helper()
	r, ok := ByText(Request{Number: 7, Path: paths[f], Body: []byte(body)})
	require.True(t, ok)
	return r
}

// told is the text that a reply comes to.
func told(f Format, r Reply) string {
	var b strings.Builder
	for block := range strings.SplitSeq(string(r.Body(f)), "\n\n") {
		_, data, _ := strings.Cut(block, "data: ")
		for _, member := range []string{"choices.0.delta.content", "delta.text"} {
			b.WriteString(gjson.Get(data, member).String())
		}
		if f == Responses && gjson.Get(data, "type").String() == "response.output_text.delta" {
			b.WriteString(gjson.Get(data, "delta").String())
		}
	}
	return b.String()
}

func TestByText(t *testing.T) {
	for f := range paths {
		for text, want := range map[string]string{
			"HELLO":                        "Hello from a script.",
			"say it: HELLO":                "Hello from a script.",
			"ECHO one two":                 "one two",
			"ECHO: one HELLO":              "one HELLO",
			"HELLO\nECHO the last line":    "the last line",
			"ECHO the last directive\nnow": "the last directive",
			"LONG 3":                       "0000000 0000001 0000002 ",
			"hello":                        "This is a script.",
			"ECHOES":                       "This is a script.",
			"":                             "This is a script.",
			"LIMIT":                        "As much as ",
		} {
			require.Equal(t, want, told(f, chosen(t, f, asking(f, text))), "%s: %s", f, text)
		}
	}
}

func TestByTextAsksForTheToolThatIsOffered(t *testing.T) {
	for f, want := range map[Format]string{
		Chat:      `bash {"command":"echo the tool ran","description":"What the script asks for"}`,
		Responses: `exec_command {"cmd":"echo the tool ran"}`,
		Messages:  `Bash {"command":"echo the tool ran","description":"What the script asks for"}`,
	} {
		call := callOf(t, chosen(t, f, asking(f, "TOOL")))
		require.Equal(t, want, call.Name+" "+call.Arguments)
		require.Equal(t, "call_scripted_7", call.ID)
	}
	call := callOf(t, chosen(t, Responses, asking(Responses, `ESCALATE touch "a"`)))
	require.Equal(t, `touch "a"`, gjson.Get(call.Arguments, "cmd").String())
	require.Equal(t, "require_escalated", gjson.Get(call.Arguments, "sandbox_permissions").String())
	// Without an offer it asks for what the client usually has.
	require.Equal(t, "exec_command", callOf(t, chosen(t, Responses, `{"input":"TOOL x"}`)).Name)
	require.Equal(t, "Bash", callOf(t, chosen(t, Messages, `{"messages":[{"role":"user","content":"TOOL x"}]}`)).Name)
	shell := callOf(t, chosen(t, Responses, `{"input":"TOOL x","tools":[{"name":"shell"}]}`))
	require.Equal(t, `{"command":["/bin/sh","-c","x"]}`, shell.Arguments)
}

func callOf(t *testing.T, r Reply) Call {
	t.Helper()
	require.Equal(t, opCall, r.Steps[0].op)
	return r.Steps[0].call
}

func TestByTextAnswersAToolsResult(t *testing.T) {
	for f, body := range map[Format]string{
		Chat:      `{"messages":[{"role":"user","content":"TOOL"},{"role":"assistant"},{"role":"tool","content":"x"}]}`,
		Responses: `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"TOOL"}]},{"type":"function_call"},{"type":"function_call_output","output":"x"}]}`,
		Messages:  `{"messages":[{"role":"user","content":"TOOL"},{"role":"assistant"},{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`,
	} {
		require.Equal(t, "The tool answered.", told(f, chosen(t, f, body)))
	}
	// What the user says after it counts again.
	require.Equal(t, "x", told(Responses, chosen(t, Responses,
		`{"input":[{"role":"user","content":"TOOL"},{"type":"function_call_output"},{"role":"user","content":"ECHO x"}]}`)))
}

func TestByTextRefusesAndFails(t *testing.T) {
	for f := range paths {
		for _, status := range []int{400, 401, 403, 404, 429, 500, 503, 529} {
			r := chosen(t, f, asking(f, "FAIL"+strconv.Itoa(status)))
			require.Equal(t, status, r.Status)
			require.Contains(t, string(r.Body(f)), FailureText)
		}
		require.Equal(t, 400, chosen(t, f, asking(f, "LONG 0")).Status)
		require.Equal(t, 400, chosen(t, f, asking(f, "LONG many")).Status)
		require.Equal(t, 400, chosen(t, f, asking(f, fmt.Sprint("LONG ", MaxDeltas+1))).Status)
		require.Len(t, chosen(t, f, asking(f, fmt.Sprint("LONG ", MaxDeltas))).Steps, MaxDeltas+3)
		require.Contains(t, string(chosen(t, f, asking(f, "GARBAGE")).Body(f)), "data: {\"type\":\n\n")
	}
	require.Contains(t, string(chosen(t, Chat, asking(Chat, "REFUSE")).Body(Chat)), `"refusal":"No. "`)
	require.Contains(t, string(chosen(t, Responses, asking(Responses, "REFUSE")).Body(Responses)), `response.refusal.done`)
	require.Contains(t, string(chosen(t, Messages, asking(Messages, "REFUSE")).Body(Messages)), `"stop_reason":"refusal"`)
}

// SLOW says something and then nothing; SILENT not even a status; both until the
// client goes. CUT ends the connection.
func TestByTextHoldsUntilTheClientGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Respond: ByText})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		for n, want := range []string{"SLOW", "SILENT"} {
			c, err := s.Dial(t.Context(), "", "")
			require.NoError(t, err)
			body := asking(Responses, want)
			_, err = fmt.Fprintf(c, "POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			require.NoError(t, err)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
			got := make([]byte, 1<<16)
			total := 0
			for err == nil {
				var n int
				n, err = c.Read(got[total:])
				total += n
			}
			require.ErrorContains(t, err, "timeout")
			if want == "SLOW" {
				require.Contains(t, string(got[:total]), `"delta":"Wait. "`)
			} else {
				require.Zero(t, total)
			}
			require.NoError(t, c.Close())
			<-s.Requests()[n].Ended()
			require.True(t, s.Requests()[n].HungUp())
		}
		_, body := answer(t, s, request("/v1/responses", asking(Responses, "ECHO after")))
		require.Contains(t, body, "after")
	})
}

func request(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

func TestWhatServersTellBesideReplies(t *testing.T) {
	in(t, []Reply{TextReply("a")}, func(t *testing.T, s *Server) {
		status, body := answer(t, s, "GET /v1/models?client_version=1 HTTP/1.1\r\nHost: x\r\n\r\n")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, `{"object":"list","data":[],"models":[]}`, body)
		status, body = answer(t, s, request("/v1/messages/count_tokens", strings.Repeat(" ", 40)))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, `{"input_tokens":11}`, body)
		status, _ = answer(t, s, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n")
		require.Equal(t, http.StatusMethodNotAllowed, status)
		status, body = answer(t, s, request("/v1/messages", `{"model":"of the request"}`))
		require.Equal(t, http.StatusOK, status, "none of these used up the reply")
		require.Contains(t, body, `"model":"of the request"`)
		require.Contains(t, body, `"id":"msg_scripted_4_0"`, "ids do not repeat from one request to the next")
		require.Equal(t, "client_version=1", s.Requests()[0].Query)
	})
}
