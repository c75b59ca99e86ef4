package scripted

import (
	"context"
	"net/http"
	"time"
)

// Request is one request that a server got. It does not change once it is handed
// out, and must not be changed.
type Request struct {
	// Number is its place in the order of arrival, from 1.
	Number int
	// At is when its last byte had arrived.
	At time.Time
	// Status is what it is being answered with; 0 for a Raw reply.
	Status int
	Method string
	Path   string
	// Query is what stood behind the path, without its question mark.
	Query  string
	Header http.Header
	// Body is the raw body.
	Body []byte

	ended  chan struct{}
	hungUp *bool // written before ended is closed
}

// Ended is closed when the reply has ended, however it did.
func (r Request) Ended() <-chan struct{} { return r.ended }

// HungUp reports, once Ended is closed, whether the client went away before the
// reply's end: before its Done step was out, where it has one. Before that it is
// false.
func (r Request) HungUp() bool {
	select {
	case <-r.ended:
		return *r.hungUp
	default:
		return false
	}
}

// Requests gives the requests so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Next waits for the next request that Next has not given yet.
func (s *Server) Next(ctx context.Context) (Request, error) {
	for {
		s.mu.Lock()
		if s.given < len(s.requests) {
			r := s.requests[s.given]
			s.given++
			s.mu.Unlock()
			return r, nil
		}
		arrived := s.arrived
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-s.done:
			return Request{}, ErrClosed
		case <-ctx.Done():
			return Request{}, context.Cause(ctx)
		}
	}
}
