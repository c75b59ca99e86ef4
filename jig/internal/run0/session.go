package run0

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// rootID is the id of the one request.
const rootID = "host:1"

// Handler serves a component's requests. Its methods must not wait: what cannot
// be answered at once is answered later through done, from any goroutine. The
// functions they return cancel what waits and do nothing afterwards.
type Handler interface {
	Call(c Call, done func(result jsontext.Value, err *fault.Error)) (cancel func())
	Create(c Create) (channel.Created, *fault.Error)
	Subscribe(source string) (channel.Grant, *fault.Error)
	Send(endpoint string, value []byte, done func(*fault.Error)) (cancel func())
	Next(endpoint string, done func(channel.Item, *fault.Error)) (cancel func())
	Close(endpoint string, lagged bool) *fault.Error
	Release(endpoint string) (channel.Released, *fault.Error)

	// Stop is called once, when admission ends before the root has answered: it
	// aborts owned work and answers all that waits.
	Stop()
	// Answered is called once, with the root's answer: the result that fits its
	// contract, or nil. It settles the channels and may refuse a success.
	Answered(result *contract.Result) *fault.Error
}

// Options is what a session starts with.
type Options struct {
	In      io.WriteCloser // the component's standard input
	Out     io.Reader      // the component's standard output
	Run     Run
	Handler Handler
	// CheckResult applies the contract to a result; nil takes any {outcome, output}.
	CheckResult func(raw []byte) (contract.Result, error)
	Limits      Limits
}

// Session is one Run/0 conversation. It is safe for concurrent use.
type Session struct {
	o Options
	l Limits
	w *writer

	first []byte // flow/run, until it is sent

	answered chan struct{} // closed with the root's answer
	doomed   chan struct{} // closed when the process has to be killed
	silent   chan struct{} // closed when no answer can come any more
	drained  chan struct{} // closed when the component's output has ended

	mu       sync.Mutex
	waiting  map[string]func() // cancel of each unanswered request; guarded by mu
	used     map[string]bool   // ids ever used; guarded by mu
	requests int               // guarded by mu
	state    state             // guarded by mu
	ended    end               // guarded by mu
	kill     bool              // the owner has killed the process; guarded by mu
	stopped  bool              // Handler.Stop was called; guarded by mu
	hushed   bool              // silent is closed; guarded by mu
}

type state uint8

const (
	stateNew state = iota // flow/run has not been written
	stateOpen
	stateCancelling
	stateAnswered
	stateFatal
)

// New begins to read what the component writes. What comes before [Session.Start]
// is premature. A run that does not fit one frame is RESOURCE_EXHAUSTED.
func New(o Options) (*Session, error) {
	s := &Session{
		o: o, l: o.Limits.withDefaults(), answered: make(chan struct{}), doomed: make(chan struct{}), silent: make(chan struct{}), drained: make(chan struct{}),
		waiting: map[string]func(){}, used: map[string]bool{},
	}
	frame, err := o.Run.frame(s.l.FrameBytes)
	if err != nil {
		return nil, err
	}
	s.w = newWriter(o.In, s.l.QueuedBytes, func() { s.breach("queued responses") }, s.unread)
	s.first = frame
	go s.read()
	return s, nil
}

// Start sends flow/run. It is called once.
func (s *Session) Start() {
	s.mu.Lock()
	if s.state == stateNew {
		s.state = stateOpen
	}
	s.mu.Unlock()
	s.w.put(s.first)
	s.first = nil
}

// Answered is closed when a complete answer of the root has come.
func (s *Session) Answered() <-chan struct{} { return s.answered }

// Doomed is closed when the process has to be killed at once.
func (s *Session) Doomed() <-chan struct{} { return s.doomed }

// Silent is closed when the component's output has ended without an answer, or
// nothing can be written to its input before one. No answer counts any more; how
// the process ends by itself says why, so it is given a moment for that before it
// is killed.
func (s *Session) Silent() <-chan struct{} { return s.silent }

// Drained is closed when the component's output has been read to its end.
func (s *Session) Drained() <-chan struct{} { return s.drained }

