package scripted

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FailureText is in the message of every refusal that [ByText] gives, so that a
// test can look for it where a provider's words must not be.
const FailureText = "scripted refusal words"

// MaxDeltas bounds the pieces that LONG may ask for.
const MaxDeltas = 200_000

// ByText chooses a reply by the last text that the user wrote, whatever the
// format; set it as [Options].Respond. It reads the last line that holds one of
// these words, and takes the first of them in it; the rest of the line is the
// word's argument.
//
//	HELLO             three pieces: "Hello from a script."
//	ECHO TEXT         one piece: TEXT
//	LONG N            N pieces of eight bytes: their numbers, from 0000000
//	SLOW              one piece, then nothing until the client hangs up
//	SILENT            not even a status line
//	TOOL [COMMAND]    a call that runs COMMAND in a shell, by the tool that the request offers for it
//	ESCALATE [COMMAND] the same, asking that the sandbox be left
//	REFUSE            a refusal of the model's
//	LIMIT             one piece, cut off by the limit of tokens
//	CUT               one piece, then the end of the connection
//	GARBAGE           one event that is no JSON
//	FAIL400           that status and [FailureText]; so any FAIL4xx and FAIL5xx
//
// A request that carries a tool's result is answered with the text "The tool
// answered.", any other with "This is a script."
func ByText(r Request) (Reply, bool) {
	format, _ := formatOf(r.Path)
	body := read[asked](r.Body)
	last := lastWords(body)
	if last.result {
		return TextReply("The tool answered."), true
	}
	word, argument := directive(last.text)
	if status, err := strconv.Atoi(strings.TrimPrefix(word, "FAIL")); err == nil {
		return ErrorReply(status, FailureText+" "+strconv.Itoa(status)), true
	}
	switch word {
	case "HELLO":
		return TextReply("Hello ", "from ", "a script."), true
	case "ECHO":
		return TextReply(argument), true
	case "LONG":
		return long(argument), true
	case "SLOW":
		return Reply{Steps: []Step{Text("Wait. "), Hold("")}}, true
	case "SILENT":
		return Reply{Steps: []Step{Hold(""), Head()}}, true
	case "TOOL", "ESCALATE":
		if argument == "" {
			argument = "echo the tool ran"
		}
		tool := shell(format, body)
		return CallReply(Call{
			ID:        "call_scripted_" + strconv.Itoa(r.Number),
			Name:      tool,
			Arguments: shellArguments(tool, argument, word == "ESCALATE"),
		}), true
	case "REFUSE":
		return Reply{Steps: []Step{Refusal("No. "), Finish(refused(format)), Usage(1, 1), Done()}}, true
	case "LIMIT":
		return Reply{Steps: []Step{Text("As much as "), Finish("length"), Usage(1, 1), Done()}}, true
	case "CUT":
		return Reply{Steps: []Step{Text("Half of "), Close()}}, true
	case "GARBAGE":
		return Reply{Steps: []Step{Text("Half of "), Event("{\"type\":")}}, true
	default:
		return TextReply("This is ", "a script."), true
	}
}

// refused is how a model stops that refuses: a stop like any other, except where
// the format has nothing else that tells.
func refused(f Format) string {
	if f == Messages {
		return "content_filter"
	}
	return "stop"
}

func long(argument string) Reply {
	n, err := strconv.Atoi(strings.TrimRight(argument, ". \t\"'"))
	if err != nil || n < 1 || n > MaxDeltas {
		return ErrorReply(http.StatusBadRequest, fmt.Sprintf("scripted: LONG takes a number from 1 to %d", MaxDeltas))
	}
	steps := make([]Step, 0, n+3)
	for i := range n {
		steps = append(steps, Text(fmt.Sprintf("%07d ", i)))
	}
	return Reply{Steps: append(steps, Finish("stop"), Usage(1, n), Done())}
}

var directives = regexp.MustCompile(`\b(HELLO|ECHO|LONG|SLOW|SILENT|TOOL|ESCALATE|REFUSE|LIMIT|CUT|GARBAGE|FAIL[45][0-9]{2})\b[: \t]*`)

// directive finds what the text asks for.
func directive(text string) (word, argument string) {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if at := directives.FindStringSubmatchIndex(lines[i]); at != nil {
			return lines[i][at[2]:at[3]], strings.TrimSpace(lines[i][at[1]:])
		}
	}
	return "", ""
}

// asked is what a request's body says, as far as anything here depends on it. The
// formats name the conversation differently.
type asked struct {
	Model    string         `json:"model"`
	Messages []said         `json:"messages"`
	Input    jsontext.Value `json:"input"` // Responses: a text, or messages among other items
	Tools    []struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// said is a message, or an item of another kind.
type said struct {
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"` // a text, or parts
}

// part is a part of a message.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// lenient reads what others write: a client may be as wrong as it likes, and is
// answered for what could be read.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func read[T any](data []byte) (v T) {
	_ = json.Unmarshal(data, &v, lenient)
	return v
}

// words are what a request ends with.
type words struct {
	text   string // of the user
	result bool   // a tool's result came after it
}

// lastWords reads the conversation of a request.
func lastWords(body asked) words {
	var w words
	list := body.Messages
	if len(body.Input) > 0 {
		if body.Input.Kind() == '"' {
			return words{text: read[string](body.Input)}
		}
		list = read[[]said](body.Input)
	}
	for _, m := range list {
		switch {
		case m.Role == "tool" || strings.HasSuffix(m.Type, "_call_output"):
			w.result = true
		case m.Role == "user":
			w = userWords(m.Content)
		}
	}
	return w
}

// userWords reads one message of the user: a text or parts. In the parts a text
// in tags is what a program added to what its user wrote.
func userWords(content jsontext.Value) words {
	if content.Kind() == '"' {
		return words{text: read[string](content)}
	}
	var w words
	for _, p := range read[[]part](content) {
		switch {
		case p.Type == "tool_result":
			w.result = true
		case p.Text != "" && !strings.HasPrefix(strings.TrimSpace(p.Text), "<"):
			w.text, w.result = p.Text, false
		}
	}
	return w
}

// shell is the tool that runs commands among those that the request offers, or
// the one that the format's client usually has.
func shell(f Format, body asked) string {
	known := []string{"exec_command", "shell", "Bash", "bash"}
	offered := map[string]bool{}
	for _, tool := range body.Tools {
		offered[tool.Name], offered[tool.Function.Name] = true, true
	}
	for _, name := range known {
		if offered[name] {
			return name
		}
	}
	if f == Messages {
		return "Bash"
	}
	return "exec_command"
}

func shellArguments(tool, command string, escalate bool) string {
	more := ""
	if escalate {
		more = `,"sandbox_permissions":"require_escalated","justification":"The script asks for it."`
	}
	switch tool {
	case "exec_command":
		return `{"cmd":` + quote(command) + more + `}`
	case "shell":
		return `{"command":["/bin/sh","-c",` + quote(command) + `]` + more + `}`
	default:
		return `{"command":` + quote(command) + `,"description":"What the script asks for"}`
	}
}
