package acpprofile_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/acpprofile"
)

// respelt is a document in the longest form it has: white space wherever it may
// stand, and every character of every string an escape.
func respelt(t *testing.T, doc string) string {
	t.Helper()
	var b strings.Builder
	in := jsontext.NewDecoder(strings.NewReader(doc))
	for {
		kind, length := in.StackIndex(in.StackDepth())
		token, err := in.ReadToken()
		if err != nil {
			break
		}
		switch closes := token.Kind() == '}' || token.Kind() == ']'; {
		case closes, length == 0:
		case kind == '{' && length%2 == 1:
			b.WriteString(" : ")
		case kind != 0:
			b.WriteString(" , ")
		}
		if token.Kind() != '"' {
			b.WriteString("\n" + token.String() + "\t")
			continue
		}
		b.WriteByte('"')
		for _, unit := range utf16.Encode([]rune(token.String())) {
			fmt.Fprintf(&b, `\u%04X`, unit)
		}
		b.WriteByte('"')
	}
	equal, err := json0.Equal([]byte(doc), []byte(b.String()))
	require.NoError(t, err, b.String())
	require.True(t, equal, b.String())
	return b.String()
}

// sameDecision compares what was decided, the frames by their value.
func sameDecision(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	require.Len(t, g, len(w), "%s\n%s", want, got)
	for i := range w {
		side, frame, isFrame := strings.Cut(w[i], " ")
		otherSide, other, _ := strings.Cut(g[i], " ")
		require.True(t, isFrame, "%s\n%s", want, got)
		require.Equal(t, side, otherSide)
		equal, err := json0.Equal([]byte(frame), []byte(other))
		require.NoError(t, err, "%s\n%s", want, got)
		require.True(t, equal, "%s\n%s", want, got)
	}
}

// stages are the states in which a frame can mean something.
var stages = []func(*testing.T, acpprofile.Config) *rig{
	newRig,
	func(t *testing.T, c acpprofile.Config) *rig {
		r := newRig(t, c)
		r.mustAsk("initialize", hello)
		return r
	},
	initialized,
	func(t *testing.T, c acpprofile.Config) *rig {
		r := initialized(t, c)
		r.mustAsk("session/new", work)
		return r
	},
	opened, prompted, settled,
}

// A text update goes on as it is exactly where it has nothing that the adapter may
// not see, and nothing that need not be there.
func TestATextThatHoldsNothingElseGoesOnAsItIs(t *testing.T) {
	// rule: P-055, F-091
	const body = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\n\"b\""},"messageId":"m"}`
	whole := update(body)
	handedOn := func(line string) bool {
		in := []byte(line)
		d, err := prompted(t, plain()).Machine.Native(in)
		require.NoError(t, err, line)
		require.Len(t, d.ToAdapter, 1, line)
		out := d.ToAdapter[0]
		equal, err := json0.Equal(out, []byte(strings.Replace(whole, `,"messageId":"m"`, "", 1)))
		require.NoError(t, err)
		withID, err := json0.Equal(out, []byte(whole))
		require.NoError(t, err)
		require.True(t, equal || withID, line)
		require.Equal(t, line, string(in))
		if &out[0] != &in[0] {
			return false
		}
		require.Equal(t, len(out), cap(out), "what is appended to it is not written behind the line")
		return true
	}
	for _, line := range []string{
		whole,
		strings.Replace(whole, `,"messageId":"m"`, "", 1),
		update(`{"messageId":"m","content":{"text":"a\n\"b\"","type":"text"},"sessionUpdate":"agent_message_chunk"}`),
		`{"params":{"update":` + body + `,"sessionId":"s"},"method":"session/update","jsonrpc":"2.0"}`,
	} {
		require.True(t, handedOn(line), line)
	}
	for _, line := range []string{
		whole + " ", " " + whole, strings.Replace(whole, `:`, `: `, 1), strings.Replace(whole, `method`, `m\u0065thod`, 1),
		strings.Replace(whole, `"2.0"`, `"2\u002e0"`, 1), strings.Replace(whole, `_chunk`, `\u005fchunk`, 1),
		strings.Replace(whole, `{"type"`, `{"":0,"type"`, 1), strings.Replace(whole, `{"sessionUpdate"`, `{"":0,"sessionUpdate"`, 1),
		strings.Replace(whole, `"update"`, `"_meta":{},"update"`, 1), strings.Replace(whole, `"messageId"`, `"_meta":{},"messageId"`, 1),
		strings.Replace(whole, `"messageId":"m"`, `"messageId":""`, 1), strings.Replace(whole, `"messageId":"m"`, `"messageId":1`, 1),
		strings.Replace(whole, `"messageId":"m"`, `"messageID":"m"`, 1),
	} {
		require.False(t, handedOn(line), line)
	}
}

// FuzzSpelling shows that it makes no difference how a frame is spelt, whoever
// sends it and whenever: the respelt one is never handed on as it is.
func FuzzSpelling(f *testing.F) {
	for _, frame := range []string{
		update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"a \"b\" \\ é 😀\n"}}`),
		update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","text":1}}`),
		update(`{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"},{"content":"d","priority":"low","status":"completed","x":[]}]}`),
		update(`{"sessionUpdate":"tool_call","rawInput":{"a":[1,{"b":"}]"}]}}`), update(warningAt(`{"version":1,"severity":"warning"}`)), update(warningAt(`{"version":1.0,"severity":"error"}`)),
		`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[]}}`, `{"jsonrpc":"2.0","id":"é","method":"session/request_permission"}`,
		`{"jsonrpc":"2.0","id":1,"result":` + capable + `}`, `{"jsonrpc":"2.0","id":2,"result":` + owned + `}`, `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":"failed to load configuration: Failed to synchronize managed preferences\n\nCheck x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"n","title":"t"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":` + work + `}`, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":` + prompt(`"hi"`) + `}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/close","params":` + owned + `}`, cancel,
	} {
		f.Add(frame)
	}
	c := plain()
	c.Client = "codex"
	f.Fuzz(func(t *testing.T, frame string) {
		if json0.Check([]byte(frame)) != nil {
			return
		}
		other := respelt(t, frame)
		for _, at := range stages {
			sameDecision(t, at(t, c).native(frame), at(t, c).native(other))
			sameDecision(t, at(t, c).raw(frame), at(t, c).raw(other))
		}
	})
}
