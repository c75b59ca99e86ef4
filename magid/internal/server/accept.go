package server

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/socket"
)

// How long the accept loop waits after an error, doubled up to the longest.
const (
	firstBackOff   = 5 * time.Millisecond
	longestBackOff = time.Second
)

// idleCheck is how often a daemon that is due for its idle exit but busy looks again.
const idleCheck = 30 * time.Second

// ErrIdle ends [Server.Serve] when nobody needed the daemon for its idle time. No connection was
// lost: those that have been accepted are none, and those in the kernel's queue
// have not been touched.
var ErrIdle = errors.New("idle")

// Listener is what [Server.Serve] accepts from; [socket.Listener] is one.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Serve accepts connections until the listener is closed or the server is idle. No error
// of a single accept ends it: a peer that gave up (ECONNABORTED) or a lack of
// descriptors (EMFILE) passes (magid: Process hygiene).
func (s *Server) Serve(l Listener) error {
	wait := time.Duration(0)
	for {
		if err := l.SetDeadline(s.nextIdleCheck()); err != nil && errors.Is(err, net.ErrClosed) {
			return nil
		}
		network, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			s.ServeConn(network)
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if s.idle() && s.nobodyKnocks(l) {
				return ErrIdle
			}
		case errors.Is(err, socket.ErrForeignPeer):
			s.log.Warn("connection refused", "reason", err.Error())
		default:
			wait = min(max(2*wait, firstBackOff), longestBackOff)
			s.log.Warn("accept failed, going on", "error", err.Error(), "wait", wait)
			time.Sleep(wait)
		}
	}
}

// nextIdleCheck is when Accept has to come back for a look at the idle time; the zero
// time is never.
func (s *Server) nextIdleCheck() time.Time {
	if s.opts.IdleTimeout == 0 {
		return time.Time{}
	}
	since, quiet := s.quietSince()
	soon := time.Now().Add(min(idleCheck, s.opts.IdleTimeout))
	if !quiet {
		return soon
	}
	if due := since.Add(s.opts.IdleTimeout); due.After(time.Now()) {
		return due
	}
	return time.Now()
}

func (s *Server) idle() bool {
	since, quiet := s.quietSince()
	return quiet && time.Since(since) >= s.opts.IdleTimeout
}

// quietSince says since when the daemon has had no connection and nothing else to do.
func (s *Server) quietSince() (time.Time, bool) {
	s.mu.Lock()
	since, quiet := s.quiet, len(s.conns) == 0
	s.mu.Unlock()
	if !quiet {
		return time.Time{}, false
	}
	if s.opts.Idle != nil {
		busyUntil, idle := s.opts.Idle()
		if !idle {
			return time.Time{}, false
		}
		if busyUntil.After(since) {
			since = busyUntil
		}
	}
	return since, true
}

// nobodyKnocks takes a connection that came while we made up our mind. The deadline that
// just passed kept Accept from seeing it.
func (s *Server) nobodyKnocks(l Listener) bool {
	if err := l.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	network, err := l.Accept()
	if err != nil {
		return true
	}
	s.ServeConn(network)
	return false
}
