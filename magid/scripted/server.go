package scripted

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// ErrClosed is returned by a server that has been closed.
var ErrClosed = errors.New("scripted: the server is closed")

// Options makes a server.
type Options struct {
	Script Script
	// Respond is optional: it is asked for each reply ahead of the script, and
	// takes part only where it reports true. It is called by one request at a
	// time and must not call the server.
	Respond func(Request) (Reply, bool)
	// Record is optional: it is called with each request, in their order, before
	// a byte of the reply is written. It must not call the server.
	Record func(Request)
	// TLS serves https, with a certificate for loopback by an authority that the
	// server makes for itself; see [Server.Authority].
	TLS    bool
	Limits Limits
}

// Limits bounds a server. 0 means the default; a negative value is an error.
type Limits struct {
	// Conns is how many connections may be open at once. Default 256.
	Conns int
	// RequestBytes bounds a request's body. Default 16 MiB.
	RequestBytes int
	// Requests is how many requests are answered and kept in all. Default 4,096.
	Requests int
}

const headBytes = 1 << 20 // a request's line and header

// Server serves a script.
//
// A Server is safe for concurrent use.
type Server struct {
	respond func(Request) (Reply, bool)
	record  func(Request)
	tls     *identity // nil without TLS
	limits  Limits
	done    chan struct{} // closed by Close
	running sync.WaitGroup
	turn    sync.Mutex // held while a request is numbered and its reply chosen

	mu       sync.Mutex
	replies  []Reply               // guarded by mu
	loop     bool                  // guarded by mu
	used     int                   // guarded by mu; replies given
	requests []Request             // guarded by mu
	given    int                   // guarded by mu; requests that Next has given
	arrived  chan struct{}         // guarded by mu; closed and replaced with each request
	holds    map[string]*hold      // guarded by mu
	conns    map[net.Conn]struct{} // guarded by mu
	listener net.Listener          // guarded by mu; nil without Start
	closed   bool                  // guarded by mu
}

type hold struct {
	reached  chan struct{}
	released chan struct{}
	isHeld   bool
	isFree   bool
}

// New makes a server that listens nowhere: its connections come from
// [Server.Dial].
func New(o Options) (*Server, error) {
	for _, f := range []struct {
		name      string
		value     *int
		otherwise int
	}{
		{"connections", &o.Limits.Conns, 256},
		{"request bytes", &o.Limits.RequestBytes, 16 << 20},
		{"requests", &o.Limits.Requests, 4096},
	} {
		switch {
		case *f.value < 0:
			return nil, fmt.Errorf("scripted: the limit of %s is negative", f.name)
		case *f.value == 0:
			*f.value = f.otherwise
		}
	}
	var tls *identity
	if o.TLS {
		var err error
		if tls, err = newIdentity(); err != nil {
			return nil, fmt.Errorf("scripted: %w", err)
		}
	}
	return &Server{
		respond: o.Respond,
		record:  o.Record,
		tls:     tls,
		limits:  o.Limits,
		done:    make(chan struct{}),
		replies: append([]Reply(nil), o.Script.Replies...),
		loop:    o.Script.Loop,
		arrived: make(chan struct{}),
		holds:   make(map[string]*hold),
		conns:   make(map[net.Conn]struct{}),
	}, nil
}

// Start makes a server that listens on a free port of loopback.
func Start(o Options) (*Server, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	s.listener = l
	s.running.Add(1)
	go s.accept(l)
	return s, nil
}

// StartReplies is [Start] with nothing but replies.
func StartReplies(replies ...Reply) (*Server, error) {
	return Start(Options{Script: Script{Replies: replies}})
}

// URL is the base URL to configure: it ends in /v1. The one of a server that
// listens nowhere reaches it through [Server.Dial] only.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	if s.listener == nil {
		return scheme + "127.0.0.1/v1"
	}
	return scheme + s.listener.Addr().String() + "/v1"
}

// Dial opens a connection to the server inside the process, whatever the address:
// it fits where a client takes a dialer.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	if !s.take(there) {
		_ = here.Close()
		_ = there.Close()
		return nil, ErrClosed
	}
	return here, nil
}

// Add appends replies to the script.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

// Release lets every reply past the holds of that name, now and later.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holdLocked(name); !h.isFree {
		h.isFree = true
		close(h.released)
	}
}

// Held is closed once a reply has come to a hold of that name.
func (s *Server) Held(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holdLocked(name).reached
}

// Open is the number of connections open at this moment.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Close ends every connection at once and waits until nothing of the server is
// left. Closing again is allowed.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		if s.listener != nil {
			_ = s.listener.Close()
		}
		for c := range s.conns {
			_ = under(c).Close() // at once: TLS would first say goodbye
		}
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// accept serves until the listener is closed. A benign error (a peer that went,
// no file descriptor for a moment) must not end it.
func (s *Server) accept(l net.Listener) {
	defer s.running.Done()
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			if !s.take(c) {
				_ = c.Close()
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-time.After(10 * time.Millisecond):
			case <-s.done:
				return
			}
		}
	}
}

// take starts serving a connection, unless the server is closed or full.
func (s *Server) take(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.limits.Conns {
		return false
	}
	if s.tls != nil {
		c = s.tls.server(c)
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		s.serve(c)
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	})
	return true
}

func (s *Server) holdLocked(name string) *hold {
	h := s.holds[name]
	if h == nil {
		h = &hold{reached: make(chan struct{}), released: make(chan struct{})}
		s.holds[name] = h
	}
	return h
}

// hold marks the hold as reached and gives what releases it; nil never does.
func (s *Server) hold(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holdLocked(name)
	if !h.isHeld {
		h.isHeld = true
		close(h.reached)
	}
	if name == "" {
		return nil
	}
	return h.released
}
