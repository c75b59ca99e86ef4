package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	// maxAnswerBytes bounds what a command may print: a value of the largest size, generously spaced.
	maxAnswerBytes = 4 * appresources.MaxValueBytes
	// maxComplaintBytes is how much of what a command says on standard error is kept: the end.
	maxComplaintBytes = 4096
	// exitNotPermitted is what a command ends with that refuses a call: EX_NOPERM of sysexits.h.
	exitNotPermitted = 77
	// killGrace is how long the pipes of a killed command are waited for.
	killGrace = time.Second
)

// execute runs the person's command for one call and says what came of it. The model's arguments go to its standard
// input and nowhere else: nothing of theirs becomes part of a command line.
func execute(ctx context.Context, command string, contract *appresources.Contract, session wirev2.ID, call wirev2.TurnApplicationToolCallEvent) wirev2.Outcome {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(call.TimeoutMS)*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(withoutKeys(os.Environ()),
		"MAGI_TOOL="+call.Name, "MAGI_SESSION_ID="+string(session), "MAGI_TURN_ID="+string(call.TurnID), "MAGI_CALL_ID="+string(call.CallID))
	cmd.Stdin = strings.NewReader(string(call.Arguments) + "\n")
	answer, complaint := &head{most: maxAnswerBytes}, &tail{most: maxComplaintBytes}
	cmd.Stdout, cmd.Stderr = answer, complaint
	// The command may start others: it ends as a group, and not by the Ctrl-C that is meant for us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return refused(wirev2.ToolExecutionFailed, "the command was ended before it had answered; what it did is not known")
	case errors.As(err, &exit) && exit.ExitCode() == exitNotPermitted:
		return refused(wirev2.ToolPermissionDenied, complaint.lastLine("the command refused"))
	case err != nil:
		return refused(wirev2.ToolExecutionFailed, complaint.lastLine(err.Error()))
	case answer.over:
		return refused(wirev2.ToolExecutionFailed, fmt.Sprintf("the command printed more than %d bytes", maxAnswerBytes))
	}
	value := jsontext.Value(bytes.TrimSpace(answer.text))
	_ = value.Compact() // what is no JSON stays as it is, for the check to name
	if err := contract.Output.Check(value); err != nil {
		return refused(wirev2.ToolExecutionFailed, "what the command printed does not fit output_schema: "+err.Error())
	}
	return wirev2.Outcome{Status: wirev2.OutcomeSuccess, Value: value}
}

func refused(code wirev2.ToolCode, message string) wirev2.Outcome {
	message = shortened(oneLine(plain(message)), appresources.MaxErrorBytes)
	return wirev2.Outcome{Status: wirev2.OutcomeError, Code: &code, Message: &message}
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// withoutKeys keeps the model provider's key from the tools.
func withoutKeys(env []string) []string {
	var out []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "MAGI_API_KEY=") {
			out = append(out, entry)
		}
	}
	return out
}

// head keeps the first bytes that are written to it.
type head struct {
	most int
	text []byte
	over bool
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.most-len(h.text))
	h.text = append(h.text, p[:keep]...)
	h.over = h.over || keep < len(p)
	return len(p), nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	most int
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if extra := len(t.text) - t.most; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) lastLine(otherwise string) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd"))
	if text == "" {
		return otherwise
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
