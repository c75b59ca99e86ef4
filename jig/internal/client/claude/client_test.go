package claude_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
	"github.com/magi-jig/magi-jig/jig/internal/client/claude"
)

// rule: N-028
func TestTheAnswerIsWhatTheModelStreamsAndNothingElse(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c,
		start, delta("Hello "), delta("from "),
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}},"parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"of a helper"}},"parent_tool_use_id":"toolu_1"}`,
		delta("here."), assistant("fake-model", "Hello from here."), stopped("end_turn"),
		`{"type":"user","message":{"role":"user","content":"echo"}}`, `{"type":"keep_alive"}`, `{"type":"never_seen","text":"x"}`,
		success)
	require.Equal(t, []string{`text m1 "Hello "`, `text m1 "from "`, `text m1 "here."`, "done end_turn"}, h.Took())
}

func TestSeveralTurnsOfOneSession(t *testing.T) {
	c, h := open(t, "fake-model")
	for range 3 {
		prompt(t, c, h, "fake-model")
		adaptertest.Lines(t, c, start, delta("Hello"), success)
		require.Equal(t, []string{`text m1 "Hello"`, "done end_turn"}, h.Took())
	}
}

// rule: N-030, N-029
func TestWhatTheProgramWritesItselfIsNoAnswer(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, assistant("<synthetic>", "API Error: PRIVATE"),
		failed(`"subtype":"success","stop_reason":"stop_sequence","terminal_reason":"api_error","api_error_status":400`))
	require.Equal(t, []string{"fail service"}, h.Took())
	prompt(t, c, h, "fake-model") // and the next turn is not affected
	adaptertest.Lines(t, c, start, delta("Hello"), success)
	require.Equal(t, []string{`text m1 "Hello"`, "done end_turn"}, h.Took())
}

// rule: J-188, J-189
// complaint: B2.27 we-are-singular/aml#23 - the program runs another model than the one that was chosen
func TestComplaintB2_27Aml23ANamedModelThatIsNotTheReviewedOneBreaksTheConversation(t *testing.T) {
	c, h := open(t, "claude-sonnet-5-5")
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
	h.Took()
	adaptertest.Lines(t, c, `{"type":"system","subtype":"init","model":"claude-opus-5-5"}`)
	require.Equal(t, []string{`send {"type":"control_request","request_id":"jig-2","request":{"subtype":"interrupt"}}`, "broken model"}, h.Took(), "no request of that model goes on")

	c, h = open(t, "claude-sonnet-5-5")
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
	adaptertest.Lines(t, c, start)
	require.Error(t, c.Line([]byte(delta("x"))), "text before the model was named")

	c, h = open(t, "claude-sonnet-5-5")
	prompt(t, c, h, "claude-sonnet-5-5")
	adaptertest.Lines(t, c, start, delta("Hello"), success)
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
	h.Took()
	adaptertest.Lines(t, c, `{"type":"system","subtype":"init"}`)
	require.Equal(t, "broken model", h.Took()[1], "each time it is named")
}

// rule: J-188
func TestAWordOfTheProgramsOwnStandsForAnyModel(t *testing.T) {
	for _, word := range []string{"default", "sonnet", "opus"} {
		c, h := open(t, word)
		prompt(t, c, h, "claude-sonnet-5-5")
		adaptertest.Lines(t, c, start, delta("Hello"), success)
		require.Equal(t, []string{`text m1 "Hello"`, "done end_turn"}, h.Took())
	}
}

// rule: N-031
func TestAnInterruptedTurnIsCancelledWhateverItsSubtypeSays(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, start, delta("s0 "))
	c.Cancel()
	require.Equal(t, []string{`text m1 "s0 "`, `send {"type":"control_request","request_id":"jig-2","request":{"subtype":"interrupt"}}`}, h.Took())
	adaptertest.Lines(t, c, delta("s1 "), `{"type":"control_response","response":{"subtype":"success","request_id":"jig-2","response":{"still_queued":[]}}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		failed(`"subtype":"error_during_execution","stop_reason":null,"terminal_reason":"aborted_streaming","errors":["x"]`))
	require.Equal(t, []string{`text m1 "s1 "`, "done cancelled"}, h.Took())
	prompt(t, c, h, "fake-model")
}

func TestACancelWaitsUntilTheTurnHasBegun(t *testing.T) {
	for _, first := range []string{requesting, start} {
		c, h := open(t, "fake-model")
		c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
		c.Cancel()
		adaptertest.Lines(t, c, `{"type":"system","subtype":"init","model":"fake-model"}`)
		require.Len(t, h.Took(), 1, "an interrupt would meet nothing yet")
		adaptertest.Lines(t, c, first)
		require.Equal(t, []string{`send {"type":"control_request","request_id":"jig-2","request":{"subtype":"interrupt"}}`}, h.Took())
		adaptertest.Lines(t, c, requesting, start)
		require.Empty(t, h.Took(), "and only once")
	}
}

func TestAnAnswerThatIsAskedForAgainBreaksTheProtocol(t *testing.T) {
	retry := `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":null}`
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, retry, start, delta("Hel"))
	require.Error(t, c.Line([]byte(retry)), "the same words would come twice")
}

func TestACancelThatComesTooLateChangesNoEnd(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, start, delta("Hello"))
	c.Cancel()
	adaptertest.Lines(t, c, success)
	require.Equal(t, "done end_turn", h.Took()[2])
}

