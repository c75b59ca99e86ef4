package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/wirev2"
)

const maxConnections = 512

// Coordinator is what stands behind the connections; [coordinator.Coordinator] is it.
type Coordinator interface {
	Connect(id wirev2.ID, selected bool, out coordinator.Outbox) *coordinator.Conn
	Handle(conn *coordinator.Conn, q wirev2.Request)
	Disconnect(conn *coordinator.Conn)
}

// Options say how a server serves.
type Options struct {
	Instance    wirev2.ID    // required
	Version     string       // required; at most 64 bytes
	Coordinator Coordinator  // required
	Log         *slog.Logger // optional; nil means no log
	// Profile offers application_resources_v1. Without it the token is one the daemon
	// does not know.
	Profile bool
	// MaxReplies is shown as max_provider_replies; 0 means the default.
	MaxReplies int
	// IdleTimeout ends Serve when nobody needed the daemon for so long; 0 means never.
	IdleTimeout time.Duration
	// Idle is optional: it says since when nothing but connections needed the daemon,
	// and whether that is so.
	Idle func() (since time.Time, ok bool)
}

// Server holds the daemon's connections.
//
// A Server is safe for concurrent use.
type Server struct {
	opts   Options
	log    *slog.Logger
	limits wirev2.Limits

	mu      sync.Mutex
	conns   map[*conn]struct{} // guarded by mu
	stopped bool               // guarded by mu
	quiet   time.Time          // when the last connection ended; guarded by mu
	gone    sync.WaitGroup
}

// New makes a server.
func New(o Options) (*Server, error) {
	switch {
	case !o.Instance.Valid():
		return nil, errors.New("server: an instance id is required")
	case o.Version == "":
		return nil, errors.New("server: a version is required")
	case o.Coordinator == nil:
		return nil, errors.New("server: a coordinator is required")
	case o.MaxReplies < 0 || o.IdleTimeout < 0:
		return nil, errors.New("server: negative limit")
	}
	s := &Server{opts: o, log: o.Log, limits: wirev2.DefaultLimits(), conns: make(map[*conn]struct{}), quiet: time.Now()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.MaxReplies > 0 {
		s.limits.MaxProviderReplies = int64(o.MaxReplies)
	}
	return s, nil
}

// ServeConn serves one connection in a goroutine of its own, or closes it without a byte
// where 512 are served already or the server has been stopped.
func (s *Server) ServeConn(network net.Conn) {
	c := newConn(s, network)
	s.mu.Lock()
	full := len(s.conns) >= maxConnections
	if full || s.stopped {
		s.mu.Unlock()
		if full {
			s.log.Warn("connection refused", "reason", "512 connections are served")
		}
		c.close()
		return
	}
	s.conns[c] = struct{}{}
	s.gone.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.gone.Done()
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
		s.quiet = time.Now()
	}()
}

// Connections counts the connections served now, initialised or not.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Stop takes no further connection, lets what is queued leave, for at most [flushEnd]
// or until ctx is done, and closes every connection.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	for c := range s.conns {
		c.finish("daemon stops")
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.gone.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.conns {
			c.cut("daemon stops")
		}
		s.mu.Unlock()
		<-done
		return ctx.Err()
	}
}
