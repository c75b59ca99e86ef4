package scripted

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is a model server's way to write a reply.
type Format string

// The formats, all of them streaming.
const (
	// Chat is OpenAI Chat Completions.
	Chat Format = "chat"
	// Responses is OpenAI Responses.
	Responses Format = "responses"
	// Messages is Anthropic Messages.
	Messages Format = "messages"
)

// formatOf gives the format that a path asks for.
func formatOf(path string) (Format, bool) {
	for suffix, f := range map[string]Format{"/chat/completions": Chat, "/responses": Responses, "/messages": Messages} {
		if strings.HasSuffix(path, suffix) {
			return f, true
		}
	}
	return "", false
}

// writer writes the steps of one reply that say what the model does. Formats but
// Chat tell the whole of a piece once more at its end, so it keeps them.
type writer struct {
	format Format
	number int    // of the request; part of every id
	model  string // that the request named

	began  bool
	items  []string        // the finished pieces, as the format writes them
	open   op              // opText, opRefusal, opCall: what the open piece is; opNothing: none is
	call   Call            // of an open call
	told   strings.Builder // what was told of the open piece
	reason string          // of Finish
	in     int
	out    int
}

func (f Format) writer(number int, model string) *writer {
	return &writer{format: f, number: number, model: cmp.Or(model, "scripted")}
}

// write gives the bytes of a step. An unknown format is written as Chat.
func (w *writer) write(s Step) string {
	switch w.format {
	case Responses:
		return w.responses(s)
	case Messages:
		return w.messages(s)
	default:
		return chat(s)
	}
}

// id names something of this reply.
func (w *writer) id(kind string, n int) string {
	return kind + "_scripted_" + strconv.Itoa(w.number) + "_" + strconv.Itoa(n)
}

// named is an event with its name, as the formats but Chat write them.
func named(name, members string) string {
	return "event: " + name + "\ndata: {" + `"type":` + quote(name) + members + "}\n\n"
}

// isOpen reports whether the step goes on with the open piece.
func (w *writer) isOpen(s Step) bool {
	if s.op == opArguments {
		return w.open == opCall && w.call.Index == s.call.Index
	}
	return s.op == w.open && s.op != opCall
}

func errorObject(s Step) string {
	return `{"message":` + quote(s.data) + `,"type":"scripted_error","code":null}`
}

func chat(s Step) string {
	switch s.op {
	case opText:
		return chatChoice(`{"content":`+quote(s.data)+`}`, "")
	case opRefusal:
		return chatChoice(`{"refusal":`+quote(s.data)+`}`, "")
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
	case opError:
		return `{"error":` + errorObject(s) + `}`
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
