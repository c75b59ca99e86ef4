package run0

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// request serves one request of the component.
func (s *Session) request(m message) {
	s.mu.Lock()
	s.requests++
	reused, many := s.used[m.id], s.requests > s.l.Requests
	s.used[m.id] = true
	full := len(s.waiting) >= s.l.Pending
	state := s.state
	s.mu.Unlock()
	switch {
	case reused:
		s.doom("a request id was used twice")
		return
	case many:
		s.doom("the component has sent more requests than it may")
		return
	}
	read, known := methods[m.method]
	if !known {
		s.refuse(m.id, codeNoMethod, "Method not found")
		return
	}
	settles := m.method == "channel/close" || m.method == "channel/release"
	if full && !settles {
		s.fail(m.id, fault.New(fault.ResourceExhausted, "too many requests wait"))
		return
	}
	serve := read(s, m)
	switch {
	case serve == nil:
		s.refuse(m.id, codeBadParams, "Invalid params")
	case state == stateNew: // nobody has asked for anything yet
		s.fail(m.id, fault.New(fault.OwnerClosed, "the run has not begun"))
	case state != stateOpen && m.method == "flow/call":
		s.fail(m.id, fault.New(fault.OwnerClosed, "the run admits no new call"))
	default:
		serve()
	}
}

// methods are what a component may ask. Each reads the params and returns what
// serves the request, or nil for wrong params.
var methods = map[string]func(s *Session, m message) (serve func()){
	"flow/call": func(s *Session, m message) func() {
		c, ok := readCall(m.params)
		return when(ok, func() {
			s.wait(m.id, func(answer func(jsontext.Value, *fault.Error)) func() {
				return s.o.Handler.Call(c, answer)
			})
		})
	},
	"channel/create": func(s *Session, m message) func() {
		c, ok := readCreate(m.params)
		return when(ok, func() {
			made, err := s.o.Handler.Create(c)
			s.answer(m.id, created(made), err)
		})
	},
	"channel/subscribe": func(s *Session, m message) func() {
		source, ok := readOne(m.params, "source")
		return when(ok, func() {
			grant, err := s.o.Handler.Subscribe(source)
			s.answer(m.id, grant, err)
		})
	},
	"channel/send": func(s *Session, m message) func() {
		endpoint, value, ok := readSend(m.params)
		return when(ok, func() {
			s.wait(m.id, func(answer func(jsontext.Value, *fault.Error)) func() {
				return s.o.Handler.Send(endpoint, value, func(err *fault.Error) { answer(jsontext.Value("null"), err) })
			})
		})
	},
	"channel/next": func(s *Session, m message) func() {
		endpoint, ok := readOne(m.params, "endpoint")
		return when(ok, func() {
			s.wait(m.id, func(answer func(jsontext.Value, *fault.Error)) func() {
				return s.o.Handler.Next(endpoint, func(i channel.Item, err *fault.Error) { answer(item(i), err) })
			})
		})
	},
	"channel/close": func(s *Session, m message) func() {
		endpoint, lagged, ok := readClose(m.params)
		return when(ok, func() { s.answer(m.id, jsontext.Value("null"), s.o.Handler.Close(endpoint, lagged)) })
	},
	"channel/release": func(s *Session, m message) func() {
		endpoint, ok := readOne(m.params, "endpoint")
		return when(ok, func() {
			r, err := s.o.Handler.Release(endpoint)
			s.answer(m.id, released(r), err)
		})
	},
}

func when(ok bool, serve func()) func() {
	if !ok {
		return nil
	}
	return serve
}

func created(c channel.Created) any {
	if c.Source != "" {
		return struct {
			Send   channel.Grant `json:"send"`
			Source string        `json:"source"`
		}{c.Send, c.Source}
	}
	return struct {
		Send    channel.Grant `json:"send"`
		Receive channel.Grant `json:"receive"`
	}{c.Send, c.Receive}
}

func item(i channel.Item) jsontext.Value {
	if i.End {
		return fmt.Appendf(nil, `{"end":{"lastSequence":%d}}`, i.Sequence)
	}
	return fmt.Appendf(nil, `{"item":{"sequence":%d,"value":%s}}`, i.Sequence, i.Value)
}

func released(r channel.Released) any {
	switch r.Status {
	case "ended":
		return struct {
			Status string `json:"status"`
			Last   int64  `json:"lastSequence"`
		}{r.Status, r.LastSequence}
	case "failed":
		return struct {
			Status  string         `json:"status"`
			Code    fault.Code     `json:"code"`
			Details jsontext.Value `json:"details,omitzero"`
		}{r.Status, r.Failure.Code, r.Failure.Details}
	}
	return struct {
		Status string `json:"status"`
	}{r.Status}
}

// wait begins a request that may be answered later.
func (s *Session) wait(id string, begin func(answer func(jsontext.Value, *fault.Error)) (cancel func())) {
	s.mu.Lock()
	s.waiting[id] = func() {}
	s.mu.Unlock()
	cancel := begin(func(result jsontext.Value, err *fault.Error) { s.answer(id, result, err) })
	s.mu.Lock()
	if _, still := s.waiting[id]; still {
		s.waiting[id] = cancel
	}
	s.mu.Unlock()
}

// answer writes the one response to a request. The limits bind the whole frame, so
// a result that is JSON/0 by itself may not fit; that fails this request alone.
func (s *Session) answer(id string, result any, err *fault.Error) {
	s.mu.Lock()
	delete(s.waiting, id)
	s.mu.Unlock()
	if err != nil {
		s.fail(id, err)
		return
	}
	raw, isRaw := result.(jsontext.Value)
	if !isRaw {
		var merr error
		if raw, merr = json0.Marshal(result); merr != nil {
			s.fail(id, fault.New(fault.ExecutionFailed, "the answer cannot be written"))
			return
		}
	}
	frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, id, raw)
	if !s.fits(frame) {
		s.fail(id, fault.New(fault.ResourceExhausted, "the answer does not fit one frame"))
		return
	}
	s.w.put(frame)
}

func (s *Session) fits(frame []byte) bool {
	return len(frame) <= s.l.FrameBytes && json0.Check(frame) == nil
}

// fail writes an operational error.
func (s *Session) fail(id string, err *fault.Error) {
	s.mu.Lock()
	delete(s.waiting, id)
	s.mu.Unlock()
	code := err.Code
	if !code.OnWire() {
		code = fault.ExecutionFailed
	}
	message := err.Message
	if !validMessage(message) {
		message = string(code)
	}
	b, merr := json0.Marshal(struct {
		ID    string `json:"id"`
		Error any    `json:"error"`
		RPC   string `json:"jsonrpc"`
	}{id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{codeOperational, message, struct {
		Code    fault.Code     `json:"code"`
		Details jsontext.Value `json:"details,omitzero"`
	}{code, err.Details}}, "2.0"})
	if merr != nil || len(b) > s.l.FrameBytes { // the details do not fit the frame, and are what can be done without
		b = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"error":{"code":-32000,"message":%q,"data":{"code":%q}}}`, id, string(code), string(code))
	}
	s.w.put(b)
}

// refuse writes a JSON-RPC error; id is "" for null.
func (s *Session) refuse(id string, code int, message string) {
	quoted := "null"
	if id != "" {
		quoted = fmt.Sprintf("%q", id)
	}
	s.w.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, quoted, code, message))
}
