package client

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// lead is about who reads the connection. Who waits for something reads until it is there: the answer of a call then
// costs no change of goroutines, which would cost more than all else that is done with it. One reads at a time; the others
// wait for what they want, or for their turn to read. While nobody waits, a goroutine of the Client reads aside, so that
// subscriptions fill and an end is noticed. As soon as it has woken somebody it leaves the reading to those who wait, and
// takes it up again when nobody has read for a grace.
type lead struct {
	free   chan struct{} // holds a token while nobody reads
	left   atomic.Uint64 // how often the token was given back
	asleep atomic.Bool   // the reading aside waits for wake
	wake   chan struct{} // has a token from who gave the other one back while it was asleep

	// Of who reads.
	watched <-chan struct{} // of the context whose end interrupts the read
	unwatch func() bool
}

// grace is how long the connection is not read where nobody waits for anything, before it is read aside. What comes
// meanwhile stays in the kernel.
const grace = 10 * time.Millisecond

// past interrupts a read.
var past = time.Unix(1, 0)

func (l *lead) init() {
	l.free, l.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	l.free <- struct{}{}
	l.asleep.Store(true)
}

// wait waits for a token in ready, which it takes, or for the end of ctx, whose error it returns. Who yields may wait
// for long: having read what somebody else waited for, it leaves the reading to others.
func (c *Client) wait(ctx context.Context, ready <-chan struct{}, yields bool) error {
	free := c.lead.free
	for {
		select {
		case <-ready:
			return nil
		default: // who read before may have read what we wait for
		}
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-free:
			err := c.readFor(ctx, ready, yields)
			c.leave()
			if err != nil {
				return err
			}
			if yields {
				free = nil
			}
		}
	}
}

// leave lets somebody else read.
func (c *Client) leave() {
	c.lead.left.Add(1)
	c.lead.free <- struct{}{} // has room: only who took the token gives it back
	if c.lead.asleep.Load() && c.lead.asleep.CompareAndSwap(true, false) {
		c.lead.wake <- struct{}{} // has room: who fell asleep has emptied it
	}
}

// readFor reads until there is a token in ready, ctx or the connection ends, or, where it yields, until it has read what
// somebody else waited for.
func (c *Client) readFor(ctx context.Context, ready <-chan struct{}, yields bool) error {
	c.watch(ctx)
	for len(ready) == 0 {
		woke, err := c.readOne()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err = c.resume(ctx); err != nil {
				return err
			}
		case err != nil:
			c.end(&DisconnectError{err})
			return nil
		case woke && yields:
			return nil
		}
	}
	return nil
}

// resume goes on after an interruption, which may have been meant for who read before.
func (c *Client) resume(ctx context.Context) error {
	// The deadline is taken back before ctx is looked at: in this order the end of ctx is not missed.
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		c.end(&DisconnectError{err})
	}
	return ctx.Err()
}

// watch sees to it that the end of ctx interrupts a read. That is kept for the next read with the same context: most
// callers have one for many calls.
func (c *Client) watch(ctx context.Context) {
	done := ctx.Done()
	if done == c.lead.watched {
		return
	}
	if c.lead.unwatch != nil {
		c.lead.unwatch()
		c.lead.unwatch = nil
	}
	if c.lead.watched = done; done != nil {
		c.lead.unwatch = context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(past) })
	}
}

// readAside reads while nobody waits, until the connection ends.
func (c *Client) readAside() {
	defer func() {
		<-c.lead.free // who reads ends with the connection
		c.watch(context.Background())
		c.lead.free <- struct{}{}
	}()
	tick := time.NewTimer(grace)
	defer tick.Stop()
	for c.sleep() {
		for left := c.lead.left.Load(); ; {
			tick.Reset(grace)
			select {
			case <-tick.C:
			case <-c.done:
				return
			}
			if now := c.lead.left.Load(); now != left {
				left = now
				continue
			}
			if !c.takeAside() {
				break // somebody reads, and wakes us
			}
			// The end of the connection is the only error.
			_ = c.readFor(context.Background(), nil, true)
			c.lead.free <- struct{}{}
		}
	}
}

// sleep waits until somebody has read and left. It is false at the end of the connection.
func (c *Client) sleep() bool {
	select {
	case <-c.lead.wake:
		return true
	case <-c.done:
		return false
	}
}

// takeAside takes the reading where nobody has it. Where somebody has, it falls asleep.
func (c *Client) takeAside() bool {
	select {
	case <-c.lead.free:
		return true
	default:
	}
	c.lead.asleep.Store(true)
	select {
	case <-c.lead.free: // was given back meanwhile, perhaps by somebody who saw us awake
		if !c.lead.asleep.CompareAndSwap(true, false) {
			<-c.lead.wake
		}
		return true
	default:
		return false
	}
}
