package pi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
	"github.com/magi-jig/magi-jig/jig/internal/client/pi"
)

func frame(t *testing.T) *launch.Frame {
	return &launch.Frame{
		Client: "pi", Native: "/bin/pi", Argv: pi.Argv("openai", "gpt-5.1"), Env: pi.Env(t.TempDir()),
		Credential: jsontext.Value(`{"openai":{"type":"api_key","key":"k"}}`),
	}
}

func state(id, model string) string {
	provider, name, _ := strings.Cut(model, "/")
	return fmt.Sprintf(`{"id":%q,"type":"response","command":"get_state","success":true,"data":{"model":{"id":%q,"provider":%q},"sessionId":"x"}}`, id, name, provider)
}

// open is a client in a session, before its first prompt.
func open(t *testing.T) (adapter.Client, *adaptertest.Host) {
	t.Helper()
	c, h := pi.New(), &adaptertest.Host{}
	_, err := c.Prepare(frame(t))
	require.NoError(t, err)
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	require.Equal(t, []string{`send {"type":"get_state","id":"jig-1"}`}, h.Took())
	adaptertest.Lines(t, c, state("jig-1", "openai/gpt-5.1"))
	c.Request(adapter.Request{Kind: adapter.New})
	require.Equal(t, []string{"done ", "done session"}, h.Took())
	return c, h
}

// prompt sends the nth command, a prompt, and lets Pi take it up.
func prompt(t *testing.T, c adapter.Client, h *adaptertest.Host, n int) {
	t.Helper()
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "say \"hello\""})
	require.Equal(t, []string{fmt.Sprintf(`send {"type":"prompt","id":"jig-%d","message":"say \"hello\""}`, n)}, h.Took())
	adaptertest.Lines(t, c, fmt.Sprintf(`{"id":"jig-%d","type":"response","command":"prompt","success":true}`, n),
		`{"type":"agent_start"}`, `{"type":"turn_start"}`, `{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"say"}]}}`)
}

// Lines of Pi, cut down to what matters.
const settled = `{"type":"agent_settled"}`

