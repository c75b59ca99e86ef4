package claude_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
)

// rule: N-029
func TestAFailureIsSortedAndItsTextGoesNowhere(t *testing.T) {
	for status, want := range map[string]string{
		"400": "fail service", "401": "fail auth", "403": "fail auth", "404": "fail model", "413": "fail service",
		"429": "fail rate", "500": "fail service", "529": "fail service", "null": "fail network",
	} {
		c, h := open(t, "fake-model")
		prompt(t, c, h, "fake-model")
		adaptertest.Lines(t, c, failed(`"subtype":"success","stop_reason":"stop_sequence","terminal_reason":"api_error","api_error_status":`+status))
		require.Equal(t, []string{want}, h.Took(), status)
	}
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, `{"type":"result","subtype":"success","result":"no verdict"}`)
	require.Equal(t, []string{"fail "}, h.Took(), "only is_error:false is a success")
}

func TestEveryReasonOfTheModelHasOneEnd(t *testing.T) {
	for reason, want := range map[string]string{
		"end_turn": "done end_turn", "stop_sequence": "done end_turn", "max_tokens": "done max_tokens",
		"model_context_window_exceeded": "done max_tokens", "refusal": "done refusal", "tool_use": "done max_turn_requests",
		"pause_turn": "fail ", "never_seen": "fail ",
	} {
		c, h := open(t, "fake-model")
		prompt(t, c, h, "fake-model")
		adaptertest.Lines(t, c, start, delta("x"), stopped(reason), `{"type":"result","is_error":false,"stop_reason":"`+reason+`","result":"x","usage":{"output_tokens":1}}`)
		require.Equal(t, []string{`text m1 "x"`, want}, h.Took(), reason)
	}
}

func TestALimitThatIsReportedAsAnErrorIsStillTheLimit(t *testing.T) {
	end := failed(`"subtype":"success","stop_reason":"stop_sequence","terminal_reason":"api_error","api_error_status":null`)
	for reason, want := range map[string]string{
		"max_tokens": "done max_tokens", "model_context_window_exceeded": "done max_tokens", "refusal": "done refusal",
	} {
		c, h := open(t, "fake-model")
		prompt(t, c, h, "fake-model")
		adaptertest.Lines(t, c, start, delta("x"), stopped(reason), assistant("<synthetic>", "PRIVATE"), end)
		require.Equal(t, []string{`text m1 "x"`, want}, h.Took(), reason)
	}

	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, start, delta("x"), stopped("max_tokens"), requesting, end)
	require.Equal(t, "fail network", h.Took()[1], "the request that went on from there failed for another reason")

	c, h = open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, start, stopped("tool_use"), failed(`"subtype":"error_max_turns","stop_reason":"tool_use","terminal_reason":"max_turns"`))
	require.Equal(t, []string{"done max_turn_requests"}, h.Took())
}

// complaint: B8.66 anthropics/claude-code#79500 - an answer of nothing counts as a success
func TestComplaintB8_66ClaudeCode79500AnAnswerOfNothingFails(t *testing.T) {
	for usage, want := range map[string]string{`{"output_tokens":0}`: "fail service", `{}`: "fail service", `{"output_tokens":7}`: "done end_turn"} {
		c, h := open(t, "fake-model")
		prompt(t, c, h, "fake-model")
		adaptertest.Lines(t, c, `{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"","usage":`+usage+`}`)
		require.Equal(t, []string{want}, h.Took(), usage)
	}
}

func TestAnAnswerThatWasNotStreamedFailsInsteadOfBeingLost(t *testing.T) {
	c, h := open(t, "fake-model")
	prompt(t, c, h, "fake-model")
	adaptertest.Lines(t, c, assistant("fake-model", "Hello"), success)
	require.Equal(t, []string{"fail service"}, h.Took())
}
