package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/wirev2"
)

// ErrClosed is the error of a Client and of a Subscription after their Close.
var ErrClosed = errors.New("closed")

// DisconnectError says why the connection ended: its cause is io.EOF, a network error, wirev2.ErrInvalidRecord or
// ErrInvalidEnvelope, or the daemon's *wirev2.Error about a record it could not read.
type DisconnectError struct{ cause error }

// Error names the cause.
func (e *DisconnectError) Error() string { return "disconnected: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *DisconnectError) Unwrap() error { return e.cause }

// Options are what a Client is made with. In a limit 0 means the default; a negative value is an error.
type Options struct {
	Name         string              // required; the program's name, 1 to 64 bytes
	Version      string              // required; 1 to 64 bytes
	Capabilities []wirev2.Capability // to ask for; see Negotiated

	MaxInFlight     int           // requests sent and not answered; a further call waits; default 64
	MaxQueueRecords int           // events a subscription holds; default 1,024
	MaxQueueBytes   int           // bytes of payload a subscription holds; default 4,194,304
	WriteTimeout    time.Duration // for one write, after which the connection is given up; default 10 s
	Limits          wirev2.Limits // of the records read
}

func (o *Options) fill() error {
	for _, l := range []struct {
		name  string
		value *int
		def   int
	}{
		{"MaxInFlight", &o.MaxInFlight, 64},
		{"MaxQueueRecords", &o.MaxQueueRecords, 1024},
		{"MaxQueueBytes", &o.MaxQueueBytes, 4 << 20},
	} {
		if *l.value < 0 {
			return fmt.Errorf("client: limit %s is negative", l.name)
		}
		if *l.value == 0 {
			*l.value = l.def
		}
	}
	if o.WriteTimeout < 0 {
		return errors.New("client: limit WriteTimeout is negative")
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 10 * time.Second
	}
	return nil
}

// Client is an initialized connection to a daemon. A Client is safe for concurrent use.
type Client struct {
	conn    net.Conn
	options Options
	welcome wirev2.InitializeReply
	slots   chan struct{} // one for each request in flight
	wake    chan struct{} // there is something to write
	done    chan struct{} // closed when the connection has ended
	loops   sync.WaitGroup
	lead    lead
	in      incoming // of who reads
	direct  *direct  // of who writes; nil where the connection is no socket

	mu         sync.Mutex
	instance   wirev2.ID        // guarded by mu
	connection wirev2.ID        // guarded by mu
	requests   uint64           // guarded by mu; request IDs given
	pending    map[string]*call // guarded by mu; by request ID
	queue      []*call          // guarded by mu; pending calls that are not written
	writing    bool             // guarded by mu; somebody writes: owns batch and rest, and may send to wake
	free       []*call          // guarded by mu; for reuse
	subs       []*Subscription  // guarded by mu
	dropped    int64            // guarded by mu
	err        error            // guarded by mu; why the connection ended

	batch []byte // what is being written
	rest  []byte // what of it is not written yet
}

// Dial connects to the daemon's Unix socket and initializes the connection.
func Dial(ctx context.Context, path string, options Options) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return New(ctx, conn, options)
}

// New initializes conn, which it then owns, also when it fails.
func New(ctx context.Context, conn net.Conn, options Options) (*Client, error) {
	c := &Client{
		conn: conn, options: options, direct: newDirect(conn),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		pending: make(map[string]*call),
	}
	c.lead.init()
	if err := c.options.fill(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	reader, err := wirev2.NewReader(conn, options.Limits)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.slots = make(chan struct{}, c.options.MaxInFlight)
	c.in = c.newIncoming(reader)
	c.loops.Go(c.readAside)
	c.loops.Go(c.write)
	err = c.Call(ctx, &Call{Method: wirev2.MethodInitialize}, wirev2.InitializeRequest{
		Client:                wirev2.ClientInfo{Name: options.Name, Version: options.Version},
		RequestedCapabilities: options.Capabilities,
	}, &c.welcome)
	if err == nil {
		err = c.checkWelcome()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// checkWelcome holds the daemon to what was asked for, before anything is done with the connection. (seed: Negotiate)
func (c *Client) checkWelcome() error {
	w := &c.welcome
	for _, token := range w.NegotiatedCapabilities {
		if !slices.Contains(c.options.Capabilities, token) {
			return fmt.Errorf("client: the daemon negotiated %q, which was not asked for", token)
		}
	}
	if !slices.Equal(w.NegotiatedCapabilities, w.Capabilities.NegotiatedCapabilities) {
		return errors.New("client: the daemon's reply names two different selections")
	}
	if selected := c.Negotiated(wirev2.CapabilityApplicationResources); selected != (w.Capabilities.ApplicationCallbacks != nil) {
		return errors.New("client: the daemon's reply and its selection of the profile do not agree")
	}
	return nil
}

// Daemon returns the daemon's name and version.
func (c *Client) Daemon() wirev2.DaemonInfo { return c.welcome.Daemon }

// Capabilities returns what this connection may do, as the daemon's reply to initialize said; do not change it.
func (c *Client) Capabilities() *wirev2.Capabilities { return &c.welcome.Capabilities }

// Negotiated reports whether the daemon took the capability.
func (c *Client) Negotiated(token wirev2.Capability) bool {
	return slices.Contains(c.welcome.NegotiatedCapabilities, token)
}

// InstanceID returns the daemon's instance: a new one means that all that is not durable is gone.
func (c *Client) InstanceID() wirev2.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.instance
}

// ConnectionID returns the daemon's name for this connection.
func (c *Client) ConnectionID() wirev2.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connection
}

// Done returns a channel that is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended: ErrClosed or a *DisconnectError, nil while it lives.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Dropped returns how many events no subscription took.
func (c *Client) Dropped() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// Close disconnects: the daemon frees control and executor at once, and a running turn goes on. Calls that wait end
// with *UnansweredError. It returns when every goroutine of the Client has ended; a second Close does nothing.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.loops.Wait()
	return nil
}

// end ends the connection for the given reason, once.
func (c *Client) end(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = reason
	_ = c.conn.Close()
	close(c.done)
	for id, w := range c.pending {
		delete(c.pending, id)
		c.settle(w, reason)
	}
	c.queue = nil
	for _, s := range c.subs {
		s.finish(reason)
	}
	c.subs = nil
}
