package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// inputError says where an input does not fit.
func inputError(raw []byte, err error) error {
	r := refuse(codeInputInvalid, "the input is not JSON that a Flow can take: "+err.Error())
	var syntax *json0.Error
	var invalid *schema0.InvalidError
	switch {
	case errors.As(err, &syntax):
		r.message = "the input is not JSON that a Flow can take: "
		if !errors.Is(err, json0.ErrSyntax) {
			r.message += syntax.Unwrap().Error() + ": "
		}
		r.message += syntax.Detail
		if syntax.Offset >= 0 {
			line, column := syntax.Position(raw)
			r.message += fmt.Sprintf(", at line %d, column %d", line, column)
			r.details = map[string]any{"line": line, "column": column}
		}
		r.hint = inputHint(raw, syntax)
	case errors.As(err, &invalid):
		r.message = "the input does not fit the target's contract"
		if invalid.InstancePointer != "" {
			r.message += " at " + invalid.InstancePointer
		}
		r.message += ": " + invalid.Words() + " (" + invalid.Keyword + ")"
		r.details = map[string]any{"instancePointer": invalid.InstancePointer, "schemaPointer": invalid.SchemaPointer, "keyword": invalid.Keyword}
	case errors.Is(err, schema0.ErrLimit):
		r.message = "the input needs more validation work than the limit"
	}
	return r
}

// inputHint says how what was meant is written as JSON, by how it begins.
func inputHint(raw []byte, e *json0.Error) string {
	text := strings.TrimSpace(string(raw))
	switch {
	case !errors.Is(e, json0.ErrSyntax):
		return ""
	case text == "":
		return "without --input the input is {}"
	case text[0] == '{':
		return `an object is written --input '{"name": "text"}': every name stands in double quotes, and no comma at the end`
	case text[0] == '[':
		return `a list is written --input '["text", 1]', with no comma at the end`
	case text[0] == '"':
		return `a string is written --input '"text"'; the shell needs the outer quotes`
	}
	return `a string is JSON only in its quotes: --input '"text"'`
}

// sending says on which channels a target sends.
func sending(ports map[string]contract.Port) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		if ports[name].Direction == contract.Send {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "its FLOW.contract.json declares no channel that it sends on"
	}
	return "it sends on " + list(names, 8)
}

var errFolder = errors.New("it is a folder")

// unreadInput names the file of an input that cannot be read, and the reason.
func unreadInput(name string, err error) error {
	if name == "-" {
		return refuse(codeInputInvalid, "the input on standard input cannot be read")
	}
	if name == "" {
		return refuse(codeInputInvalid, "the input file has no name: write one behind the @")
	}
	reason := "it cannot be opened or read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		reason = "that is not permitted"
	case errors.Is(err, errFolder):
		reason = errFolder.Error()
	}
	return refuse(codeInputInvalid, "the input file "+strings.ToValidUTF8(name, "\ufffd")+" cannot be read: "+reason)
}
