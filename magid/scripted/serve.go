package scripted

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// conn is one connection being served.
type conn struct {
	s    *Server
	c    net.Conn
	gone chan struct{} // closed when the client has hung up while a reply runs
}

// errEnd is how a step that ends the connection ends a reply.
var errEnd = errors.New("scripted: the script ends the connection here")

// serve answers the requests of one connection, one after the other.
func (s *Server) serve(c net.Conn) {
	limited := &io.LimitedReader{R: c}
	r := bufio.NewReader(limited)
	for {
		limited.N = headBytes + int64(s.limits.RequestBytes)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, int64(s.limits.RequestBytes)+1))
		if err != nil {
			return
		}
		record, reply, format := s.choose(req, body)
		keep := !req.Close && len(body) <= s.limits.RequestBytes && (reply.Framing == Chunked || reply.Framing == Length)

		// The next byte of the client, or its end, is waited for beside the reply:
		// so a client that hangs up ends a reply that waits.
		k := &conn{s: s, c: c, gone: make(chan struct{})}
		peeked := make(chan error, 1)
		s.running.Go(func() {
			_, err := r.Peek(1)
			if err != nil {
				close(k.gone)
			}
			peeked <- err
		})
		owed, err := k.play(format, reply, keep)
		*record.hungUp = owed && err == errHungUp
		close(record.ended)
		if err != nil || !keep {
			_ = c.Close()
			<-peeked
			return
		}
		if <-peeked != nil {
			return
		}
	}
}

// choose records a request and decides its reply. Requests are numbered in the
// order in which their replies are chosen.
func (s *Server) choose(req *http.Request, body []byte) (Request, Reply, Format) {
	s.turn.Lock()
	defer s.turn.Unlock()
	record := Request{
		At:     time.Now(),
		Method: req.Method,
		Path:   req.URL.Path,
		Header: req.Header,
		Body:   body,
		ended:  make(chan struct{}),
		hungUp: new(bool),
	}
	s.mu.Lock()
	record.Number = len(s.requests) + 1
	full := record.Number > s.limits.Requests
	s.mu.Unlock()

	format, known := formatOf(record.Path)
	var reply Reply
	switch {
	case full:
		return record, ErrorReply(http.StatusServiceUnavailable, "scripted: no more requests are kept"), format
	case len(body) > s.limits.RequestBytes:
		record.Body = nil
		reply = ErrorReply(http.StatusRequestEntityTooLarge, "scripted: the request is too large")
	case !known:
		reply = ErrorReply(http.StatusNotFound, "scripted: no model is served at this path")
	case req.Method != http.MethodPost:
		reply = ErrorReply(http.StatusMethodNotAllowed, "scripted: the method must be POST", Field{"Allow", http.MethodPost})
	default:
		reply = s.reply(record)
	}
	if reply.Framing != Raw {
		record.Status = reply.status()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, record)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return record, reply, format
}

// reply takes the reply of Respond, else the script's next.
func (s *Server) reply(r Request) Reply {
	if s.respond != nil {
		if reply, ok := s.respond(r); ok {
			return reply
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == len(s.replies) && s.loop {
		s.used = 0
	}
	if s.used >= len(s.replies) {
		return ErrorReply(http.StatusInternalServerError, "scripted: the script has no more replies")
	}
	s.used++
	return s.replies[s.used-1]
}
