package scripted

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is a model server's way to write a reply.
type Format string

// Chat is OpenAI Chat Completions, streaming. It is the only format today.
const Chat Format = "chat"

// formatOf gives the format that a path asks for.
func formatOf(path string) (Format, bool) {
	if strings.HasSuffix(path, "/chat/completions") {
		return Chat, true
	}
	return "", false
}

// write gives the bytes of a step that says what the model does. An unknown
// format is written as Chat.
func (f Format) write(s Step) string {
	switch s.op {
	case opText:
		return chatChoice(`{"content":`+quote(s.data)+`}`, "")
	case opCall:
		return chatChoice(`{"tool_calls":[`+chatCall(s.call)+`]}`, "")
	case opArguments:
		return chatChoice(`{"tool_calls":[{`+chatIndex(s.call)+`"function":{"arguments":`+quote(s.data)+`}}]}`, "")
	case opFinish:
		return chatChoice(`{}`, s.data)
	case opUsage:
		in, out := strconv.Itoa(s.in), strconv.Itoa(s.out)
		return chatEvent(`"choices":[],"usage":{"prompt_tokens":` + in + `,"completion_tokens":` + out +
			`,"total_tokens":` + strconv.Itoa(s.in+s.out) + `}`)
	case opDone:
		return "data: [DONE]\n\n"
	default:
		return ""
	}
}

func chatEvent(members string) string {
	return `data: {"id":"chatcmpl-scripted","object":"chat.completion.chunk","created":0,"model":"scripted",` + members + "}\n\n"
}

func chatChoice(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	return chatEvent(`"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]`)
}

func chatIndex(c Call) string {
	if c.Index < 0 {
		return ""
	}
	return `"index":` + strconv.Itoa(c.Index) + `,`
}

func chatCall(c Call) string {
	id := ""
	if c.ID != "" {
		id = `"id":` + quote(c.ID) + `,`
	}
	return `{` + chatIndex(c) + id + `"type":"function","function":{"name":` + quote(c.Name) + `,"arguments":` + quote(c.Arguments) + `}}`
}

// quote writes a JSON string. What is no UTF-8 becomes U+FFFD, so that a script
// can be wrong in bytes only where it says bytes.
func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return string(b)
}
