package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

func readFile(arguments string) scripted.Step {
	return scripted.ToolCall(scripted.Call{ID: "call_1", Name: "read_file", Arguments: arguments})
}

var oneCall = []provider.Call{{ID: "call_1", Name: "read_file", Arguments: `{}`}}

// rule: M-099, M-100, M-101, M-102, M-103
func TestFinishReasons(t *testing.T) {
	text, call, broken := scripted.Text("hello"), readFile(`{}`), readFile(`{"id":`)
	tests := map[string]struct {
		reply scripted.Reply
		calls []provider.Call
		code  provider.Code // "" where it ends well
		says  string
	}{
		"stop with text":                      {reply: steps(text, scripted.Finish("stop"))},
		"stop with nothing":                   {reply: steps(scripted.Finish("stop"))},
		"stop with a call":                    {reply: steps(call, scripted.Finish("stop")), calls: oneCall},
		"stop with text and a call":           {reply: steps(text, call, scripted.Finish("stop")), calls: oneCall},
		"stop with half a call":               {reply: steps(broken, scripted.Finish("stop")), code: provider.CodeFailed, says: "in the middle of a call"},
		"stop with a call without arguments":  {reply: steps(readFile(""), scripted.Finish("stop")), code: provider.CodeFailed, says: "in the middle of a call"},
		"tool_calls with a call":              {reply: steps(call, scripted.Finish("tool_calls")), calls: oneCall},
		"tool_calls with text and a call":     {reply: steps(text, call, scripted.Finish("tool_calls")), calls: oneCall},
		"tool_calls with half a call":         {reply: steps(broken, scripted.Finish("tool_calls")), calls: []provider.Call{{ID: "call_1", Name: "read_file", Arguments: `{"id":`}}},
		"tool_calls with no call":             {reply: steps(text, scripted.Finish("tool_calls")), code: provider.CodeFailed, says: "made none"},
		"function_call with a call":           {reply: steps(call, scripted.Finish("function_call")), calls: oneCall},
		"function_call with no call":          {reply: steps(text, scripted.Finish("function_call")), code: provider.CodeFailed, says: "made none"},
		"length":                              {reply: steps(text, scripted.Finish("length")), code: provider.CodeLimitExceeded, says: "output limit"},
		"length with a call":                  {reply: steps(text, call, scripted.Finish("length")), code: provider.CodeLimitExceeded, says: "output limit"},
		"content_filter":                      {reply: steps(text, scripted.Finish("content_filter")), code: provider.CodeFailed, says: "for the reason content_filter"},
		"content_filter with a call":          {reply: steps(call, scripted.Finish("content_filter")), code: provider.CodeFailed, says: "for the reason content_filter"},
		"a reason in capitals":                {reply: steps(text, scripted.Finish("STOP")), code: provider.CodeFailed, says: "for the reason STOP"},
		"a reason of another format":          {reply: steps(text, scripted.Finish("end_turn")), code: provider.CodeFailed, says: "for the reason end_turn"},
		"a reason with a key in it":           {reply: steps(text, scripted.Finish("sk-canary12345\nx")), code: provider.CodeFailed, says: "for the reason [redacted] x"},
		"the same reason twice":               {reply: steps(text, scripted.Finish("stop"), scripted.Finish("stop"))},
		"two reasons":                         {reply: steps(call, scripted.Finish("tool_calls"), scripted.Finish("stop")), code: provider.CodeFailed, says: "two reasons"},
		"length, then stop":                   {reply: steps(text, scripted.Finish("length"), scripted.Finish("stop")), code: provider.CodeFailed, says: "two reasons"},
		"text after the reason":               {reply: steps(scripted.Finish("stop"), text), code: provider.CodeFailed, says: "after its end"},
		"a call after the reason":             {reply: steps(scripted.Finish("stop"), call), code: provider.CodeFailed, says: "after its end"},
		"empty text after the reason":         {reply: steps(text, scripted.Finish("stop"), scripted.Text(""))},
		"[DONE] without a reason":             {reply: steps(text), code: provider.CodeFailed, says: "before the model had finished"},
		"[DONE] without a reason, with calls": {reply: steps(call), code: provider.CodeFailed, says: "before the model had finished"},
		"an end without a reason":             {reply: scripted.Reply{Steps: []scripted.Step{text, call}}, code: provider.CodeFailed, says: "before the model had finished"},
		"an end with a reason":                {reply: scripted.Reply{Steps: []scripted.Step{call, scripted.Finish("tool_calls")}}, calls: oneCall},
		"nothing at all":                      {reply: scripted.Reply{}, code: provider.CodeFailed, says: "before the model had finished"},
		"[DONE] alone":                        {reply: steps(), code: provider.CodeFailed, says: "before the model had finished"},
		"[DONE] without its line ends":        {reply: scripted.Reply{Steps: []scripted.Step{call, scripted.Finish("tool_calls"), scripted.Write("data: [DONE]")}}, calls: oneCall},
		"an unfinished event after the reason": {
			reply: scripted.Reply{Steps: []scripted.Step{call, scripted.Finish("tool_calls"), scripted.Write(`data: {"usage":{}}`)}},
			code:  provider.CodeFailed, says: "in the middle of an event",
		},
		"a reply that goes on after [DONE]": {
			reply: scripted.Reply{Steps: []scripted.Step{text, scripted.Finish("stop"), scripted.Done(), scripted.Text("more"), scripted.Hold("")}},
		},
		"a refusal": {
			reply: events(`{"choices":[{"index":0,"delta":{"content":null,"refusal":"I can not "}}]}`, `{"choices":[{"index":0,"delta":{"refusal":"do that"},"finish_reason":"stop"}]}`),
			code:  provider.CodeFailed, says: "the model refused: I can not do that",
		},
		"a refusal beside a call": {
			reply: events(`{"choices":[{"index":0,"delta":{"refusal":"no","tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			code:  provider.CodeFailed, says: "the model refused: no",
		},
		"a second choice": {
			reply: events(`{"choices":[{"index":1,"delta":{"content":"x"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
			code:  provider.CodeFailed, says: "more than the one choice",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := once(t, tt.reply)
			if tt.code == "" {
				require.NoError(t, o.err)
				require.Equal(t, len(tt.calls), len(o.reply.Calls))
				for i := range tt.calls {
					require.Equal(t, tt.calls[i], o.reply.Calls[i])
				}
				return
			}
			require.Equal(t, tt.code, o.code(t))
			require.ErrorContains(t, o.err, tt.says)
			require.Nil(t, o.reply.Calls)
		})
	}
}

// rule: M-101
func TestLengthKeepsTheTextAndTheUsage(t *testing.T) {
	o := once(t, steps(scripted.Text("as far as "), scripted.Text("it goes"), scripted.Finish("length"), scripted.Usage(3, 4)))
	require.Equal(t, provider.CodeLimitExceeded, o.code(t))
	require.Equal(t, "as far as it goes", o.text)
	require.Equal(t, &provider.Usage{InputTokens: 3, OutputTokens: 4}, o.reply.Usage)
}

// complaint: 36 openclaw/openclaw#108989 - a stream that ended without its last event was success, and an end for another reason was unknown
// rule: M-096
func TestComplaint36Openclaw108989EveryEndIsJudged(t *testing.T) {
	call := readFile(`{}`)
	ends := map[string]struct {
		steps []scripted.Step
		code  provider.Code
	}{
		"completed":  {[]scripted.Step{scripted.Finish("tool_calls"), scripted.Done()}, ""},
		"incomplete": {[]scripted.Step{scripted.Finish("length"), scripted.Done()}, provider.CodeLimitExceeded},
		"failed":     {[]scripted.Step{scripted.Finish("error"), scripted.Done()}, provider.CodeFailed},
		"error":      {[]scripted.Step{scripted.Event(`{"error":{"message":"overloaded"}}`)}, provider.CodeFailed},
		"nothing":    {nil, provider.CodeFailed},
	}
	for name, end := range ends {
		for _, framing := range []scripted.Framing{scripted.Chunked, scripted.UntilClose} {
			o := once(t, scripted.Reply{Framing: framing, Steps: append([]scripted.Step{call}, end.steps...)})
			if end.code == "" {
				require.NoError(t, o.err, name)
				require.Equal(t, oneCall, o.reply.Calls)
				continue
			}
			require.Equal(t, end.code, o.code(t), name)
			require.Empty(t, o.reply.Calls)
		}
	}
}

// complaint: 37 vllm-project/vllm#46303 - a call cut by the output limit came with the reason tool_calls, and was run
// rule: M-100
func TestComplaint37VLLM46303TheReasonProvesNothing(t *testing.T) {
	// What came is handed on as it stands, for whoever checks it to refuse; nothing
	// here mends it or stands in for it.
	o := once(t, steps(readFile(`{"id":`), scripted.Finish("tool_calls")))
	require.NoError(t, o.err)
	require.Equal(t, `{"id":`, o.reply.Calls[0].Arguments)
	o = once(t, steps(readFile(`{"id":`), scripted.Finish("length")))
	require.Equal(t, provider.CodeLimitExceeded, o.code(t))
	require.Empty(t, o.reply.Calls)
}

func TestErrorsInTheStream(t *testing.T) {
	key, err := provider.NewSecret("canary")
	require.NoError(t, err)
	for event, said := range map[string]string{
		`data: {"error":{"message":"The server had an error\nwhile working, canary sk-123456","type":"server_error","code":null}}`: ": The server had an error while working, [redacted] [redacted]",
		`data: {"error":{"code":"overloaded"}}`:                           ": overloaded",
		`data: {"error":{"type":"server_error","message":""}}`:            ": server_error",
		`data: {"error":"model crashed"}`:                                 ": model crashed",
		`data: {"error":{}}`:                                              "",
		`data: {"error":{"message":"x"},"choices":[{"delta":{}}]}`:        ": x",
		"event: error\ndata: {\"message\":\"m\"}":                         ": m",
		"event: error\ndata: not JSON":                                    ": not JSON",
		"event: error\ndata: {\"error\":{\"message\":\"" + "x\"}}":        ": x",
		`data: {"error":{"message":"` + strings.Repeat("y ", 300) + `"}}`: ": " + strings.Repeat("y ", 128),
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := pipeWith(t, provider.Options{Key: key}, scripted.Reply{Steps: []scripted.Step{
				scripted.Text("so far"), readFile(`{}`), scripted.Write(event + "\n\n"), scripted.Finish("tool_calls"), scripted.Done(),
			}})
			o := run(t.Context(), c, ask)
			require.Equal(t, provider.CodeFailed, o.code(t))
			require.EqualError(t, o.err, "provider_error: the provider reported an error"+said)
			require.Equal(t, "so far", o.text)
			require.Empty(t, o.reply.Calls)
		})
	}
	// error: null is no error.
	o := once(t, events(`{"error":null,"choices":[{"delta":{},"finish_reason":"stop"}]}`))
	require.NoError(t, o.err)
}

// complaint: 38 SamSaffron/term-llm#449 - an event that could not be read was skipped
// rule: M-104
func TestComplaint38TermLLM449EventsThatAreNotValid(t *testing.T) {
	for name, bad := range map[string]string{
		"no JSON":                     `{"choices":`,
		"empty":                       ``,
		"two objects":                 `{"choices":[]}{"choices":[]}`,
		"trailing":                    `{"choices":[]}x`,
		"a list":                      `[]`,
		"a string":                    `"x"`,
		"null":                        `null`,
		"an empty object":             `{}`,
		"an object of something else": `{"type":"ping"}`,
		"choices null":                `{"choices":null}`,
		"choices no list":             `{"choices":{}}`,
		"choices of strings":          `{"choices":["x"]}`,
		"a member twice":              `{"choices":[],"choices":[]}`,
		"a member twice, escaped":     `{"choices":[],"\u0063hoices":[]}`,
		"a member twice, deep":        `{"choices":[{"delta":{"content":"a","content":"b"}}]}`,
		"a name in capitals":          `{"Choices":[]}`,
		"content a number":            `{"choices":[{"delta":{"content":1}}]}`,
		"content a list":              `{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}`,
		"arguments an object":         `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":{}}}]}}]}`,
		"an id that is a number":      `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":1,"function":{"name":"a"}}]}}]}`,
		"a name that is a number":     `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":1}}]}}]}`,
		"an index that is text":       `{"choices":[{"delta":{"tool_calls":[{"index":"0","function":{"name":"a"}}]}}]}`,
		"an index with a fraction":    `{"choices":[{"delta":{"tool_calls":[{"index":0.5,"function":{"name":"a"}}]}}]}`,
		"a reason that is a number":   `{"choices":[{"finish_reason":1}]}`,
		"a usage that is text":        `{"choices":[],"usage":"x"}`,
		"a usage with a fraction":     `{"choices":[],"usage":{"prompt_tokens":1.5}}`,
		"a usage below zero":          `{"choices":[],"usage":{"prompt_tokens":-1}}`,
		"a usage out of range":        `{"choices":[],"usage":{"prompt_tokens":9223372036854775808}}`,
		"an id that is no UTF-8":      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"\xff\",\"function\":{\"name\":\"a\"}}]}}]}",
		"a name that is no UTF-8":     "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\xe5\"}}]}}]}",
		"half a surrogate in an id":   `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"\ud83d","function":{"name":"a"}}]}}]}`,
		"elsewhere no UTF-8":          "{\"x\":\"\xff\",\"choices\":[]}",
		"a member's name no UTF-8":    "{\"\xff\":1,\"choices\":[]}",
		"part of a character, and no UTF-8 elsewhere": "{\"x\":\"\xff\",\"choices\":[{\"delta\":{\"content\":\"\xe5\"}}]}",
		"too deep": `{"choices":[],"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := once(t, scripted.Reply{Steps: []scripted.Step{readFile(`{}`), scripted.Event(bad), scripted.Finish("tool_calls"), scripted.Done()}})
			require.Equal(t, provider.CodeFailed, o.code(t))
			require.Contains(t, o.err.Error(), "the provider sent ")
			require.Empty(t, o.reply.Calls)
		})
	}
}

func TestMembersOfNoUseAreAllowed(t *testing.T) {
	o := once(t, events(
		`{"x":{"deep":[1,{"y":null}]},"choices":[{"index":null,"delta":{"role":"assistant","reasoning_content":"hm","content":"a","tool_calls":null},"logprobs":{}}]}`,
		`{"choices":[{"delta":null,"finish_reason":null}]}`,
		`{"choices":[]}`,
		`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":null}}`,
		`{"usage":{"prompt_tokens":7,"completion_tokens":8,"more":1}}`,
	))
	require.NoError(t, o.err)
	require.Equal(t, "a", o.text)
	require.Equal(t, &provider.Usage{InputTokens: 7, OutputTokens: 8}, o.reply.Usage)
}

func TestNoUsageIsNil(t *testing.T) {
	require.Nil(t, once(t, steps(scripted.Finish("stop"))).reply.Usage)
}

func TestAnErrorOfTheTextCallbackEndsTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, steps(scripted.Text("a"), scripted.Text("b"), scripted.Hold("")))
		taken := 0
		reply, err := c.Stream(t.Context(), ask, func(string) error {
			taken++
			return errStopHere
		})
		require.ErrorIs(t, err, errStopHere)
		require.Equal(t, 1, taken)
		require.Empty(t, reply)
		var own *provider.Error
		require.False(t, errors.As(err, &own))
		<-s.Requests()[0].Ended()
		require.True(t, s.Requests()[0].HungUp(), "the upstream request goes on")
	})
}

func TestStoppingInTheMiddleOfAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, steps(scripted.Text("a"), readFile(`{}`), scripted.Finish("tool_calls"), scripted.Hold("")))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errStopHere) })
		o := run(ctx, c, ask)
		require.ErrorIs(t, o.err, errStopHere)
		require.Equal(t, "a", o.text)
		require.Empty(t, o.reply.Calls)
		<-s.Requests()[0].Ended()
		require.True(t, s.Requests()[0].HungUp(), "the upstream request goes on")
	})
}

// complaint: 32 openai/openai-go#368 - a line of more than 64 KiB ended the stream without a word
// rule: M-095
func TestComplaint32OpenAIGo368LongEvents(t *testing.T) {
	const frame = len(`{"choices":[{"index":0,"delta":{"content":""}}]}`)
	for size, code := range map[int]provider.Code{
		64<<10 + 1: "", 1<<20 - 1: "", 1 << 20: "", 1<<20 + 1: provider.CodeFailed, 40 << 20: provider.CodeFailed,
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			const piece = 4096
			n := size - frame
			o := once(t, scripted.Reply{Steps: []scripted.Step{
				scripted.Write(`data: {"choices":[{"index":0,"delta":{"content":"`),
				scripted.Repeat(n/piece, scripted.Write(strings.Repeat("x", piece))), scripted.Write(strings.Repeat("x", n%piece)),
				scripted.Write(`"}}]}` + "\n\n"), scripted.Finish("stop"), scripted.Done(),
			}})
			if code == "" {
				require.NoError(t, o.err)
				require.Len(t, o.text, n)
				return
			}
			require.Equal(t, code, o.code(t))
			require.EqualError(t, o.err, "provider_error: the provider sent an event longer than 1048576 bytes")
		})
	}
}
