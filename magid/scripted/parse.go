package scripted

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxScriptBytes bounds the text of a script.
const MaxScriptBytes = 4 << 20

// Parse reads a script from text. Each line is one instruction; empty lines and
// lines that begin with # are skipped. ARG is a word or a JSON string; REST is
// the rest of the line as it stands, or one JSON string if it begins with a
// quote.
//
//	loop                             begin again after the last reply
//	reply [STATUS]                   a new reply; what follows belongs to it
//	header ARG REST                  a field of its header
//	framing ARG                      chunked, until-close, length or raw
//	split N                          write the body in pieces of at most N bytes
//	pace DURATION                    wait between these pieces
//
//	text REST                        a piece of the model's text
//	refusal REST                     a piece of what the model says instead
//	call INDEX ID NAME [REST]        a call and its arguments, or their beginning; INDEX -1 and ID "" are left out
//	arguments INDEX REST             a further piece of the arguments
//	finish REST                      why the model stopped
//	usage IN OUT                     tokens
//	done                             the format's last event
//
//	write REST                       bytes of the body
//	hex HEX                          bytes of the body
//	event REST                       one event with this data
//	comment REST                     a comment line
//
//	head                             the status line and header, here and not at once
//	wait DURATION                    do nothing
//	hold [ARG]                       do nothing until released, or until the client hangs up
//	close                            end the connection in order
//	reset                            end the connection with a TCP reset
//
//	repeat N DURATION INSTRUCTION    so many times, with a wait ahead of each
//	forever DURATION INSTRUCTION     until the client hangs up
//
// A DURATION is written as 250ms, 3s or 1m.
func Parse(text []byte) (Script, error) {
	if len(text) > MaxScriptBytes {
		return Script{}, fmt.Errorf("scripted: the script is longer than %d bytes", MaxScriptBytes)
	}
	if !utf8.Valid(text) {
		return Script{}, errors.New("scripted: the script is not UTF-8; write such bytes with hex")
	}
	var s Script
	for i, line := range strings.Split(string(text), "\n") {
		p := &parser{rest: strings.Trim(line, " \t\r")}
		if p.rest == "" || p.rest[0] == '#' {
			continue
		}
		if err := p.line(&s); err != nil {
			return Script{}, fmt.Errorf("scripted: line %d: %w", i+1, err)
		}
	}
	if len(s.Replies) == 0 {
		return Script{}, errors.New("scripted: the script has no reply")
	}
	return s, nil
}

// parser reads the arguments of one line; the first error stays.
type parser struct {
	rest string
	err  error
}

func (p *parser) line(s *Script) error {
	verb := p.arg("instruction")
	switch verb {
	case "loop":
		s.Loop = true
		return p.end()
	case "reply":
		r := Reply{}
		if p.rest != "" {
			r.Status = p.number("status", 100, 999)
		}
		s.Replies = append(s.Replies, r)
		return p.end()
	}
	if len(s.Replies) == 0 {
		return errors.New("the first instruction must be reply or loop")
	}
	r := &s.Replies[len(s.Replies)-1]
	switch verb {
	case "header":
		f := Field{p.arg("name"), p.tail("value")}
		if p.err == nil && (http.CanonicalHeaderKey(f.Name) == "" || strings.ContainsAny(f.Name+f.Value, "\r\n")) {
			return errors.New("a header field has a name and no line end")
		}
		r.Header = append(r.Header, f)
	case "framing":
		name := p.arg("framing")
		f, ok := map[string]Framing{"chunked": Chunked, "until-close": UntilClose, "length": Length, "raw": Raw}[name]
		if p.err == nil && !ok {
			return fmt.Errorf("%q is no framing: chunked, until-close, length and raw are", name)
		}
		r.Framing = f
	case "split":
		r.Split = p.number("number of bytes", 1, MaxScriptBytes)
	case "pace":
		r.Pace = p.duration()
	default:
		step := p.step(verb)
		r.Steps = append(r.Steps, step)
	}
	return p.end()
}