func TestAPromptWaitsUntilALateInterruptIsAnswered(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, start, delta("Hello"))
	c.Cancel()
	adaptertest.Lines(t, c, success)
	h.Took()
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "next"})
	require.Empty(t, h.Took())
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"error","request_id":"jig-2","error":"idle"}}`)
	require.Equal(t, []string{`send {"type":"user","message":{"role":"user","content":[{"type":"text","text":"next"}]},"parent_tool_use_id":null,"session_id":""}`}, h.Took())

	adaptertest.Lines(t, c, requesting)
	c.Cancel()
	adaptertest.Lines(t, c, failed(`"terminal_reason":"aborted_streaming"`))
	h.Took()
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "held"})
	c.Cancel()
	require.Equal(t, []string{"done cancelled"}, h.Took(), "a prompt that was never sent needs no interrupt")
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"success","request_id":"jig-3","response":{}}}`)
	require.Empty(t, h.Took())
}

// rule: N-032, J-192
func TestAPermissionIsCountedAndDeniedWithoutAnInterrupt(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, `{"type":"control_request","request_id":"q\"1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"PRIVATE"},"tool_use_id":"toolu_1"}}`)
	require.Equal(t, []string{"permission toolu_1"}, h.Took())
	h.Answer()
	require.Equal(t, []string{`send {"type":"control_response","response":{"subtype":"success","request_id":"q\"1","response":{"behavior":"deny","message":"not permitted","interrupt":false}}}`}, h.Took())
	adaptertest.Lines(t, c, start, delta("Then not."), success)
	require.Equal(t, []string{`text m1 "Then not."`, "done end_turn"}, h.Took(), "the turn goes on")
}

func TestEveryOtherQuestionIsAnsweredWithAnError(t *testing.T) {
	c, h := open(t, "fake-model")
	for _, subtype := range []string{"hook_callback", "mcp_message", "request_user_dialog", "never_seen"} {
		adaptertest.Lines(t, c, `{"type":"control_request","request_id":"q","request":{"subtype":"`+subtype+`"}}`)
		require.Equal(t, []string{`send {"type":"control_response","response":{"subtype":"error","request_id":"q","error":"not offered"}}`}, h.Took())
	}
}

// rule: N-033
func TestTheModelIsNeverSetOverTheProtocol(t *testing.T) {
	c, h := open(t, "fake-model")
	c.Request(adapter.Request{Kind: adapter.Configure, ConfigID: "model", Value: "fake-model"})
	require.Equal(t, []string{"fail invalid"}, h.Took(), "there is no setting at all")
	require.Contains(t, strings.Join(claude.Argv("fake-model"), " "), "--model fake-model")
}

// rule: J-196
func TestNoSessionIsRestored(t *testing.T) {
	c, h := open(t, "fake-model")
	require.False(t, c.Offers().Resume)
	c.Request(adapter.Request{Kind: adapter.Resume, SessionID: "s"})
	require.Equal(t, []string{"fail invalid"}, h.Took())
}

// rule: J-188
func TestOnlyTheReviewedModeIsSet(t *testing.T) {
	c, h := open(t, "fake-model")
	c.Request(adapter.Request{Kind: adapter.Mode, ModeID: "bypassPermissions"})
	require.Equal(t, []string{"fail invalid"}, h.Took())
	c.Request(adapter.Request{Kind: adapter.Mode, ModeID: "default"})
	require.Equal(t, []string{`send {"type":"control_request","request_id":"jig-2","request":{"subtype":"set_permission_mode","mode":"default"}}`}, h.Took())
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"success","request_id":"jig-2","response":{"mode":"default"}}}`)
	require.Equal(t, []string{"done "}, h.Took())
	c.Request(adapter.Request{Kind: adapter.Mode, ModeID: "default"})
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"success","request_id":"jig-3","response":{"mode":"plan"}}}`)
	require.Equal(t, "fail ", h.Took()[1], "another mode than the one asked for")
}

func TestAnInitializeThatIsRefusedFailsIt(t *testing.T) {
	c, h := claude.New(), &adaptertest.Host{}
	_, err := c.Prepare(frame("fake-model"))
	require.NoError(t, err)
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	adaptertest.Lines(t, c, `{"type":"control_response","response":{"subtype":"error","request_id":"jig-1","error":"PRIVATE"}}`)
	require.Equal(t, "fail ", h.Took()[1])
}

func TestALineThatIsNoObjectBreaksTheProtocol(t *testing.T) {
	for _, bad := range []string{"not-json", "[]", `{"type":"result","type":"x"}`, "{\"type\":\"\xe4\"}"} {
		c, _ := open(t, "fake-model")
		err := c.Line([]byte(bad))
		require.Error(t, err)
		require.NotContains(t, err.Error(), bad)
	}
}

func TestTextOutsideATurnBreaksTheProtocol(t *testing.T) {
	c, h := open(t, "default")
	require.Error(t, c.Line([]byte(delta("x"))))
	prompt(t, c, h, "default")
	adaptertest.Lines(t, c, start, delta("x"), success)
	require.Error(t, c.Line([]byte(delta("late"))))
}

func TestAResultOutsideATurnSettlesNothing(t *testing.T) {
	c, h := open(t, "fake-model")
	adaptertest.Lines(t, c, success, `{"type":"control_response","response":{"subtype":"success","request_id":"","response":{}}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"jig-77","response":{}}}`)
	require.Empty(t, h.Took())
}

func FuzzNoLineOfTheProgramPanics(f *testing.F) {
	for _, line := range []string{success, delta("x"), start, stopped("refusal"), requesting, failed(`"terminal_reason":"max_turns"`), `{"type":"control_request"}`, `{"type":"control_response","response":[]}`} {
		f.Add([]byte(line), true)
	}
	f.Fuzz(func(t *testing.T, line []byte, cancel bool) {
		c, h := open(t, "fake-model")
		prompt(t, c, h, "fake-model")
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
