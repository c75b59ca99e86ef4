package catalog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// Limits of arguments.
const (
	maxArgumentBytes = 16384     // a call's whole arguments
	maxTextBytes     = 1024      // find_text's text
	maxPathBytes     = 4096      // a path
	maxInteger       = 1<<53 - 1 // what every JSON implementation reads exactly
	maxNameShown     = 48        // of an argument that no tool has
	kindString       = kind("string")
	kindInteger      = kind("integer")
)

type kind string

// argument is one argument of a tool. The schema that the model sees and the strict reading of what it sends come from
// the same row.
type argument struct {
	name        string
	kind        kind
	required    bool
	maxBytes    int // of a string
	description string
}

// arguments are what a call gives: "" and 0 for what it leaves out.
type arguments struct {
	path, text    string
	offset, limit int64
}

type tool struct {
	name        string
	description string
	arguments   []argument
	run         func(context.Context, *workspace, arguments) (jsontext.Value, *ToolError)
}

// tools are the built-in tools by name. (magid: Catalog)
var tools = []tool{
	{
		name: ToolFindText,
		description: "Find lines that hold a text in the files of the workspace. The text is taken as it is, upper and " +
			"lower case differ. Returns path, line number and line of each match; links, binary files and " +
			"credential-like paths are passed over.",
		arguments: []argument{
			{"text", kindString, true, maxTextBytes, "the text to find, one line of at most 1024 bytes"},
			{"path", kindString, false, maxPathBytes, "the file or folder to search, relative to the workspace; without it the whole workspace"},
		},
		run: findText,
	},
	{
		name:        ToolListFiles,
		description: "List one folder of the workspace: names, types and sizes.",
		arguments: []argument{
			{"path", kindString, false, maxPathBytes, "the folder, relative to the workspace; without it the workspace itself"},
		},
		run: listFiles,
	},
	{
		name: ToolReadFile,
		description: "Read a text file of the workspace, by lines. At most 16 KiB come back at once; where the file goes " +
			"on, truncated is true and next_offset is the line to go on with.",
		arguments: []argument{
			{"path", kindString, true, maxPathBytes, "the file, relative to the workspace"},
			{"offset", kindInteger, false, 0, "the first line to read, from 1"},
			{"limit", kindInteger, false, 0, "how many lines to read at most, from 1"},
		},
		run: readFile,
	},
}

// schema is the tool's input schema for the model.
func (t tool) schema() jsontext.Value {
	b := []byte(`{"type":"object","additionalProperties":false,"properties":{`)
	for i, a := range t.arguments {
		if i > 0 {
			b = append(b, ',')
		}
		b = wirev2.AppendString(b, a.name)
		b = append(b, `:{"type":"`+string(a.kind)+`"`...)
		if a.kind == kindInteger {
			b = append(b, `,"minimum":1`...)
		}
		b = append(b, `,"description":`...)
		b = wirev2.AppendString(b, a.description)
		b = append(b, '}')
	}
	b = append(b, `},"required":[`...)
	first := true
	for _, a := range t.arguments {
		if a.required {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = wirev2.AppendString(b, a.name)
		}
	}
	return append(b, `]}`...)
}

func invalid(format string, args ...any) *ToolError {
	return &ToolError{CodeInvalidArguments, fmt.Sprintf(format, args...)}
}

// parse reads args strictly: one JSON object without duplicate, unknown or mistyped members, null included.
func (t tool) parse(args jsontext.Value) (arguments, *ToolError) {
	var a arguments
	if len(args) > maxArgumentBytes {
		return a, invalid("the arguments are longer than %d bytes", maxArgumentBytes)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(args))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return a, invalid("the arguments are no JSON object")
	}
	given := map[string]bool{}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return a, invalid("the arguments are no strict JSON")
		}
		name := tok.String()
		value, err := dec.ReadValue()
		if err != nil {
			return a, invalid("the arguments are no strict JSON")
		}
		i := slices.IndexFunc(t.arguments, func(x argument) bool { return x.name == name })
		if i < 0 {
			return a, invalid("%s takes no argument %q", t.name, fit(name, maxNameShown))
		}
		if err := a.set(t.arguments[i], value); err != nil {
			return a, err
		}
		given[name] = true
	}
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '}' {
		return a, invalid("the arguments are no strict JSON")
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return a, invalid("something follows the arguments")
	}
	for _, x := range t.arguments {
		if x.required && !given[x.name] {
			return a, invalid("%s is missing", x.name)
		}
	}
	return a, nil
}

func (a *arguments) set(x argument, value jsontext.Value) *ToolError {
	if x.kind == kindInteger {
		n, ok := integer(value)
		if !ok {
			return invalid("%s is no integer from 1 to %d", x.name, maxInteger)
		}
		if x.name == "offset" {
			a.offset = n
		} else {
			a.limit = n
		}
		return nil
	}
	b, err := jsontext.AppendUnquote(nil, value)
	if value.Kind() != '"' || err != nil {
		return invalid("%s is no string", x.name)
	}
	if len(b) > x.maxBytes {
		return invalid("%s is longer than %d bytes", x.name, x.maxBytes)
	}
	if x.name == "path" {
		a.path = string(b)
		return nil
	}
	if a.text = string(b); a.text == "" || strings.ContainsAny(a.text, "\r\n\x00") {
		return invalid("text is empty or no single line")
	}
	return nil
}

// integer takes plain digits only: no sign, fraction or exponent.
func integer(value jsontext.Value) (int64, bool) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil && n >= 1 && n <= maxInteger
}
