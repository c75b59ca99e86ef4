package channel

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// itemDepth is the depth of an item: it stands three levels down in the frame that
// hands it out, and the limit of 128 binds the whole frame (run-0 2).
const itemDepth = json0.MaxDepth - 3

// Send gives value to the channel. done is called once: with nil when the item
// has been accepted, which says nothing of its being read, or with the failure.
// The returned function cancels the send while it has not been accepted, and
// does nothing afterwards.
func (b *Broker) Send(p Party, token string, value []byte, done func(*fault.Error)) (cancel func()) {
	b.lock()
	defer b.unlock()
	answer := func(err *fault.Error) func() {
		b.later(func() { done(err) })
		return func() {}
	}
	e, err := b.at(p, token, contract.Send)
	if err != nil {
		return answer(err)
	}
	e.use()
	s := e.source
	switch {
	case s.failure != nil:
		return answer(s.failure)
	case s.deaf():
		return answer(fault.New(fault.Disconnected, "the receiver was released"))
	case s.sealed:
		return answer(fault.New(fault.OwnerClosed, "the writer was closed"))
	case b.stopped[p]:
		return answer(fault.New(fault.Cancelled, "the run was cancelled"))
	}
	item, cerr := json0.Canonical(value)
	switch {
	case cerr != nil:
		err = fault.New(fault.InvalidInput, "the item is not JSON/0")
	case len(item) > b.limits.ItemBytes:
		err = fault.New(fault.ResourceExhausted, "the item is larger than an item may be")
	case (json0.Limits{Depth: itemDepth}).Check(item) != nil:
		err = fault.New(fault.ResourceExhausted, "the item is nested deeper than an item may be")
	case s.bytes+s.waiting+int64(len(item)) > b.limits.SourceBytes:
		err = fault.New(fault.ResourceExhausted, "the channel has carried all the bytes it may")
	case !fits(s.constraints, item):
		err = fault.New(fault.InvalidInput, "the item does not fit the channel's schema")
	}
	if err != nil {
		b.fail(s, err)
		return answer(err)
	}
	if s.delivery == contract.Broadcast {
		b.broadcast(s, item)
		return answer(nil)
	}
	if len(s.pending) == 0 && b.room(s.receivers[0], len(item)) {
		b.accept(s, item)
		return answer(nil)
	}
	if b.pending >= b.limits.PendingSends || b.pendingB+len(item) > b.limits.PendingBytes {
		return answer(fault.New(fault.ResourceExhausted, "too many sends wait for their readers"))
	}
	w := &send{item, done}
	s.pending = append(s.pending, w)
	s.waiting += int64(len(item))
	b.pending++
	b.pendingB += len(item)
	return func() { b.cancelSend(s, w) }
}

func (b *Broker) cancelSend(s *source, w *send) {
	b.lock()
	defer b.unlock()
	for i, other := range s.pending {
		if other == w {
			s.pending = append(s.pending[:i:i], s.pending[i+1:]...)
			b.unqueue(s, w)
			b.later(func() { w.done(fault.New(fault.Cancelled, "the send was cancelled")) })
			b.flush(s) // the next one may be smaller and fit
			return
		}
	}
}

func (b *Broker) unqueue(s *source, w *send) {
	s.waiting -= int64(len(w.value))
	b.pending--
	b.pendingB -= len(w.value)
}

// deaf says whether the one reader of a direct source is gone.
func (s *source) deaf() bool {
	return s.delivery == contract.Direct && s.receivers[0].released
}

func fits(schemas []*contract.ItemSchema, item []byte) bool {
	for _, schema := range schemas {
		if schema.Check(item) != nil {
			return false
		}
	}
	return true
}

// room says whether r takes n more bytes. What was handed out and not yet
// followed by another read still takes its place.
func (b *Broker) room(r *receiver, n int) bool {
	items, bytes := len(r.queue), n
	for _, i := range r.queue {
		bytes += len(i.Value)
	}
	if r.out != nil {
		items, bytes = items+1, bytes+len(r.out.Value)
	}
	return items < b.limits.BufferItems && bytes <= b.limits.BufferBytes
}

// accept numbers an item of a direct source and gives it to its reader.
func (b *Broker) accept(s *source, item jsontext.Value) {
	s.sequence++
	s.bytes += int64(len(item))
	b.deliver(s.receivers[0], Item{Sequence: s.sequence, Value: item})
}

func (b *Broker) deliver(r *receiver, i Item) {
	if r.parked == nil {
		r.queue = append(r.queue, i)
		return
	}
	r.out = &i
	w := r.parked
	r.parked = nil
	b.later(func() { w.done(i, nil) })
}

func (b *Broker) broadcast(s *source, item jsontext.Value) {
	s.sequence++
	s.bytes += int64(len(item))
	for _, r := range s.receivers {
		switch {
		case !r.alive():
		case !fits(r.constraints, item):
			b.failReader(r, fault.New(fault.InvalidInput, "an item does not fit the reader's schema"))
		case !b.room(r, len(item)):
			b.failReader(r, fault.New(fault.Lagged, "the reader was too slow"))
		default:
			b.deliver(r, Item{Sequence: s.sequence, Value: item})
		}
	}
}

// flush accepts waiting sends of a direct source while there is room.
func (b *Broker) flush(s *source) {
	for len(s.pending) > 0 && b.room(s.receivers[0], len(s.pending[0].value)) {
		w := s.pending[0]
		s.pending = s.pending[1:]
		b.unqueue(s, w)
		b.accept(s, w.value)
		b.later(func() { w.done(nil) })
	}
}
