package codex

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/adaptertest"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// complaint: B2.15 pingdotgg/t3code#11216 - a long session cannot be resumed any more, because its history comes back in one line
func TestComplaintB2_15T3code11216HistoryInOneLineIsDropped(t *testing.T) {
	text, err := os.ReadFile("testdata/resume.txt")
	require.NoError(t, err)
	size := 1 << 20
	if *long {
		size = 8 << 20
	}
	const empty = `"turns":[]`
	require.Contains(t, string(text), empty)
	history := `"turns":[{"id":"old","items":[{"type":"agentMessage","id":"m","text":"` + strings.Repeat(`PRIVATE \"words\" `, size/17) + `"}]}]`
	require.Greater(t, len(history), size)
	synctest.Test(t, func(t *testing.T) { replay(t, strings.Replace(string(text), empty, history, 1)) })
}

// complaint: B2.17 radareorg/radare2-mcp#68 - an answer with id 0, or with no id that was asked with, is taken for the one that is waited for
func TestComplaintB2_17Radare2mcp68AnswersHaveTheIdThatWasAskedWith(t *testing.T) {
	for _, answer := range []string{`{"id":"1","result":{}}`, `{"id":0,"result":{}}`, `{"id":1.0,"result":{}}`, `{"id":2,"result":{}}`, `{"id":null,"result":{}}`, `{"result":{}}`} {
		c, h := started()
		require.Error(t, c.Line([]byte(answer)), answer)
		require.Zero(t, h.Settled())
	}
	c, _ := started()
	adaptertest.Lines(t, c, `{"id":1,"result":{}}`)
	require.Error(t, c.Line([]byte(`{"id":1,"result":{}}`)), "the same answer twice")
}

// complaint: B2.18 openonion/connectonion#975 - an error that answers nothing is answered with an error, for ever
func TestComplaintB2_18Connectonion975AnswersAreNotAnswered(t *testing.T) {
	for _, line := range []string{`{"id":null,"error":{"code":true,"message":42}}`, `{"id":7,"error":{"code":-1,"message":"PRIVATE"}}`, `{"error":{"message":"PRIVATE"}}`} {
		c, h := started()
		h.Took()
		require.Error(t, c.Line([]byte(line)), line)
		require.Empty(t, h.Took())
	}
}

// started is a client that has asked its first question, with id 1.
func started() (adapter.Client, *adaptertest.Host) {
	c, h := New(), &adaptertest.Host{}
	c.Start(h)
	c.Request(adapter.Request{Kind: adapter.Initialize})
	return c, h
}

