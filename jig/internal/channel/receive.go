package channel

import (
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Next reads the next item or the end. done is called once. Starting a read
// gives back the room of the item read before, and that is the only
// acknowledgement there is. The returned function cancels the read while it
// waits, which disposes of the receiver; it does nothing afterwards.
func (b *Broker) Next(p Party, token string, done func(Item, *fault.Error)) (cancel func()) {
	b.lock()
	defer b.unlock()
	answer := func(i Item, err *fault.Error) func() {
		b.later(func() { done(i, err) })
		return func() {}
	}
	e, err := b.at(p, token, contract.Receive)
	if err != nil {
		return answer(Item{}, err)
	}
	e.use()
	r, s := e.receiver, e.source
	if r.parked != nil {
		return answer(Item{}, fault.New(fault.InvalidInput, "the receiver is being read already"))
	}
	r.out = nil
	if s.delivery == contract.Direct && r.alive() {
		b.flush(s)
	}
	switch {
	case r.failure != nil:
		return answer(Item{}, r.failure)
	case r.released:
		return answer(Item{}, fault.New(fault.Disconnected, "the receiver was released"))
	case len(r.queue) > 0:
		i := r.queue[0]
		r.queue = r.queue[1:]
		r.out = &i
		return answer(i, nil)
	case s.sealed:
		r.ended = true
		return answer(Item{End: true, Sequence: s.sequence}, nil)
	case b.stopped[p]:
		return answer(Item{}, fault.New(fault.Cancelled, "the run was cancelled"))
	}
	w := &read{done}
	r.parked = w
	return func() { b.cancelRead(r, w) }
}

func (b *Broker) cancelRead(r *receiver, w *read) {
	b.lock()
	defer b.unlock()
	if r.parked == w {
		b.dispose(r)
	}
}

// alive says whether r can still get anything.
func (r *receiver) alive() bool { return !r.released && !r.ended && r.failure == nil }

// dispose releases a receiver and answers whoever waits for it.
func (b *Broker) dispose(r *receiver) {
	if r.released {
		return
	}
	r.released = true
	r.queue, r.out = nil, nil
	if w := r.parked; w != nil {
		r.parked = nil
		err := r.failure
		if err == nil {
			err = fault.New(fault.Cancelled, "the read was cancelled")
		}
		b.later(func() { w.done(Item{}, err) })
	}
	if r.source.delivery == contract.Direct {
		err := r.failure
		if err == nil {
			err = fault.New(fault.Disconnected, "the receiver was released")
		}
		b.reject(r.source, err)
	}
}

// Release gives a receiver back, at any time and as often as one likes. It never
// cancels the producer.
func (b *Broker) Release(p Party, token string) (Released, *fault.Error) {
	b.lock()
	defer b.unlock()
	e, err := b.at(p, token, contract.Receive)
	if err != nil {
		return Released{}, err
	}
	e.use()
	r := e.receiver
	b.dispose(r)
	switch {
	case r.failure != nil:
		return Released{Status: "failed", Failure: r.failure}, nil
	case r.ended:
		return Released{Status: "ended", LastSequence: r.source.sequence}, nil
	}
	return Released{Status: "released"}, nil
}

// failReader makes a failure stick to one reader. What was handed out stands;
// what was queued is gone.
func (b *Broker) failReader(r *receiver, err *fault.Error) {
	if !r.alive() {
		return
	}
	r.failure = err
	r.queue = nil
	if w := r.parked; w != nil {
		r.parked = nil
		b.later(func() { w.done(Item{}, err) })
	}
}

// reject answers all waiting sends of a source.
func (b *Broker) reject(s *source, err *fault.Error) {
	for _, w := range s.pending {
		b.unqueue(s, w)
		b.later(func() { w.done(err) })
	}
	s.pending = nil
}

// fail makes a failure stick to a source that is not sealed, and to its readers.
func (b *Broker) fail(s *source, err *fault.Error) {
	if s.sealed || s.failure != nil {
		return
	}
	b.failAll(s, err)
}

// failAll fails a source whatever its state.
func (b *Broker) failAll(s *source, err *fault.Error) {
	if s.failure == nil {
		s.failure = err
	}
	b.reject(s, err)
	for _, r := range s.receivers {
		b.failReader(r, err)
	}
}
