package component

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Frame takes one frame of the host, without its LF (run-0 1.3).
func (c *Component) Frame(frame []byte) {
	if c.state == stateAnswered || c.state == stateDead {
		return
	}
	if !utf8.Valid(frame) {
		c.die(fault.ProtocolError, "a frame of the host is not UTF-8")
		return
	}
	if err := json0.Check(frame); err != nil {
		c.refuse("", -32700, "Parse error")
		c.die(fault.ProtocolError, "a frame of the host is not JSON/0")
		return
	}
	m, id, ok := envelope(frame)
	switch {
	case !ok:
		c.refuse(id, -32600, "Invalid Request")
		c.die(fault.ProtocolError, "a frame of the host is no JSON-RPC message")
	case m.response:
		c.response(m)
	case m.id == "":
		c.notification(m)
	case m.method != "flow/run":
		c.refuse(m.id, -32601, "Method not found")
	case c.state != stateNew:
		c.refuse(m.id, -32600, "Invalid Request")
		c.die(fault.ProtocolError, "the host asked for a second run")
	default:
		c.run(m)
	}
}

// Broken takes what cannot even be a frame: bytes without end, or an end inside
// of one.
func (c *Component) Broken(reason string) { c.die(fault.ProtocolError, reason) }

// Lost takes the end of the host's output.
func (c *Component) Lost() {
	c.die(fault.ChannelLost, "the connection to the host ended before the Run did")
}

// refuse answers with a JSON-RPC error; id is "" for null.
func (c *Component) refuse(id string, code int, message string) {
	quoted := "null"
	if id != "" {
		quoted = fmt.Sprintf("%q", id)
	}
	c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, quoted, code, message), false)
}

func (c *Component) response(m message) {
	r := c.requests[m.id]
	switch {
	case r == nil:
		c.die(fault.ProtocolError, "the host answered what was not asked")
	case m.standard:
		c.die(fault.ProtocolError, "the host refused a request as a message")
	default:
		c.answered(r, m.result, m.failure)
	}
}

func (c *Component) notification(m message) {
	if m.method != "request/cancel" {
		return
	}
	members, ok := exactly(m.params, "requestId")
	id, isText := stringOf(members["requestId"])
	if !ok || !isText {
		c.die(fault.ProtocolError, "a request/cancel of the host is malformed")
		return
	}
	if id != c.rootID || c.aborted || c.state != stateOpen && c.state != stateClosing {
		return // stale: the work it names is over, or never was ours
	}
	c.aborted = true
	c.emit(Event{Kind: Aborted, Err: fault.New(fault.Cancelled, "the Run was cancelled")})
	c.abandonAll()
	c.advance()
}

// run takes flow/run.
func (c *Component) run(m message) {
	context, ok := c.context(m.params)
	if !ok {
		c.refuse(m.id, -32602, "Invalid params")
		c.state = stateAnswered
		c.emit(Event{Kind: Answered})
		return
	}
	c.rootID, c.state = m.id, stateOpen
	c.emit(Event{Kind: Started, Value: context})
}

// context checks the params of flow/run and rewrites them for the author: each
// endpoint gets its number.
func (c *Component) context(raw jsontext.Value) (jsontext.Value, bool) {
	var p struct {
		Protocol       *string               `json:"protocol"`
		Input          jsontext.Value        `json:"input"`
		Settings       jsontext.Value        `json:"settings"`
		Attachments    map[string]attachment `json:"attachments"`
		Scratch        *string               `json:"scratch"`
		DeadlineUnixMS *int64                `json:"deadlineUnixMs"`
		Channels       jsontext.Value        `json:"channels"`
	}
	grants := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &p) != nil || p.Protocol == nil || *p.Protocol != "run/0" || p.Input == nil || p.Settings.Kind() != '{' ||
		p.Attachments == nil || len(p.Attachments) > 256 || p.Scratch == nil || *p.Scratch == "" ||
		p.DeadlineUnixMS == nil || *p.DeadlineUnixMS < 0 ||
		p.Channels != nil && (p.Channels.Kind() != '{' || json0.Decode(p.Channels, &grants) != nil || len(grants) > 256) {
		return nil, false
	}
	for name, a := range p.Attachments {
		if !contract.LocalName(name) || a.Path == nil || *a.Path == "" || a.Access == nil || *a.Access != "read" && *a.Access != "read-write" {
			return nil, false
		}
	}
	var channels []byte
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		g, ok := readGrant(grants[name])
		if !ok || !contract.LocalName(name) || c.tokens[g.Endpoint] {
			return nil, false
		}
		e := c.hold(g)
		e.connected = true
		channels = fmt.Appendf(channels, ",%q:%s", name, e.view())
	}
	// What the author gets keeps the order in which the host wrote it.
	rest, err := json0.Marshal(struct {
		Attachments map[string]attachment `json:"attachments"`
		Scratch     string                `json:"scratch"`
	}{p.Attachments, *p.Scratch})
	return fmt.Appendf(nil, `{"input":%s,"settings":%s,"deadlineUnixMs":%d,"channels":{%s},%s`,
		p.Input, p.Settings, *p.DeadlineUnixMS, bytes.TrimPrefix(channels, []byte(",")), bytes.TrimPrefix(rest, []byte("{"))), err == nil
}

type attachment struct {
	Path   *string `json:"path"`
	Access *string `json:"access"`
}
