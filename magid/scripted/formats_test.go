package scripted

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// events reads an event stream: the name of each event, and its data. The name
// must be the type that the data says.
func events(t *testing.T, body string) (names []string, data []gjson.Result) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, text, ok := strings.Cut(block, "\n")
		require.True(t, ok, block)
		name, text = strings.TrimPrefix(name, "event: "), strings.TrimPrefix(text, "data: ")
		require.True(t, jsontext.Value(text).IsValid(), text)
		require.Equal(t, name, gjson.Get(text, "type").String())
		names, data = append(names, name), append(data, gjson.Parse(text))
	}
	return names, data
}

// A reply with everything: text in two pieces, a call in two, one without
// arguments, a refusal, and text again.
var everything = Reply{Steps: []Step{
	Text("Hel"), Text("lo"),
	ToolCall(Call{Index: 0, ID: "call_1", Name: "read", Arguments: `{"a"`}), Arguments(0, `:1}`),
	ToolCall(Call{Index: 1, ID: "call_2", Name: "list"}),
	Refusal("No."),
	Text("Bye"),
	Finish("stop"), Usage(3, 4), Done(),
}}

func TestResponses(t *testing.T) {
	names, data := events(t, string(everything.Body(Responses)))
	text := []string{"response.output_item.added", "response.content_part.added", "response.output_text.delta"}
	textDone := []string{"response.output_text.done", "response.content_part.done", "response.output_item.done"}
	want := []string{"response.created", "response.in_progress"}
	want = append(want, text...)
	want = append(want, "response.output_text.delta")
	want = append(want, textDone...)
	want = append(want, "response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.delta",
		"response.function_call_arguments.done", "response.output_item.done")
	want = append(want, "response.output_item.added", "response.function_call_arguments.done", "response.output_item.done")
	want = append(want, "response.output_item.added", "response.content_part.added", "response.refusal.delta",
		"response.refusal.done", "response.content_part.done", "response.output_item.done")
	want = append(want, text...)
	want = append(want, textDone...)
	want = append(want, "response.completed")
	require.Equal(t, want, names)

	last := data[len(data)-1].Get("response")
	require.Equal(t, "completed", last.Get("status").String())
	require.Equal(t, `{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}`,
		last.Get("usage").Raw)
	output := last.Get("output").Array()
	require.Len(t, output, 5)
	require.Equal(t, "Hello", output[0].Get("content.0.text").String())
	require.Equal(t, `{"a":1}`, output[1].Get("arguments").String())
	require.Equal(t, "call_1", output[1].Get("call_id").String())
	require.Equal(t, "list", output[2].Get("name").String())
	require.Equal(t, "No.", output[3].Get("content.0.refusal").String())
	require.Equal(t, "Bye", output[4].Get("content.0.text").String())

	// Every event of an item names it and its place, and what is told at its end
	// is what the last event tells.
	item := -1
	for i, d := range data[2 : len(data)-1] {
		if names[i+2] == "response.output_item.added" {
			item++
		}
		require.EqualValues(t, item, d.Get("output_index").Int())
		id := d.Get("item_id")
		if !id.Exists() {
			id = d.Get("item.id")
		}
		require.Equal(t, output[item].Get("id").String(), id.String())
		if names[i+2] == "response.output_item.done" {
			require.Equal(t, output[item].Raw, d.Get("item").Raw)
		}
	}
}

func TestMessages(t *testing.T) {
	names, data := events(t, string(everything.Body(Messages)))
	var want []string
	for _, deltas := range []int{2, 2, 0, 1, 1} {
		want = append(want, "content_block_start")
		for range deltas {
			want = append(want, "content_block_delta")
		}
		want = append(want, "content_block_stop")
	}
	want = append([]string{"message_start"}, want...)
	require.Equal(t, append(want, "message_delta", "message_stop"), names)

	require.Equal(t, "scripted", data[0].Get("message.model").String())
	block, told := -1, make([]string, 5)
	for i, d := range data[1 : len(data)-2] {
		if names[i+1] == "content_block_start" {
			block++
		}
		require.EqualValues(t, block, d.Get("index").Int())
		told[block] += d.Get("delta.text").String() + d.Get("delta.partial_json").String()
	}
	require.Equal(t, []string{"Hello", `{"a":1}`, "", "No.", "Bye"}, told)
	call := data[5].Get("content_block")
	require.Equal(t, `{"type":"tool_use","id":"call_1","name":"read","input":{}}`, call.Raw)
	require.Equal(t, `{"stop_reason":"end_turn","stop_sequence":null}`, data[len(data)-2].Get("delta").Raw)
	require.EqualValues(t, 3, data[len(data)-2].Get("usage.input_tokens").Int())
	require.EqualValues(t, 4, data[len(data)-2].Get("usage.output_tokens").Int())
}

