package client

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/magi-jig/magi-jig/wirev2"
)

// ErrSlow is the error of a Subscription whose reader fell behind its bounds: later events were not kept.
var ErrSlow = errors.New("subscription fell behind: later events were lost, read the session's snapshot")

// OfSession matches the events of one session, those for executors included.
func OfSession(id wirev2.ID) func(*wirev2.Event) bool {
	return func(e *wirev2.Event) bool { return e.SessionID == id }
}

// ForExecutor matches the events that go to this connection as an executor.
func ForExecutor(e *wirev2.Event) bool {
	return e.Event == wirev2.EventTurnApplicationToolCall || e.Event == wirev2.EventTurnApplicationToolCancel
}

// Subscription is a bounded queue of events. It may be closed by any goroutine and is read by one.
type Subscription struct {
	c     *Client
	match func(*wirev2.Event) bool
	ready chan struct{} // there is an event or an end

	mu    sync.Mutex
	queue []wirev2.Event // guarded by mu
	bytes int            // guarded by mu
	end   error          // guarded by mu; what follows the queue
	waits bool           // guarded by mu; somebody found the queue empty and waits
}

// Subscribe returns a subscription to the events that match accepts, nil for all. match runs while the connection is
// read: it must be quick and must not call the Client.
func (c *Client) Subscribe(match func(*wirev2.Event) bool) *Subscription {
	s := &Subscription{c: c, match: match, ready: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		s.finish(c.err)
	} else {
		c.subs = append(c.subs, s)
	}
	return s
}

// publish gives a copy of e to the subscriptions that want it, and drops those that it does not fit. woke says that
// somebody waited for it.
func (c *Client) publish(e *wirev2.Event) (woke bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var own wirev2.Event
	taken := false
	c.subs = slices.DeleteFunc(c.subs, func(s *Subscription) bool {
		if s.match != nil && !s.match(e) {
			return false
		}
		if !taken {
			own, taken = e.Clone(), true
		}
		fits, waited := s.put(own, c.options.MaxQueueRecords, c.options.MaxQueueBytes)
		woke = woke || waited
		return !fits
	})
	if !taken {
		c.dropped++
	}
	return woke
}

func (s *Subscription) put(e wirev2.Event, maxRecords, maxBytes int) (fits, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= maxRecords || s.bytes+len(e.Payload) > maxBytes {
		s.finishLocked(ErrSlow)
		return false, false
	}
	s.queue = append(s.queue, e)
	s.bytes += len(e.Payload)
	s.signal()
	waited, s.waits = s.waits, false
	return true, waited
}

func (s *Subscription) finish(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishLocked(reason)
}

func (s *Subscription) finishLocked(reason error) {
	if s.end == nil {
		s.end = reason
	}
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next returns the next event, which may be kept but not changed. When there is none left it returns why: ErrSlow,
// ErrClosed, a *DisconnectError; and the context's error when that ends first, after which reading may go on.
func (s *Subscription) Next(ctx context.Context) (wirev2.Event, error) {
	for {
		if e, ok, err := s.take(); ok || err != nil {
			return e, err
		}
		if err := s.c.wait(ctx, s.ready, true); err != nil {
			return wirev2.Event{}, err
		}
	}
}

func (s *Subscription) take() (wirev2.Event, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.waits = true
		return wirev2.Event{}, false, s.end
	}
	e := s.queue[0]
	s.queue[0] = wirev2.Event{}
	s.bytes -= len(e.Payload)
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return e, true, nil
}

// Close ends the subscription: what it holds is dropped and Next returns ErrClosed.
func (s *Subscription) Close() {
	s.c.mu.Lock()
	s.c.subs = slices.DeleteFunc(s.c.subs, func(other *Subscription) bool { return other == s })
	s.c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.bytes, s.end = nil, 0, ErrClosed
	s.signal()
	if s.waits {
		_ = s.c.conn.SetReadDeadline(past) // who waits may be who reads
	}
}
