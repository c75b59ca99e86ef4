package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

// How long a connection may take (wire-v2 1, 2).
const (
	initializeTimeout = 10 * time.Second
	writeTimeout      = 10 * time.Second
	flushBroken       = time.Second     // after a broken record
	flushEnd          = 5 * time.Second // after the end of input
)

// Reasons that more than one place gives.
const reasonEnd = "end of input"

// conn is one connection. It is the [coordinator.Outbox] of its coordinator connection.
//
// A conn is safe for concurrent use.
type conn struct {
	server  *Server
	network net.Conn
	id      wirev2.ID
	queue   *queue
	closing sync.Once

	// Of who has the queue's pen.
	socket *direct // nil where the connection is no socket
	buffer []byte

	// The reader's own.
	peer       *coordinator.Conn // nil until initialised
	negotiated []wirev2.Capability
	selected   bool

	encodedOffer jsontext.Value // the reply to capabilities, which never changes
}

func newConn(s *Server, network net.Conn) *conn {
	return &conn{server: s, network: network, id: wirev2.NewID(), queue: newQueue(), socket: newDirect(network)}
}

// serve runs the connection to its end.
func (c *conn) serve() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	reason, linger := c.read()
	if c.peer != nil {
		// Control and executor attachment are free from here on, whatever is still to
		// be flushed (wire-v2 2).
		c.server.opts.Coordinator.Disconnect(c.peer)
	}
	<-written
	if linger > 0 {
		c.lingerUntil(time.Now().Add(linger))
	}
	c.close()
	c.logEnd(reason)
}

func (c *conn) logEnd(reason string) {
	if death := c.queue.death(); death != "" {
		reason = death
	}
	if reason == reasonEnd {
		c.server.log.Debug("connection closed", "connection", string(c.id), "reason", reason)
		return
	}
	c.server.log.Warn("connection closed", "connection", string(c.id), "reason", reason)
}

// flushFor bounds the time the writer has from now on.
func (c *conn) flushFor(d time.Duration) {
	time.AfterFunc(d, func() { c.cut("not flushed in " + d.String()) })
}

// finish ends the connection from our side: what is queued leaves, nothing is taken.
func (c *conn) finish(reason string) {
	c.queue.seal(nil)
	c.flushFor(flushEnd)
	// The reader is woken by a deadline in the past and finds the queue sealed.
	if err := c.network.SetReadDeadline(time.Unix(1, 0)); err != nil {
		c.cut(reason)
	}
}

// cut ends the connection now.
func (c *conn) cut(reason string) {
	c.queue.disconnect(reason)
	c.close()
}

func (c *conn) close() {
	c.closing.Do(func() {
		if err := c.network.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			c.server.log.Warn("connection not closed well", "connection", string(c.id), "error", err.Error())
		}
	})
}

// lingerUntil reads on and throws away, after our output has ended, so that the peer reads
// our last record and then the end of input, not a reset for bytes it had
// sent and nobody read.
func (c *conn) lingerUntil(deadline time.Time) {
	half, ok := c.network.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.network.SetReadDeadline(deadline) != nil {
		return
	}
	if _, err := io.Copy(io.Discard, onlyReader{c.network}); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.log.Debug("connection ended while it was drained", "connection", string(c.id), "error", err.Error())
	}
}

// onlyReader hides the methods that would let io.Copy splice the connection.
type onlyReader struct{ io.Reader }
