package channel

import (
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Close ends a writer. A clean close seals the source: what was accepted still
// drains. With lagged the writer says that its readers did not see everything;
// that is an observation and fails nothing but the channel.
func (b *Broker) Close(p Party, token string, lagged bool) *fault.Error {
	b.lock()
	defer b.unlock()
	e, err := b.at(p, token, contract.Send)
	if err != nil {
		return err
	}
	e.use()
	s := e.source
	if lagged {
		switch {
		case s.failure != nil && s.failure.Code == fault.Lagged:
			return nil
		case s.sealed:
			return fault.New(fault.InvalidInput, "the writer was closed cleanly before")
		case s.failure != nil:
			return s.failure
		}
		b.fail(s, fault.New(fault.Lagged, "the producer says that the stream is incomplete"))
		return nil
	}
	switch {
	case s.failure != nil:
		return s.failure
	case s.sealed:
		return nil
	case s.deaf():
		return fault.New(fault.Disconnected, "the receiver was released")
	case len(s.pending) > 0:
		return fault.New(fault.InvalidInput, "sends of this writer still wait")
	}
	b.seal(s)
	return nil
}

// Fail ends a writer whose holder has failed: its readers get failure. A source
// that has ended, in whatever way, stays as it was.
func (b *Broker) Fail(p Party, token string, failure *fault.Error) *fault.Error {
	b.lock()
	defer b.unlock()
	e, err := b.at(p, token, contract.Send)
	if err != nil {
		return err
	}
	e.use()
	if s := e.source; !s.sealed && s.failure == nil {
		b.fail(s, failure)
	}
	return nil
}

// seal ends a source cleanly and wakes readers that wait at its end.
func (b *Broker) seal(s *source) {
	s.sealed = true
	for _, r := range s.receivers {
		if w := r.parked; w != nil {
			r.parked, r.ended = nil, true
			last := s.sequence
			b.later(func() { w.done(Item{End: true, Sequence: last}, nil) })
		}
	}
}

// Stop revokes what p waits for: reads and unaccepted sends answer CANCELLED,
// and nothing new is made. Release and close go on working.
func (b *Broker) Stop(p Party) {
	b.lock()
	defer b.unlock()
	b.stopped[p] = true
	for _, e := range b.endpoints {
		if e.holder != p {
			continue
		}
		if r := e.receiver; r != nil {
			if r.parked != nil {
				b.dispose(r)
			}
			continue
		}
		b.reject(e.source, fault.New(fault.Cancelled, "the run was cancelled"))
	}
}

// Standing says what an invocation has left undone when it answers.
type Standing struct {
	Abandoned bool // it holds a receiver that it neither read out nor released
	Pending   bool // it holds a writer with sends not yet accepted
}

// Inspect decides, before anything is cleaned up, what p has left undone. A
// direct pair of which neither half was used or moved is nothing; a fresh
// subscription is an abandoned receiver.
func (b *Broker) Inspect(p Party) Standing {
	b.lock()
	defer b.unlock()
	var st Standing
	for _, e := range b.endpoints {
		if e.holder != p {
			continue
		}
		s := e.source
		if e.receiver == nil {
			st.Pending = st.Pending || len(s.pending) > 0
			continue
		}
		untouched := s.delivery == contract.Direct && !s.touched && s.creator == p
		if e.receiver.alive() && !untouched {
			st.Abandoned = true
		}
	}
	return st
}

// Finish takes everything from an invocation that has ended. Where eligible, its
// healthy writers are closed cleanly; else their readers fail OWNER_CLOSED. What
// it created ends in any case, undrained items included.
func (b *Broker) Finish(p Party, eligible bool) {
	b.lock()
	defer b.unlock()
	b.stopped[p] = true
	closed := fault.New(fault.OwnerClosed, "the owner of the channel has ended")
	for token, e := range b.endpoints {
		if e.holder != p {
			continue
		}
		delete(b.endpoints, token)
		s := e.source
		switch {
		case e.receiver != nil:
			b.dispose(e.receiver)
		case !eligible:
			b.fail(s, closed)
		case !s.sealed && s.failure == nil && !s.deaf():
			b.seal(s)
		}
	}
	for _, s := range b.all {
		if s.creator == p {
			b.failAll(s, closed)
		}
	}
}
