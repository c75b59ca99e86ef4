package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

const maxLines = 100

// addNote is the tool: it adds a line to the notes. The daemon has checked the arguments against the schema; what this
// application allows is checked here, before anything is done.
func (a *app) addNote(arguments jsontext.Value) wirev2.Outcome {
	var note struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(arguments, &note); err != nil {
		return failed(wirev2.ToolExecutionFailed, "the arguments could not be read")
	}
	file := filepath.Join(a.workspace, "notes.txt")
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(wirev2.ToolExecutionFailed, "the notes could not be read")
	}
	lines := bytes.Count(text, []byte("\n"))
	if lines >= maxLines {
		return failed(wirev2.ToolPermissionDenied, "the notes are full")
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return failed(wirev2.ToolExecutionFailed, "the notes could not be opened")
	}
	_, err = fmt.Fprintf(f, "%q\n", note.Text)
	if err = errors.Join(err, f.Close()); err != nil {
		return failed(wirev2.ToolExecutionFailed, "the note could not be written")
	}
	return wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: fmt.Appendf(nil, `{"lines":%d}`, lines+1)}
}

func failed(code wirev2.ToolCode, message string) wirev2.Outcome {
	return wirev2.Outcome{Status: wirev2.OutcomeError, Code: &code, Message: &message}
}
