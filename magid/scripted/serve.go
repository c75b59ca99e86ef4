package scripted

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
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
		a := s.choose(req, body)
		keep := !req.Close && len(body) <= s.limits.RequestBytes && (a.reply.Framing == Chunked || a.reply.Framing == Length)

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
		owed, err := k.play(a, keep)
		*a.record.hungUp = owed && err == errHungUp
		close(a.record.ended)
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

// exchange is a request and what it gets.
type exchange struct {
	record Request
	reply  Reply
	format Format
}

func (a exchange) writer() *writer {
	model := ""
	if a.format != Chat { // which names none
		model = read[asked](a.record.Body).Model
	}
	return a.format.writer(a.record.Number, model)
}

// choose records a request and decides its reply. Requests are numbered in the
// order in which their replies are chosen.
func (s *Server) choose(req *http.Request, body []byte) exchange {
	s.turn.Lock()
	defer s.turn.Unlock()
	a := exchange{record: Request{
		At:     time.Now(),
		Method: req.Method,
		Path:   req.URL.Path,
		Query:  req.URL.RawQuery,
		Header: req.Header,
		Body:   body,
		ended:  make(chan struct{}),
		hungUp: new(bool),
	}}
	s.mu.Lock()
	a.record.Number = len(s.requests) + 1
	full := a.record.Number > s.limits.Requests
	s.mu.Unlock()

	var known bool
	a.format, known = formatOf(a.record.Path)
	reply, beside := aside(a.record)
	switch {
	case full:
		a.reply = ErrorReply(http.StatusServiceUnavailable, "scripted: no more requests are kept")
		return a
	case len(body) > s.limits.RequestBytes:
		a.record.Body = nil
		a.reply = ErrorReply(http.StatusRequestEntityTooLarge, "scripted: the request is too large")
	case beside:
		a.reply = reply
	case !known:
		a.reply = ErrorReply(http.StatusNotFound, "scripted: no model is served at this path")
	case req.Method != http.MethodPost:
		a.reply = ErrorReply(http.StatusMethodNotAllowed, "scripted: the method must be POST", Field{"Allow", http.MethodPost})
	default:
		a.reply = s.reply(a.record)
	}
	if a.reply.Framing != Raw {
		a.record.Status = a.reply.status()
	}
	if s.record != nil {
		s.record(a.record)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, a.record)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return a
}

// aside answers what model servers tell beside models' replies. It uses up no
// reply of the script.
func aside(r Request) (Reply, bool) {
	body := ""
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/models"):
		// OpenAI's list and Codex's, both empty: every model's name is accepted.
		body = `{"object":"list","data":[],"models":[]}`
	case r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/messages/count_tokens"):
		body = `{"input_tokens":` + strconv.Itoa(1+len(r.Body)/4) + `}`
	default:
		return Reply{}, false
	}
	return Reply{Header: []Field{{"Content-Type", "application/json"}}, Framing: Length, Steps: []Step{Write(body)}}, true
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
