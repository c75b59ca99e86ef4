package client

import (
	"errors"
	"os"
	"time"
)

const (
	// batchBytes is how much is written at once when many calls are queued.
	batchBytes = 64 << 10

	// patience is how long a call writes by itself where the connection is no socket. A write to a daemon that reads is
	// done in microseconds, and doing it in the caller saves a switch to another goroutine; one that takes longer is left
	// to the writer, so that the caller's context keeps its word.
	patience = 20 * time.Millisecond
)

// enqueue makes w pending and sees to it that it is written.
func (c *Client) enqueue(w *call) error {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.pending[w.request.RequestID] = w
	c.queue = append(c.queue, w)
	if c.writing {
		c.mu.Unlock()
		return nil // whoever writes takes it along
	}
	c.writing = true
	c.takeQueued()
	c.mu.Unlock()
	c.writeAtOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rest) == 0 && len(c.queue) == 0 {
		c.writing = false
	} else {
		c.wake <- struct{}{} // has room: it is sent to only by the one who writes
	}
	return nil
}

// write writes what calls did not write themselves, until the connection ends.
func (c *Client) write() {
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		for more := true; more; {
			if len(c.rest) == 0 {
				c.mu.Lock()
				c.takeQueued()
				c.mu.Unlock()
			}
			if c.writeBatch(c.options.WriteTimeout); len(c.rest) > 0 {
				c.end(&DisconnectError{errors.New("the daemon did not read in time")})
				return
			}
			c.mu.Lock()
			more = len(c.queue) > 0 && c.err == nil
			c.writing = more
			c.mu.Unlock()
		}
	}
}

// writeAtOnce writes of c.rest what goes out without waiting for long. The rest is the writer's.
func (c *Client) writeAtOnce() {
	if c.direct == nil {
		c.writeBatch(patience)
		return
	}
	n, err := c.direct.write(c.rest)
	c.rest = c.rest[n:]
	if err != nil {
		c.end(&DisconnectError{err})
	}
}

// writeBatch writes c.rest, and leaves there what could not be written in time.
func (c *Client) writeBatch(limit time.Duration) {
	if len(c.rest) == 0 {
		return // everything that was queued has been given up
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		c.end(&DisconnectError{err})
		return
	}
	n, err := c.conn.Write(c.rest)
	c.rest = c.rest[n:]
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.end(&DisconnectError{err})
	}
}

// takeQueued makes c.rest of queued records, at least one if there is one. The caller holds mu and is the one who writes.
func (c *Client) takeQueued() {
	n := 0
	c.batch = c.batch[:0]
	for _, w := range c.queue {
		if n > 0 && len(c.batch)+len(w.record) > batchBytes {
			break
		}
		c.batch = append(c.batch, w.record...)
		w.sent = true
		n++
	}
	c.rest = c.batch
	rest := copy(c.queue, c.queue[n:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
}