func TestReasonsAreTranslated(t *testing.T) {
	for reason, want := range map[string][2]string{
		"stop":           {"response.completed", "end_turn"},
		"tool_calls":     {"response.completed", "tool_use"},
		"length":         {"response.incomplete", "max_tokens"},
		"content_filter": {"response.incomplete", "refusal"},
		"pause_turn":     {"response.completed", "pause_turn"},
		"":               {"response.completed", "end_turn"},
	} {
		r := Reply{Steps: []Step{Text("x"), Finish(reason), Done()}}
		names, data := events(t, string(r.Body(Responses)))
		require.Equal(t, want[0], names[len(names)-1], reason)
		require.Equal(t, strings.TrimPrefix(want[0], "response."), data[len(data)-1].Get("response.status").String())
		_, data = events(t, string(r.Body(Messages)))
		require.Equal(t, want[1], data[len(data)-2].Get("delta.stop_reason").String(), reason)
	}
}

func TestEveryFormatRefusesInItsOwnWay(t *testing.T) {
	r := ErrorReply(429, `no "more"`)
	for _, f := range []Format{Chat, Responses} {
		require.Equal(t, `{"error":{"message":"no \"more\"","type":"scripted_error","code":null}}`, string(r.Body(f)))
	}
	for status, kind := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		404: "not_found_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"} {
		body := gjson.ParseBytes(ErrorReply(status, `no "more"`).Body(Messages))
		require.Equal(t, "error", body.Get("type").String())
		require.Equal(t, kind, body.Get("error.type").String())
		require.Equal(t, `no "more"`, body.Get("error.message").String())
	}
}

// What a reply is does not depend on how it is taken: whole, as wire bytes, cut
// after each byte, or repeated.
func TestFormatsCanBeCutAndCounted(t *testing.T) {
	for _, f := range []Format{Chat, Responses, Messages} {
		whole := everything.Body(f)
		require.Equal(t, len(whole), size(f.writer(0, ""), everything.Steps))
		for n := range len(whole) {
			require.Equal(t, string(whole[:n]), string(everything.Cut(f, n, Close()).Body(f)))
		}
		repeated := Reply{Steps: []Step{Repeat(3, Text("ab"), Write(": ping\n\n")), Done()}}
		require.Equal(t, len(repeated.Body(f)), size(f.writer(0, ""), repeated.Steps))
		unrolled := Reply{Steps: []Step{Text("ab"), Write(": ping\n\n"), Text("ab"), Write(": ping\n\n"), Text("ab"), Write(": ping\n\n"), Done()}}
		require.Equal(t, string(unrolled.Body(f)), string(repeated.Body(f)))
		long := Reply{Framing: Length, Steps: repeated.Steps}
		require.Contains(t, string(long.Wire(f)), string(repeated.Body(f)))
	}
}

func TestArgumentsOfACallThatNeverBegan(t *testing.T) {
	r := Reply{Steps: []Step{Arguments(2, "{}"), Arguments(3, "x"), Done()}}
	_, data := events(t, string(r.Body(Responses)))
	output := data[len(data)-1].Get("response.output").Array()
	require.Len(t, output, 2, "an index is a call")
	require.Equal(t, "{}", output[0].Get("arguments").String())
	require.False(t, output[0].Get("call_id").Exists())
	names, _ := events(t, string(r.Body(Messages)))
	require.Equal(t, 2, strings.Count(strings.Join(names, " "), "content_block_start"))
}