func delta(text string) string {
	return fmt.Sprintf(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":%q}}`, text)
}

func ended(reason, more string) string {
	return fmt.Sprintf(`{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"Hello"}],"usage":{"output":7},"stopReason":%q%s},"toolResults":[]}`, reason, more)
}

// rule: N-040, J-193
func TestATurnSettlesWithItsLastMessagesReason(t *testing.T) {
	for reason, want := range map[string]string{
		"stop": "done end_turn", "length": "done max_tokens", "error": "fail ", "aborted": "fail ", "deferred": "fail ", "never_seen": "fail ",
	} {
		c, h := open(t)
		prompt(t, c, h, 2)
		adaptertest.Lines(t, c, delta("Hello "), delta("there"), ended(reason, ""), `{"type":"agent_end","messages":[],"willRetry":false}`)
		require.Equal(t, []string{`text  "Hello "`, `text  "there"`}, h.Took(), "agent_end settles nothing")
		adaptertest.Lines(t, c, settled)
		require.Equal(t, []string{want}, h.Took(), reason)
	}
}

func TestSeveralTurnsOfOneSession(t *testing.T) {
	c, h := open(t)
	for n := range 3 {
		prompt(t, c, h, 2+n)
		adaptertest.Lines(t, c, delta("Hello"), ended("stop", ""), settled)
		require.Equal(t, []string{`text  "Hello"`, "done end_turn"}, h.Took())
	}
}

// rule: N-040
func TestAnAbortedTurnIsCancelled(t *testing.T) {
	c, h := open(t)
	prompt(t, c, h, 2)
	adaptertest.Lines(t, c, delta("s0 "))
	c.Cancel()
	require.Equal(t, []string{`text  "s0 "`, `send {"type":"abort","id":"jig-3"}`}, h.Took())
	adaptertest.Lines(t, c, delta("s1 "), ended("aborted", `,"errorMessage":"Request was aborted"`), settled, `{"id":"jig-3","type":"response","command":"abort","success":true}`)
	require.Equal(t, []string{`text  "s1 "`, "done cancelled"}, h.Took())
	prompt(t, c, h, 4)
	c.Cancel()
	h.Took()
	adaptertest.Lines(t, c, settled)
	require.Equal(t, []string{"done cancelled"}, h.Took(), "before the model said anything")
	prompt(t, c, h, 6)
	c.Cancel()
	h.Took()
	adaptertest.Lines(t, c, delta("done"), ended("stop", ""), settled)
	require.Equal(t, "done end_turn", h.Took()[1], "too late")
}

func TestACancelWaitsUntilTheTurnHasBegun(t *testing.T) {
	for _, first := range []string{`{"type":"turn_start"}`, delta("x")} {
		c, h := open(t)
		c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
		c.Cancel()
		require.Len(t, h.Took(), 1, "an abort would meet nothing yet")
		adaptertest.Lines(t, c, `{"id":"jig-2","type":"response","command":"prompt","success":true}`, `{"type":"agent_start"}`)
		require.Empty(t, h.Took())
		adaptertest.Lines(t, c, first)
		require.Equal(t, `send {"type":"abort","id":"jig-3"}`, h.Took()[0])
		adaptertest.Lines(t, c, `{"type":"turn_start"}`, `{"type":"message_update","assistantMessageEvent":{"type":"toolcall_start"}}`)
		require.Empty(t, h.Took(), "and only once")
	}
}

// rule: N-041
func TestWhatPiSaysOfAFailureStaysHere(t *testing.T) {
	for message, want := range map[string]string{
		`OpenAI API error (400): {\"message\":\"PRIVATE\"}`: "fail service", `401: {\"PRIVATE\":1}`: "fail auth", `OpenAI API error (403): x`: "fail auth",
		`404 not found`: "fail model", `x (429): x`: "fail rate", `500`: "fail service", `x (529)`: "fail service", `Connection error.`: "fail network",
		`ECONNRESET: The socket PRIVATE`: "fail network", `EA: x`: "fail ", `Error: x`: "fail ",
		`no number PRIVATE`: "fail ", `PRIVATE 4010 (4012): x`: "fail ", ``: "fail ", `42`: "fail ", `(200)`: "fail ",
	} {
		c, h := open(t)
		prompt(t, c, h, 2)
		adaptertest.Lines(t, c, ended("error", `,"errorMessage":"`+message+`"`), settled)
		require.Equal(t, []string{want}, h.Took(), message)
	}
}

// rule: N-042
func TestAPromptThatPiDoesNotTakeIsAFailure(t *testing.T) {
	c, h := open(t)
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
	h.Took()
	adaptertest.Lines(t, c, settled) // of something else: this prompt was not taken up yet
	require.Empty(t, h.Took())
	adaptertest.Lines(t, c, `{"id":"jig-2","type":"response","command":"prompt","success":false,"error":"Model not found: PRIVATE"}`)
	require.Equal(t, []string{"fail "}, h.Took())
	prompt(t, c, h, 3)
}

// rule: J-193
func TestTheModelIsConfirmedByWhatPiMadeOfIt(t *testing.T) {
	c, h := open(t)
	c.Request(adapter.Request{Kind: adapter.Configure, ConfigID: "model", Value: "openai/gpt-5.1"})
	require.Equal(t, []string{`send {"type":"get_state","id":"jig-2"}`}, h.Took())
	adaptertest.Lines(t, c, state("jig-2", "openai/gpt-5.1"))
	require.Equal(t, []string{"done "}, h.Took())

	c.Request(adapter.Request{Kind: adapter.Configure, ConfigID: "model", Value: "openai/gpt-5.1"})
	adaptertest.Lines(t, c, state("jig-3", "openai/gpt-5.1-mini"))
	require.Equal(t, "fail modelinvalid", h.Took()[1], "a pattern found something else")

	for _, r := range []adapter.Request{{ConfigID: "model", Value: "openai/gpt-5"}, {ConfigID: "thinking", Value: "openai/gpt-5.1"}} {
		r.Kind = adapter.Configure
		c.Request(r)
		require.Equal(t, []string{"fail invalid"}, h.Took(), "nothing is sent for it")
	}
}

func TestAModelThatPiDoesNotHaveFailsTheBeginning(t *testing.T) {
	for _, answer := range []string{
		state("jig-1", "anthropic/gpt-5.1"), `{"id":"jig-1","type":"response","command":"get_state","success":true,"data":{"model":null}}`,
		`{"id":"jig-1","type":"response","command":"get_state","success":false,"error":"PRIVATE"}`,
	} {
		c, h := pi.New(), &adaptertest.Host{}
		_, err := c.Prepare(frame(t))
		require.NoError(t, err)
		c.Start(h)
		c.Request(adapter.Request{Kind: adapter.Initialize})
		adaptertest.Lines(t, c, answer)
		require.Equal(t, "fail model", h.Took()[1])
	}
}

// rule: J-196, J-193
func TestThereIsNoModeAndNoRestoredSession(t *testing.T) {
	c, h := open(t)
	require.False(t, c.Offers().Resume)
	c.Request(adapter.Request{Kind: adapter.Resume, SessionID: "x"})
	c.Request(adapter.Request{Kind: adapter.Mode, ModeID: "off"})
	require.Equal(t, []string{"fail invalid", "fail invalid"}, h.Took())
}

// rule: J-205
func TestAModelThatCallsAToolEndsTheTurn(t *testing.T) {
	c, h := open(t)
	prompt(t, c, h, 2)
	adaptertest.Lines(t, c, delta("I'll look."), `{"type":"message_update","assistantMessageEvent":{"type":"toolcall_start","contentIndex":1}}`)
	require.Equal(t, []string{`text  "I'll look."`, `send {"type":"abort","id":"jig-3"}`}, h.Took(), "before Pi asks again")
	adaptertest.Lines(t, c, `{"type":"tool_execution_start","toolCallId":"a","toolName":"bash","args":{}}`, ended("toolUse", ""), delta("never"))
	c.Cancel()
	require.Empty(t, h.Took(), "it is being aborted already")
	adaptertest.Lines(t, c, ended("aborted", ""), settled)
	require.Equal(t, []string{"done cancelled"}, h.Took())

	prompt(t, c, h, 4)
	adaptertest.Lines(t, c, `{"type":"tool_execution_start","toolCallId":"a","toolName":"bash","args":{}}`, ended("aborted", ""), settled)
	require.Equal(t, []string{`send {"type":"abort","id":"jig-5"}`, "done max_turn_requests"}, h.Took())

	prompt(t, c, h, 6)
	adaptertest.Lines(t, c, `{"type":"message_update","assistantMessageEvent":{"type":"toolcall_start"}}`, ended("toolUse", ""), delta("The tool said"), ended("stop", ""), settled)
	require.Equal(t, "done max_turn_requests", h.Took()[1], "the abort came too late, and what was said after the call was not forwarded")
}

func TestAnAnswerOfNothingFails(t *testing.T) {
	c, h := open(t)
	prompt(t, c, h, 2)
	adaptertest.Lines(t, c, `{"type":"turn_end","message":{"role":"assistant","content":[],"usage":{"output":0},"stopReason":"stop"}}`, settled)
	require.Equal(t, []string{"fail service"}, h.Took())
	prompt(t, c, h, 3)
	adaptertest.Lines(t, c, ended("stop", ""), settled)
	require.Equal(t, []string{"done end_turn"}, h.Took(), "the model did answer, with nothing")
	prompt(t, c, h, 4)
	adaptertest.Lines(t, c, settled)
	require.Equal(t, []string{"fail "}, h.Took(), "without any message")
}

// rule: N-043
func TestWhatIsNotKnownIsDropped(t *testing.T) {
	c, h := open(t)
	adaptertest.Lines(t, c, `{"type":"never_seen","text":"x"}`, `{"type":"auto_retry_start"}`, settled, ended("stop", ""), `{"id":"x","type":"response","command":"abort","success":true}`)
	prompt(t, c, h, 2)
	adaptertest.Lines(t, c, `{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"again"}]}}`,
		`{"type":"turn_end","message":{"role":"system","stopReason":"stop"}}`, `{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"hm"}}`)
	require.Empty(t, h.Took())
}

func TestAQuestionIsAnsweredAsCancelled(t *testing.T) {
	c, h := open(t)
	adaptertest.Lines(t, c, `{"type":"extension_ui_request","id":"u\"1","method":"confirm","title":"PRIVATE"}`)
	require.Equal(t, []string{`send {"type":"extension_ui_response","id":"u\"1","cancelled":true}`}, h.Took())
}

func TestALineThatIsNoObjectBreaksTheProtocol(t *testing.T) {
	for _, bad := range []string{"not-json", "[]", "{\"type\":\"\xe4\"}", `{"type":"response","command":"parse","success":false,"error":"PRIVATE"}`, delta("outside a turn")} {
		c, _ := open(t)
		err := c.Line([]byte(bad))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "PRIVATE")
	}
}

func FuzzNoLineOfTheProgramPanics(f *testing.F) {
	for _, line := range []string{settled, delta("x"), ended("stop", ""), ended("error", `,"errorMessage":"(4"`), `{"type":"response","id":"jig-2","success":false}`, `{"type":"turn_end","message":[]}`} {
		f.Add([]byte(line), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, cancel bool) {
		c, h := open(t)
		prompt(t, c, h, 2)
		if cancel {
			c.Cancel()
		}
		for range 2 {
			if c.Line(line) != nil {
				return
			}
		}
		require.LessOrEqual(t, h.Settled(), 3, "two requests before the prompt, and each is settled once")
	})
}
