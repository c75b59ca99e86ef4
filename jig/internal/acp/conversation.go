package acp

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
)

// conversation carries one conversation between the two channels and a scope. One
// goroutine, the one of run, owns the machine and decides; five carry bytes.
type conversation struct {
	m         *acpprofile.Machine
	l         Limits
	initial   time.Duration // until initialize is answered
	launch    []byte        // the launch frame; zeroed when it is written
	ready     []byte
	scope     Scope
	requests  *channel.Receiver
	responses *channel.Sender
	watch     *watch

	tasks     sync.WaitGroup
	requested chan requested
	heard     chan heard
	write     chan []byte // to the adapter
	send      chan []byte // to the Flow, whole frames
	done      chan ended

	toNative  []line   // not yet handed to the writer
	toAdapter [][]byte // not yet handed to the sender
	held      int      // bytes of toAdapter
	writing   bool     // write is open
	sending   bool     // send is open
	closed    bool     // the requests have ended
	silent    bool     // the adapter's output has ended
	gone      bool     // nothing of the scope is alive
	left      int      // tasks that have not ended
	asked     *time.Timer
	cancelled *time.Timer
	patience  *time.Timer // with a client that should end
	told      bool        // it was told to
	refused   string      // the method that the client answered with an error
}

// line is one line for the adapter; a cancel is written only while it has a
// prompt to stop.
type line struct {
	b      []byte
	cancel bool
}

type requested struct {
	frame []byte // nil: the end
	err   error
}

type heard struct {
	line []byte // nil: the end
	err  error
}

// ended is the end of a task.
type ended struct{ err error }

// heldBytes is how much waits for a Flow that does not read before the adapter
// has to wait too.
const heldBytes = 64 << 10

func newTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// run carries the conversation to its end, which is nil when it has settled, both
// channels have ended and nothing of the scope is alive. Any other end leaves the
// scope to the caller, who fences it and then calls wait.
func (c *conversation) run(ctx context.Context) error {
	c.requested, c.heard = make(chan requested), make(chan heard)
	c.write, c.send = make(chan []byte), make(chan []byte)
	c.done = make(chan ended, 5)
	c.asked, c.cancelled, c.patience = newTimer(), newTimer(), newTimer()
	for _, t := range []*time.Timer{c.asked, c.cancelled, c.patience} {
		defer t.Stop()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.writing, c.sending = true, true
	for _, task := range []func(context.Context) error{c.readRequests, c.readNative, c.writeNative, c.sendResponses, c.drainErrors} {
		c.left++
		c.tasks.Go(func() { c.done <- ended{task(ctx)} })
	}
	return c.loop(ctx)
}

// wait returns when nothing of the conversation runs any more.
func (c *conversation) wait() { c.tasks.Wait() }

// loop takes what happens, one thing after the other.
func (c *conversation) loop(ctx context.Context) error {
	gone := c.scope.Ended()
	for {
		c.tidy()
		if c.left == 0 && c.gone {
			return nil
		}
		var write, send chan<- []byte
		var next, answer []byte
		if len(c.toNative) > 0 {
			write, next = c.write, c.toNative[0].b
		}
		if len(c.toAdapter) > 0 {
			send, answer = c.send, c.toAdapter[0]
		}
		listen := c.heard
		if c.held > heldBytes {
			listen = nil
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r := <-c.requested:
			err = c.request(r)
		case h := <-listen:
			err = c.native(h)
		case write <- next:
			c.toNative = c.toNative[1:]
		case send <- answer:
			c.toAdapter = c.toAdapter[1:]
			c.held -= len(answer)
		case e := <-c.done:
			c.left--
			err = e.err
		case <-gone:
			gone, c.gone = nil, true
			c.patience.Stop()
		case <-c.asked.C:
			err = &late{c.m.Pending()}
		case <-c.cancelled.C:
			err = &late{"session/cancel"}
		case <-c.patience.C:
			c.impatient()
		}
		if err != nil {
			return err
		}
	}
}

// tidy drops cancels that came to nothing and ends what has nothing left to do.
func (c *conversation) tidy() {
	if !c.m.Cancelling() {
		kept := c.toNative[:0]
		for _, l := range c.toNative {
			if !l.cancel {
				kept = append(kept, l)
			}
		}
		c.toNative = kept
	}
	if c.writing && (c.closed || c.silent) && len(c.toNative) == 0 {
		c.writing = false
		close(c.write)
	}
	if c.sending && c.silent && len(c.toAdapter) == 0 {
		c.sending = false
		close(c.send)
	}
}

// request takes one frame of the Flow, or the end of them.
func (c *conversation) request(r requested) error {
	if r.err != nil {
		return r.err
	}
	if r.frame == nil {
		pending := c.m.Pending()
		if err := c.m.AdapterEOF(); err != nil {
			return &broken{err, during(pending), ruleEnd}
		}
		c.closed = true
		c.watch.phase("closing", 0)
		// It gets its time to end by itself, and no signal before (jig.md 7): a
		// signal can cost what the client means to write last.
		if !c.gone {
			c.patience.Reset(c.l.Close)
		}
		return nil
	}
	d, err := c.m.Adapter(r.frame)
	if err != nil {
		return asked(err, r.frame)
	}
	if c.silent && len(d.ToNative) > 0 {
		return &breach{"a request came when the client had gone", false}
	}
	for _, b := range d.ToNative {
		c.toNative = append(c.toNative, line{b, d.Cancel})
	}
	if d.Cancel {
		c.cancelled.Reset(c.l.Cancel)
		c.watch.phase("cancelling", 0)
		return nil
	}
	if !d.Consumed {
		c.expect()
	}
	return nil
}

// expect bounds the time until what is pending is answered. A prompt has only the
// deadline.
func (c *conversation) expect() {
	var d time.Duration
	switch c.m.Pending() {
	case "initialize":
		d = c.initial
		c.watch.phase("initializing", 0)
	case "session/new", "session/resume":
		d = c.l.Start
		c.watch.phase("starting the session", 0)
	case "session/set_config_option", "session/set_mode":
		d = c.l.Configuration
		c.watch.phase("configuring", 0)
	case "session/close":
		d = c.l.Close
	case "session/prompt":
		c.watch.turn()
	}
	if d > 0 {
		c.asked.Reset(d)
	}
}

// native takes one line of the adapter, or the end of them.
func (c *conversation) native(h heard) error {
	if h.err != nil {
		return h.err
	}
	if h.line == nil {
		c.silent = true
		pending := c.m.Pending()
		if err := c.m.NativeEOF(); err != nil {
			return &broken{err, during(pending), ruleStop}
		}
		return nil
	}
	pending := c.m.Pending()
	d, err := c.m.Native(h.line)
	if err != nil {
		return answered(err, h.line, pending)
	}
	if c.m.Pending() == "" {
		c.asked.Stop()
		if pending != "" && isError(d.ToAdapter) {
			c.refused = pending
		}
		if pending == "session/prompt" {
			c.watch.rests()
		}
	}
	if !c.m.Prompting() {
		c.cancelled.Stop()
	}
	if c.writing { // a refusal that nobody can read any more is not written
		for _, b := range d.ToNative {
			c.toNative = append(c.toNative, line{b, false})
		}
	}
	for _, b := range d.ToAdapter {
		c.toAdapter = append(c.toAdapter, b)
		c.held += len(b)
		c.watch.frame(b)
	}
	return nil
}

// isError says whether an answer is one: the machine writes each of them anew, and
// these bytes stand in no string.
func isError(frames [][]byte) bool {
	return len(frames) > 0 && bytes.Contains(frames[0], []byte(`,"error":{"code":`))
}

// impatient ends a client that does not end by itself: first through its adapter,
// and then with everything around it.
func (c *conversation) impatient() {
	if c.told {
		c.scope.Kill()
		return
	}
	c.told = true
	c.scope.Terminate()
	c.patience.Reset(c.l.Terminate)
}

// late is a request that was not answered in its time.
type late struct{ method string }

func (l *late) Error() string { return "acp: no answer to " + l.method + " in time" }

// lost is a channel that failed.
type lost struct {
	which string
	err   error
}

func (l *lost) Error() string { return "acp: the " + l.which + " channel: " + l.err.Error() }
func (l *lost) Unwrap() error { return l.err }
