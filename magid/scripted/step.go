package scripted

import (
	"slices"
	"strings"
	"time"
)

// Step is one thing that a reply does. Make it with one of the functions of this
// package; the zero Step does nothing.
type Step struct {
	op    op
	data  string // opWrite, opText: the bytes; opArguments: the fragment; opFinish: the reason; opError: the message; opHold: the name
	wait  time.Duration
	call  Call // opCall, opArguments
	in    int  // opUsage
	out   int  // opUsage
	times int  // opRepeat; negative: for ever
	steps []Step
}

type op int

const (
	opNothing op = iota
	opHead
	opWrite
	opWait
	opHold
	opClose
	opReset
	opRepeat
	// What the model does: written in the format of the request.
	opText
	opRefusal
	opCall
	opArguments
	opFinish
	opUsage
	opDone
	opError
)

// Call is one tool call, or its beginning.
type Call struct {
	// Index is the call's place in the reply; a negative one is left out of what
	// is written, as some servers do.
	Index int
	// ID is left out when empty, as some servers do.
	ID   string
	Name string
	// Arguments is written as it stands: it need not be JSON.
	Arguments string
}

// Text is a piece of the model's text. It must be valid UTF-8; for pieces that
// are not, say it in bytes with Event.
func Text(s string) Step { return Step{op: opText, data: s} }

// Refusal is a piece of what the model says instead of an answer.
func Refusal(s string) Step { return Step{op: opRefusal, data: s} }

// ToolCall is a call with its name, and the first piece of its arguments or all.
func ToolCall(c Call) Step { return Step{op: opCall, call: c} }

// Arguments is a further piece of the arguments of the call at that index.
func Arguments(index int, fragment string) Step {
	return Step{op: opArguments, call: Call{Index: index}, data: fragment}
}

// Finish is the reason why the model stopped, as the format spells it. The
// spellings of Chat (stop, tool_calls, length, content_filter) are translated for
// the other formats.
func Finish(reason string) Step { return Step{op: opFinish, data: reason} }

// Usage is the count of tokens in and out.
func Usage(in, out int) Step { return Step{op: opUsage, in: in, out: out} }

// Done is the format's last event.
func Done() Step { return Step{op: opDone} }

// Write is bytes of the body, exactly these.
func Write(b string) Step { return Step{op: opWrite, data: b} }

// Event is one event with this data, a data line for each of its lines.
func Event(data string) Step {
	return Write("data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

// Comment is a comment line of an event stream, as servers send to keep a
// connection alive.
func Comment(text string) Step { return Write(": " + text + "\n\n") }

// Wait does nothing for that time.
func Wait(d time.Duration) Step { return Step{op: opWait, wait: d} }

// Hold does nothing until [Server.Release] is called with that name, or the
// client hangs up. With an empty name only the latter ends it.
func Hold(name string) Step { return Step{op: opHold, data: name} }

// Head writes the status line and the header here. Without it they go out ahead
// of the first step; with it the steps before it can wait, hold or close.
func Head() Step { return Step{op: opHead} }

// Close ends the connection here, as a peer does that shuts down in order. What
// was written is delivered; a chunked body is left without its last chunk.
func Close() Step { return Step{op: opClose} }

// Reset ends the connection here as a peer does that crashed: with a TCP reset.
// What was written may be lost. In-process connections know no reset; there it is
// a Close.
func Reset() Step { return Step{op: opReset} }

// Repeat runs the steps so many times.
func Repeat(times int, steps ...Step) Step {
	return Step{op: opRepeat, times: max(times, 0), steps: steps}
}

// Forever runs the steps until the client hangs up or the server is closed. Let
// one of them be a Wait, or have a client that stops reading.
func Forever(steps ...Step) Step { return Step{op: opRepeat, times: -1, steps: steps} }

// written is the bytes of a Write, "" for any other step.
func (s Step) written() string {
	if s.op == opWrite {
		return s.data
	}
	return ""
}

// unrolled is how often a Repeat is taken where its bytes are counted: once if it
// never ends.
func (s Step) unrolled() int {
	if s.times < 0 {
		return 1
	}
	return s.times
}

// flatten turns what the model does into writes of the given format, and unrolls
// repetitions; one that never ends is taken once.
func flatten(w *writer, steps []Step) []Step {
	var flat []Step
	for _, s := range steps {
		switch {
		case s.op == opNothing:
		case s.op == opRepeat:
			for range s.unrolled() {
				flat = append(flat, flatten(w, s.steps)...)
			}
		case s.op >= opText:
			flat = append(flat, Write(w.write(s)))
		default:
			flat = append(flat, s)
		}
	}
	return flat
}

// size is the length of the body that the steps write, without keeping it.
func size(w *writer, steps []Step) int {
	n := 0
	for _, s := range steps {
		switch {
		case s.op == opRepeat && (w.format == Chat || !speaks(s.steps)):
			n += size(w, s.steps) * s.unrolled()
		case s.op == opRepeat:
			for range s.unrolled() {
				n += size(w, s.steps)
			}
		case s.op >= opText:
			n += len(w.write(s))
		default:
			n += len(s.written())
		}
	}
	return n
}

// speaks reports whether a step among these says what the model does.
func speaks(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return s.op >= opText || s.op == opRepeat && speaks(s.steps)
	})
}
