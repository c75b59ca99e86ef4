package component_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/engine/component"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

var update = flag.Bool("update", false, "write the transcripts as they are played")

// play runs the inputs of a transcript and returns the whole of it. Lines:
//
//	> FRAME      the host writes a frame        < FRAME   the component does
//	! VERB ARGS  the author, or the transport   = EVENT   what the author hears
//	# text       why
func play(t *testing.T, c *component.Component, lines []string) string {
	var out strings.Builder
	flush := func() {
		for frame := c.Output(); frame != nil; frame = c.Output() {
			fmt.Fprintf(&out, "< %s\n", frame)
		}
		for _, e := range c.Events() {
			fmt.Fprintf(&out, "= %s\n", event(e))
		}
	}
	for _, line := range lines {
		if line == "" || line[0] == '<' || line[0] == '=' {
			continue
		}
		fmt.Fprintln(&out, line)
		body := strings.TrimPrefix(line[1:], " ")
		switch line[0] {
		case '>':
			c.Frame([]byte(body))
		case '!':
			act(t, c, body)
		}
		flush()
	}
	return out.String()
}

func act(t *testing.T, c *component.Component, line string) {
	t.Helper()
	f := strings.SplitN(line, " ", 3)
	rest := func(i int) string {
		if len(f) > i {
			return f[i]
		}
		return ""
	}
	n, _ := strconv.Atoi(rest(1))
	tail := strings.TrimSpace(strings.Join(f[1:], " "))
	raw, aborted := strings.CutPrefix(tail, "aborted ")
	switch f[0] {
	case "call":
		c.Call(jsontext.Value(raw), aborted)
	case "create":
		c.Create(jsontext.Value(raw), aborted)
	case "subscribe":
		c.Subscribe(n, rest(2) == "aborted")
	case "send":
		c.Send(n, jsontext.Value(rest(2)), false)
	case "send-aborted":
		c.Send(n, jsontext.Value(rest(2)), true)
	case "next":
		c.Next(n, rest(2) == "aborted")
	case "close":
		c.CloseSender(n, rest(2) == "LAGGED", rest(2) == "aborted")
	case "return":
		c.CloseReceiver(n, rest(2) == "aborted")
	case "use":
		c.Use(n)
	case "give-up":
		c.GiveUp(n)
	case "succeed":
		c.Succeed(jsontext.Value(tail))
	case "fail":
		code, message, _ := strings.Cut(tail, " ")
		c.Fail(fault.New(fault.Code(code), message))
	case "lost":
		c.Lost()
	case "broken":
		c.Broken(tail)
	default:
		require.Fail(t, "unknown verb", line)
	}
}

func event(e component.Event) string {
	text := string(e.Value)
	if e.Err != nil {
		var f *fault.Error
		var te *component.TypeError
		switch {
		case errors.As(e.Err, &f):
			text = string(f.Code)
			if f.Details != nil {
				text += " " + string(f.Details)
			}
		case errors.As(e.Err, &te):
			text = "TypeError"
		default:
			text = e.Err.Error()
		}
	}
	switch e.Kind {
	case component.Started:
		return "started " + text
	case component.Settled:
		return fmt.Sprintf("settled %d %s", e.N, text)
	case component.Aborted:
		return "aborted " + text
	case component.Answered:
		return strings.TrimSpace("answered " + text)
	case component.Failed:
		return "failed " + text
	}
	return "?"
}

// The transcripts say which rules they hold to in their first lines; the list
// here is theirs together.
//
// rule: E-013, E-014, E-015, E-017, E-021, E-022, E-023, E-025, E-026, E-027, E-028, E-029, E-030, E-031, E-032, E-035, E-037
// rule: E-038, E-039, E-041, E-042, E-044, E-045, E-046, E-047, E-048, E-050, E-051, E-052
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(name)
			require.NoError(t, err)
			want := string(raw)
			got := play(t, component.New(component.Limits{}), strings.Split(want, "\n"))
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
				return
			}
			require.Equal(t, want, got)
		})
	}
}
