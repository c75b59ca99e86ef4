package run0

import (
	"crypto/sha256"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// What a response takes beside its result, with the longest id.
const (
	envelopeRoom  = len(`{"jsonrpc":"2.0","id":"","result":}`) + 128
	envelopeDepth = 1
	envelopeNodes = 3 // the frame itself, the version and the id
)

// Fits says whether a response can carry result, whatever its request's id. The
// limits bind the whole frame, so not all that is JSON/0 fits (run-0 2).
func Fits(result []byte) bool {
	return json0.Limits{
		Bytes: json0.MaxBytes - envelopeRoom, Depth: json0.MaxDepth - envelopeDepth, Nodes: json0.MaxNodes - envelopeNodes,
	}.Check(result) == nil
}

// Ledger holds the operations of one caller invocation, by operation id. The
// same params join a live operation or replay its end; other params are a
// conflict. Nothing in it ever runs an operation again. It is safe for
// concurrent use.
type Ledger struct {
	frame  int
	retain int
	most   int // operations that are alive

	mu         sync.Mutex
	operations map[string]*Operation // guarded by mu
	retained   int                   // bytes of results and of failures; guarded by mu
	alive      int                   // operations that have not settled; guarded by mu
}

// Operation is one entry. Its methods are for whoever dispatches it.
type Operation struct {
	ledger  *Ledger
	sum     [sha256.Size]byte // of the preimage, which may be as large as a frame
	abort   func()            // guarded by ledger.mu
	waiters map[*waiter]bool
	settled bool
	aborted bool
	result  jsontext.Value
	failure *fault.Error
}

type waiter struct {
	done func(jsontext.Value, *fault.Error)
}

// NewLedger returns an empty ledger within the limits of a session.
func NewLedger(l Limits) *Ledger {
	l = l.withDefaults()
	return &Ledger{frame: l.FrameBytes, retain: l.RetainedBytes, most: l.Pending, operations: map[string]*Operation{}}
}

// Begin enters a request. Where the operation is new it returns it: the caller
// then dispatches it and settles it once. Where it is known, done gets its end,
// now or when it comes. cancel answers this request CANCELLED, and aborts the
// operation when nobody waits for it any more. A new operation beside too many
// that are alive, of which a request may be answered already, is refused and not
// entered.
func (l *Ledger) Begin(id string, preimage []byte, done func(jsontext.Value, *fault.Error)) (fresh *Operation, cancel func()) {
	sum := sha256.Sum256(preimage)
	l.mu.Lock()
	o := l.operations[id]
	if o != nil && (o.settled || o.sum != sum) {
		result, failure := o.result, o.failure
		if o.sum != sum {
			result, failure = nil, fault.New(fault.OperationConflict, "the operation id stands for another call")
		}
		l.mu.Unlock()
		done(result, failure)
		return nil, func() {}
	}
	if o == nil && l.alive >= l.most {
		l.mu.Unlock()
		done(nil, fault.New(fault.ResourceExhausted, "too many calls are alive"))
		return nil, func() {}
	}
	if o == nil {
		l.alive++
		o = &Operation{ledger: l, sum: sum, waiters: map[*waiter]bool{}}
		l.operations[id] = o
		fresh = o
	}
	w := &waiter{done}
	o.waiters[w] = true
	l.mu.Unlock()
	return fresh, func() { o.leave(w) }
}

// OnAbort says what ends the operation's work when nobody waits for it. Where
// that is so already, it runs at once.
func (o *Operation) OnAbort(abort func()) {
	o.ledger.mu.Lock()
	o.abort = abort
	now := o.aborted && !o.settled
	o.ledger.mu.Unlock()
	if now {
		abort()
	}
}

// leave takes one waiter out.
func (o *Operation) leave(w *waiter) {
	l := o.ledger
	l.mu.Lock()
	if !o.waiters[w] {
		l.mu.Unlock()
		return
	}
	delete(o.waiters, w)
	var abort func()
	if len(o.waiters) == 0 && !o.settled {
		o.aborted, abort = true, o.abort
	}
	l.mu.Unlock()
	w.done(nil, fault.New(fault.Cancelled, "the call was cancelled"))
	if abort != nil {
		abort()
	}
}

// Settle records the one end of the operation and tells whoever waits. A result
// that could not be sent or kept is a failure; a failure whose details could not
// be kept is the same failure without them.
func (o *Operation) Settle(result jsontext.Value, failure *fault.Error) {
	l := o.ledger
	l.mu.Lock()
	if o.settled {
		l.mu.Unlock()
		return
	}
	o.settled = true
	l.alive--
	if failure != nil {
		failure = l.keep(failure)
	}
	if failure == nil && (len(result)+envelopeRoom > l.frame || !Fits(result)) {
		failure = fault.New(fault.ResourceExhausted, "the result does not fit one frame")
	}
	if failure == nil && l.retained+len(result) > l.retain {
		failure = fault.New(fault.ResourceExhausted, "the results of this invocation are above the limit")
	}
	if failure != nil {
		result = nil
	}
	l.retained += len(result)
	o.result, o.failure = result, failure
	waiters := o.waiters
	o.waiters = nil
	l.mu.Unlock()
	for w := range waiters {
		w.done(result, failure)
	}
}

// keep counts a failure against what may be retained. Its code is always kept; its
// details, and then its message, go where there is no room.
func (l *Ledger) keep(f *fault.Error) *fault.Error {
	if l.retained+len(f.Message)+len(f.Details) > l.retain {
		f = fault.New(f.Code, f.Message)
	}
	if l.retained+len(f.Message) > l.retain {
		return fault.New(f.Code, string(f.Code))
	}
	l.retained += len(f.Message) + len(f.Details)
	return f
}

// Abort aborts every live operation: its waiters are answered CANCELLED. The
// operations still settle, for the record.
func (l *Ledger) Abort() {
	l.mu.Lock()
	var all []func()
	for _, o := range l.operations {
		for w := range o.waiters {
			all = append(all, func() { o.leave(w) })
		}
	}
	l.mu.Unlock()
	for _, leave := range all {
		leave()
	}
}
