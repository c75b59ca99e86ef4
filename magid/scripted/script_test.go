package scripted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatTheModelDoesIsWrittenAsChat(t *testing.T) {
	r := Reply{Steps: []Step{
		Text("a\"北"), ToolCall(Call{Index: 1, ID: "i", Name: "n", Arguments: `{"a`}), ToolCall(Call{Index: -1, Name: "n"}),
		Arguments(1, `":1}`), Arguments(-1, ""), Finish("stop"), Usage(3, 4), Done(),
	}}
	const head = `data: {"id":"chatcmpl-scripted","object":"chat.completion.chunk","created":0,"model":"scripted",`
	want := []string{
		head + `"choices":[{"index":0,"delta":{"content":"a\"北"},"finish_reason":null}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"i","type":"function","function":{"name":"n","arguments":"{\"a"}}]},"finish_reason":null}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"type":"function","function":{"name":"n","arguments":""}}]},"finish_reason":null}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\":1}"}}]},"finish_reason":null}]}`,
		head + `"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":""}}]},"finish_reason":null}]}`,
		head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		head + `"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
		`data: [DONE]`,
	}
	require.Equal(t, strings.Join(want, "\n\n")+"\n\n", string(r.Body(Chat)))
}

func TestBodiesOfBytes(t *testing.T) {
	r := Reply{Steps: []Step{
		{}, Head(), Write("a"), Wait(1), Hold("name"), Event("b\nc"), Comment("d"), Repeat(2, Write("e"), Write("f")), Repeat(-1, Write("no")), Forever(Write("g")), Close(), Reset(),
	}}
	const want = "adata: b\ndata: c\n\n: d\n\nefefg"
	require.Equal(t, want, string(r.Body(Chat)))
	require.Equal(t, len(want), size(Chat.writer(0, ""), r.Steps))
}

func TestWire(t *testing.T) {
	steps := []Step{Write("abc"), Write(""), Wait(1), Write("defghijklmnopqrstu")}
	for name, tt := range map[string]struct {
		r    Reply
		want string
	}{
		"chunked": {
			Reply{Steps: steps},
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n12\r\ndefghijklmnopqrstu\r\n0\r\n\r\n",
		},
		"split": {
			Reply{Steps: []Step{Write("abcde")}, Split: 2},
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n",
		},
		"until the close": {
			Reply{Steps: steps, Framing: UntilClose, Status: 503, Header: []Field{{"Retry-After", "3"}}},
			"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 3\r\nConnection: close\r\n\r\nabcdefghijklmnopqrstu",
		},
		"length": {
			Reply{Steps: steps, Framing: Length, Header: []Field{{"content-type", "x/y"}}},
			"HTTP/1.1 200 OK\r\ncontent-type: x/y\r\nContent-Length: 21\r\nConnection: close\r\n\r\nabcdefghijklmnopqrstu",
		},
		"raw": {Reply{Steps: steps, Framing: Raw}, "abcdefghijklmnopqrstu"},
	} {
		require.Equal(t, tt.want, string(tt.r.Wire(Chat)), name)
	}
}

func TestCut(t *testing.T) {
	r := Reply{Framing: Length, Steps: []Step{Write("ab"), Wait(1), Repeat(2, Write("c")), Write("de"), Hold("h")}}
	const body = "abccde"
	for n := range len(body) + 3 {
		cut := r.Cut(Chat, n, Close())
		require.Equal(t, body[:min(n, len(body))], string(cut.Body(Chat)), n)
		require.Equal(t, Close(), cut.Steps[len(cut.Steps)-1])
		require.Contains(t, string(cut.Wire(Chat)), "Content-Length: 6\r\n", "the promise stands")
	}
	require.Equal(t, body, string(r.Body(Chat)), "the reply itself is unchanged")
	require.Equal(t, []Step{Write("ab"), Wait(1), Write(""), Reset()}, r.Cut(Chat, 2, Reset()).Steps)
	again := r.Cut(Chat, 5, Close()).Cut(Chat, 3, Reset())
	require.Contains(t, string(again.Wire(Chat)), "Content-Length: 6\r\n")
	require.Equal(t, "abc", string(again.Body(Chat)))
}

func TestHelpers(t *testing.T) {
	require.Equal(t, []Step{Text("a"), Text("b"), Finish("stop"), Usage(1, 2), Done()}, TextReply("a", "b").Steps)
	c := Call{Index: 0, ID: "i", Name: "n", Arguments: "{}"}
	require.Equal(t, []Step{ToolCall(c), Finish("tool_calls"), Usage(1, 1), Done()}, CallReply(c).Steps)
	e := ErrorReply(429, "a \"b\"\n", Field{"Retry-After", "1"})
	require.Equal(t, `{"error":{"message":"a \"b\"\n","type":"scripted_error","code":null}}`, string(e.Body(Chat)))
	require.Equal(t, 429, e.Status)
	require.Equal(t, `{"error":{"message":"a`+"\uFFFD"+`","type":"scripted_error","code":null}}`, string(ErrorReply(400, "a\xff").Body(Chat)))
}