// complaint: B2.24 xai-org/grok-build-plugin-cc#6 - a refused permission ends the whole turn at once
// rule: J-186
func TestComplaintB2_24GrokBuildPlugin6TheTurnGoesOnAfterARefusal(t *testing.T) {
	c, h := New().(*client), &adaptertest.Host{}
	c.Start(h)
	c.thread, c.authorised = "t", true
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "x"})
	adaptertest.Lines(t, c, `{"id":1,"result":{"turn":{"id":"u","status":"inProgress"}}}`,
		`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"call"}}`)
	h.Took()
	h.Answer()
	require.Equal(t, []string{`send {"id":0,"result":{"decision":"decline"}}`}, h.Took())
	adaptertest.Lines(t, c, `{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"m","delta":"Then not."}}`,
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}`)
	require.Equal(t, []string{`text m "Then not."`, "done end_turn"}, h.Took())
}

// complaint: B5.48 openai/codex#32327 - a snapshot of the shell writes exported secrets to disk
// rule: J-182
func TestComplaintB5_48Codex32327NoSnapshotOfTheShellIsMade(t *testing.T) {
	want, err := os.ReadFile("testdata/config.golden.toml")
	require.NoError(t, err)
	require.Equal(t, string(want), config)
	require.Contains(t, config, "\nshell_snapshot = false\n")
	require.Contains(t, config, "[shell_environment_policy]\ninherit = \"core\"\n")
}

// What a version declares beyond what is looked at does nothing, and what is looked
// at does what the table says and nothing else.
//
// complaint: B8.70 coder/agentapi#123 - the state of an agent is guessed from what it shows
// rule: N-015, N-043
func TestComplaintB8_70Agentapi123NotificationsActByTable(t *testing.T) {
	table, err := os.ReadFile("testdata/notifications.golden")
	require.NoError(t, err)
	params := `{"threadId":"t","turnId":"u","itemId":"m","delta":"words","turn":{"id":"u","status":"completed"},"error":{"message":"PRIVATE"},"willRetry":false,` +
		`"item":{"type":"agentMessage","id":"n","text":"whole"},"plan":[{"step":"s","status":"pending"}],"message":"PRIVATE","summary":"PRIVATE"}`
	effects := map[string][]string{
		"nothing": nil, "turn": nil, "warns": {"warn"}, "text": {`text m "words"`, `text n "whole"`}, "settles": {"done end_turn"}, "plan": {"plan [{s medium pending}]"},
		"fails": {"broken model", "fail "},
	}
	known := 0
	for line := range bytes.Lines(table) {
		fields := strings.Fields(string(line))
		if fields[0] == "#" {
			continue
		}
		want, ok := effects[fields[1]]
		require.True(t, ok, fields[1])
		c, h := New().(*client), &adaptertest.Host{}
		c.Start(h)
		c.thread, c.model, c.prompting, c.turn, c.streamed = "t", "some-model", true, "u", map[string]bool{}
		adaptertest.Lines(t, c, fmt.Sprintf(`{"method":%q,"params":%s,"emittedAtMs":1}`, fields[0], params))
		did := h.Took()
		if fields[0] == "error" { // seen at the turn's end
			require.Empty(t, did)
			adaptertest.Lines(t, c, `{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}`)
			did = h.Took()
		}
		if want == nil {
			require.Empty(t, did, fields[0])
			continue
		}
		require.Len(t, did, 1, fields[0])
		require.Subset(t, want, did, fields[0])
		known++
	}
	require.Equal(t, 10, known)
}

// An item of another kind has a form of its own, whatever its members are called.
func TestItemsOfOtherKindsAreNotRead(t *testing.T) {
	c, h := New().(*client), &adaptertest.Host{}
	c.Start(h)
	c.thread, c.prompting, c.turn, c.streamed = "t", true, "u", map[string]bool{}
	for _, item := range []string{`{"type":"plan","id":"p","text":"PRIVATE"}`, `{"type":"later","id":"l","text":["PRIVATE"]}`, `{"type":"reasoning","id":"r","text":{"a":1}}`} {
		adaptertest.Lines(t, c, `{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":`+item+`}}`)
	}
	require.Empty(t, h.Took())
	require.Error(t, c.Line([]byte(`{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"agentMessage","id":"m","text":1}}}`)))
}

// The reply to the start of a turn, and whatever else comes late of it, is not of
// the next turn.
//
// rule: N-006
func TestWhatComesLateIsOfItsOwnTurn(t *testing.T) {
	c, h := New().(*client), &adaptertest.Host{}
	c.Start(h)
	c.thread, c.authorised = "t", true
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "one"})
	adaptertest.Lines(t, c, `{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u1","status":"inProgress"}}}`,
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u1","status":"completed"}}}`)
	c.Request(adapter.Request{Kind: adapter.Prompt, Text: "two"})
	c.Cancel()
	h.Took()
	adaptertest.Lines(t, c, `{"id":1,"result":{"turn":{"id":"u1","status":"completed"}}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u1","itemId":"m","delta":"late"}}`,
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u1","status":"failed"}}}`)
	require.Empty(t, h.Took())
	adaptertest.Lines(t, c, `{"id":2,"result":{"turn":{"id":"u2","status":"inProgress"}}}`)
	require.Empty(t, h.Took(), "Codex would find no turn to interrupt yet")
	adaptertest.Lines(t, c, `{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u2","status":"inProgress"}}}`)
	require.Equal(t, []string{`send {"id":3,"method":"turn/interrupt","params":{"threadId":"t","turnId":"u2"}}`}, h.Took())
	adaptertest.Lines(t, c, `{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u2","status":"interrupted"}}}`)
	require.Equal(t, []string{"done cancelled"}, h.Took())
}