func (p *parser) step(verb string) Step {
	switch verb {
	case "text":
		return Text(p.tail("text"))
	case "refusal":
		return Refusal(p.tail("text"))
	case "call":
		c := Call{Index: p.number("index", -1, 1<<31-1), ID: p.arg("id"), Name: p.arg("name")}
		if p.rest != "" {
			c.Arguments = p.tail("arguments")
		}
		return ToolCall(c)
	case "arguments":
		index := p.number("index", -1, 1<<31-1)
		return Arguments(index, p.tail("arguments"))
	case "finish":
		return Finish(p.tail("reason"))
	case "usage":
		in := p.number("number of tokens", 0, 1<<31-1)
		return Usage(in, p.number("number of tokens", 0, 1<<31-1))
	case "done":
		return Done()
	case "write":
		return Write(p.tail("text"))
	case "hex":
		b, err := hex.DecodeString(p.tail("hexadecimal bytes"))
		if err != nil {
			p.fail("these are no hexadecimal bytes")
		}
		return Write(string(b))
	case "event":
		return Event(p.tail("data"))
	case "comment":
		return Comment(p.tail("comment"))
	case "head":
		return Head()
	case "wait":
		return Wait(p.duration())
	case "hold":
		if p.rest == "" {
			return Hold("")
		}
		return Hold(p.arg("name"))
	case "close":
		return Close()
	case "reset":
		return Reset()
	case "repeat":
		n := p.number("number of times", 0, 1<<20)
		return Repeat(n, p.repeated()...)
	case "forever":
		return Forever(p.repeated()...)
	default:
		p.fail(fmt.Sprintf("%q is no instruction", verb))
		return Step{}
	}
}

// repeated reads the wait and the instruction of repeat and forever. They do not
// nest: one line must not unfold into a script without end.
func (p *parser) repeated() []Step {
	wait := p.duration()
	verb := p.arg("instruction")
	if verb == "repeat" || verb == "forever" {
		p.fail("repeat and forever do not nest")
		return nil
	}
	return []Step{Wait(wait), p.step(verb)}
}

func (p *parser) fail(text string) {
	if p.err == nil {
		p.err = errors.New(text)
	}
}

func (p *parser) end() error {
	if p.err == nil && p.rest != "" {
		p.fail("there is more on the line than the instruction takes")
	}
	return p.err
}

// arg takes a word or a JSON string.
func (p *parser) arg(what string) string {
	if p.err != nil || p.rest == "" {
		p.fail("the " + what + " is missing")
		return ""
	}
	end := strings.IndexAny(p.rest, " \t")
	if p.rest[0] == '"' {
		end = quotedEnd(p.rest)
	} else if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	if end < len(p.rest) && p.rest[end] != ' ' && p.rest[end] != '\t' {
		p.fail("a JSON string ends with a blank or with the line")
	}
	p.rest = strings.TrimLeft(p.rest[end:], " \t")
	return p.unquote(word)
}

// tail takes the rest of the line.
func (p *parser) tail(what string) string {
	if p.err != nil || p.rest == "" {
		p.fail("the " + what + ` is missing; an empty one is written ""`)
		return ""
	}
	word := p.rest
	p.rest = ""
	return p.unquote(word)
}

func (p *parser) unquote(word string) string {
	if word[0] != '"' {
		return word
	}
	b, err := jsontext.AppendUnquote(nil, word)
	if err != nil {
		p.fail("what begins with a quote must be one JSON string")
		return ""
	}
	return string(b)
}

// quotedEnd gives the end of the JSON string that s begins with, or of s.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func (p *parser) number(what string, low, high int) int {
	word := p.arg(what)
	n, err := strconv.Atoi(word)
	if p.err == nil && (err != nil || n < low || n > high) {
		p.fail(fmt.Sprintf("the %s must be a whole number from %d to %d", what, low, high))
	}
	return n
}

func (p *parser) duration() time.Duration {
	d, err := time.ParseDuration(p.arg("duration"))
	if p.err == nil && (err != nil || d < 0) {
		p.fail("a duration is written as 250ms, 3s or 1m")
	}
	return d
}