// Cancel records why the run ends, asks the component to stop and ends
// admission. The first cause wins. After the root's answer it does nothing and
// returns false.
func (s *Session) Cancel(cause *fault.Error) bool {
	s.mu.Lock()
	if s.state != stateOpen && s.state != stateNew {
		s.mu.Unlock()
		return false
	}
	s.state = stateCancelling
	s.ended.local = cause
	s.stopped = true
	s.mu.Unlock()
	s.w.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"request/cancel","params":{"requestId":%q}}`, rootID))
	s.o.Handler.Stop()
	return true
}

// Killed tells the session that its process was killed, so that what the death
// cuts off is not taken for a violation.
func (s *Session) Killed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill = true
	switch {
	case s.state == stateAnswered:
		s.ended.killedLate = true
	case s.ended.silent || s.ended.deaf:
		s.ended.mute = true
	}
}

// Exhausted ends the run for a bound that the owner found broken.
func (s *Session) Exhausted(what string) { s.breach(what) }

func (s *Session) breach(what string) {
	s.mu.Lock()
	if s.ended.local == nil {
		s.ended.local = fault.New(fault.ResourceExhausted, what+" above the limit")
	}
	s.mu.Unlock()
	s.doom("")
}

// doom ends everything. violation is empty for a breach of bounds.
func (s *Session) doom(violation string) {
	s.mu.Lock()
	if violation != "" && s.ended.violation == "" && !s.kill {
		s.ended.violation = violation
	}
	first := s.state != stateFatal
	s.state = stateFatal
	stop := first && !s.stopped
	s.stopped = true
	s.mu.Unlock()
	if first {
		close(s.doomed)
	}
	if stop {
		s.o.Handler.Stop()
	}
}

// read serves frames until the output ends.
func (s *Session) read() {
	defer close(s.drained)
	f := newFrames(s.o.Out, s.l)
	for {
		frame, err := f.next()
		if err == nil {
			s.frame(frame)
			continue
		}
		s.mu.Lock()
		dead := s.kill || s.state == stateFatal
		s.mu.Unlock()
		switch {
		case dead:
		case errors.Is(err, io.EOF):
			s.gone()
		case errors.Is(err, errStdout):
			s.breach("standard output")
		case errors.Is(err, errIncomplete):
			s.mu.Lock()
			s.ended.half = true
			s.mu.Unlock()
			s.doom(err.Error() + polluted(frame))
		case errors.Is(err, errTooLong), errors.Is(err, errUTF8):
			s.doom(err.Error() + polluted(frame))
		default:
			s.mu.Lock()
			s.ended.lost = true
			s.mu.Unlock()
			s.doom("")
		}
		io.Copy(io.Discard, f.r) // until the process is dead and the pipe ends
		return
	}
}

// gone is the end of output on a frame boundary.
func (s *Session) gone() {
	s.mu.Lock()
	if s.state == stateAnswered || s.state == stateFatal {
		s.mu.Unlock()
		return
	}
	s.ended.silent = true
	s.state = stateFatal
	s.hush()
}

// unread is a frame that the component could not be sent. Nothing is admitted any
// more and no answer counts, but what is still read may name the cause: what was
// violated, or how the process ended, which takes its input away as well.
func (s *Session) unread() {
	s.mu.Lock()
	if s.kill || s.state == stateAnswered || s.state == stateFatal {
		s.mu.Unlock()
		return
	}
	s.ended.deaf = true
	s.state = stateCancelling
	s.hush()
}

// hush ends what is owned, for no answer counts any more. It is called with mu
// held and releases it.
func (s *Session) hush() {
	stop := !s.stopped
	s.stopped = true
	if !s.hushed {
		s.hushed = true
		close(s.silent)
	}
	s.mu.Unlock()
	if stop {
		s.o.Handler.Stop()
	}
}

func (s *Session) frame(frame []byte) {
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	switch state {
	case stateFatal:
		return
	case stateAnswered:
		s.doom("the component wrote after its answer" + polluted(frame))
		return
	}
	if err := json0.Check(frame); err != nil {
		s.w.put([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))
		s.doom("a frame is not JSON/0" + polluted(frame))
		return
	}
	m, id, ok := envelope(frame)
	switch {
	case !ok:
		s.refuse(id, codeInvalid, "Invalid Request")
		s.doom("a frame is no JSON-RPC message")
	case m.response:
		s.response(m)
	case m.notification:
		s.notification(m)
	default:
		s.request(m)
	}
}

// polluted explains the usual cause of a frame that is none.
func polluted(frame []byte) string {
	if len(frame) == 0 || frame[0] == '{' {
		return ""
	}
	return `; standard output belongs to the protocol and was polluted, beginning "` + head(frame) + `"`
}

func (s *Session) response(m message) {
	s.mu.Lock()
	early := s.state == stateNew
	s.mu.Unlock()
	if m.id != rootID || early {
		s.doom("a response answers nothing that was asked")
		return
	}
	s.mu.Lock()
	if len(s.waiting) > 0 {
		s.mu.Unlock()
		s.doom("the component answered while it was waiting for answers itself")
		return
	}
	cancelled := s.state == stateCancelling
	s.state = stateAnswered
	s.stopped = true
	s.mu.Unlock()
	e := end{answered: true}
	var result *contract.Result
	switch {
	case m.failed != nil && m.failed.fault == nil:
		s.doom("the component refused the run as a message")
		return
	case m.failed != nil:
		e.failure = m.failed.fault
	default:
		r, err := s.check(m.result)
		switch {
		case err == nil:
			result = &r
		case errors.Is(err, errResultShape):
			s.doom("the answer is no {outcome, output}")
			return
		default:
			e.failure = fault.New(fault.InvalidResult, err.Error())
		}
	}
	offered := result
	if cancelled {
		offered = nil // a success that comes while cancelling is none
	}
	if err := s.o.Handler.Answered(offered); err != nil && result != nil {
		e.unfinished = err
	}
	e.result = result
	s.mu.Lock()
	e.local, e.violation, e.deaf, e.killedLate = s.ended.local, s.ended.violation, s.ended.deaf, s.kill
	s.ended = e
	s.mu.Unlock()
	s.w.close()
	close(s.answered)
}

var errResultShape = errors.New("no {outcome, output}")

func (s *Session) check(raw jsontext.Value) (contract.Result, error) {
	var none *contract.Invocation
	if _, err := none.CheckResult(raw); err != nil {
		// Whether the outcome is declared is the contract's affair, the shape is not.
		var r struct {
			Outcome *string        `json:"outcome"`
			Output  jsontext.Value `json:"output"`
		}
		if json0.Decode(raw, &r) != nil || r.Outcome == nil || r.Output == nil || !contract.LocalName(*r.Outcome) {
			return contract.Result{}, errResultShape
		}
	}
	if s.o.CheckResult == nil {
		return none.CheckResult(raw)
	}
	return s.o.CheckResult(raw)
}

func (s *Session) notification(m message) {
	if m.method != "request/cancel" {
		return
	}
	id, ok := readOne(m.params, "requestId")
	if !ok {
		s.doom("a request/cancel notification is malformed")
		return
	}
	s.mu.Lock()
	cancel := s.waiting[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
