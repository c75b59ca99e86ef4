package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/socket"
)

// listener hands out connections and errors in the order a test puts them.
type listener struct {
	arrivals chan any // net.Conn or error
	closed   chan struct{}
	once     sync.Once

	mu       sync.Mutex
	deadline time.Time
	accepts  int
}

func (w *world) listener() *listener {
	l := &listener{arrivals: make(chan any, 1024), closed: make(chan struct{})}
	w.listeners = append(w.listeners, l)
	return l
}

func (l *listener) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = t
	return nil
}

func (l *listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	l.accepts++
	deadline := l.deadline
	l.mu.Unlock()
	var expired <-chan time.Time
	if !deadline.IsZero() {
		if !deadline.After(time.Now()) { // as a real one: a deadline that has passed hides what waits
			return nil, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case arrival := <-l.arrivals:
		if err, failed := arrival.(error); failed {
			return nil, err
		}
		return arrival.(net.Conn), nil
	case <-expired:
		return nil, os.ErrDeadlineExceeded
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{} }

func (w *world) knock(l *listener) *client {
	near, far := newDuplex()
	l.arrivals <- far
	return &client{w.t, near, nil}
}

// complaint: 57 openai/codex#18255 - a benign accept error ended the loop and with it the service
// rule: M-134
func TestComplaint57Codex18255AcceptErrorsDoNotEndTheLoop(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.listener()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(l) }()
		for _, errno := range []syscall.Errno{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EINTR, syscall.EPROTO} {
			before := w.server.Connections()
			l.arrivals <- &net.OpError{Op: "accept", Net: "unix", Err: os.NewSyscallError("accept4", errno)}
			w.knock(l)
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			require.Equal(t, before+1, w.server.Connections(), errno.Error())
		}
		l.arrivals <- fmt.Errorf("%w (user 4711)", socket.ErrForeignPeer)
		before := w.server.Connections()
		w.knock(l)
		synctest.Wait()
		require.Equal(t, before+1, w.server.Connections(), "a refused peer costs nobody a wait")
		require.NoError(t, l.Close())
		require.NoError(t, <-ended)
	})
}

// rule: M-134
func TestAcceptLoopBacksOffWhileErrorsLast(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.listener()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(l) }()
		for range 100 {
			l.arrivals <- syscall.EMFILE
		}
		time.Sleep(60 * time.Second)
		synctest.Wait()
		l.mu.Lock()
		accepts := l.accepts
		l.mu.Unlock()
		require.InDelta(t, 68, accepts, 3, "from 5 ms to a second, then one a second")
		require.NoError(t, l.Close())
		require.NoError(t, <-ended)
	})
}

// rule: W-062
func TestThe513thConnectionIsClosedUnanswered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var clients []*client
		for range 512 {
			clients = append(clients, w.dial())
		}
		require.Equal(t, 512, w.server.Connections())
		w.dial().ends()
		require.Equal(t, 512, w.server.Connections())
		require.Empty(t, clients[511].code(initialize("n", "1", "[]")), "the 512th is served")
		require.NoError(t, clients[0].conn.Close())
		synctest.Wait()
		require.Empty(t, w.dial().code(initialize("n", "1", "[]")), "a place that is free again is used")
	})
}

func idleWorld(t *testing.T, timeout time.Duration, idle func() (time.Time, bool), test func(t *testing.T, w *world, l *listener, ended chan error)) {
	t.Helper()
	inBubbleWith(t, func(o *Options) { o.IdleTimeout, o.Idle = timeout, idle }, func(t *testing.T, w *world) {
		l := w.listener()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Serve(l) }()
		test(t, w, l, ended)
	})
}

func running(t *testing.T, ended chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		require.Fail(t, "the server has ended", "%v", err)
	default:
	}
}

// rule: M-020
func TestWithoutAnIdleTimeServeGoesOn(t *testing.T) {
	idleWorld(t, 0, nil, func(t *testing.T, w *world, l *listener, ended chan error) {
		time.Sleep(10000 * time.Hour)
		running(t, ended)
		require.NoError(t, l.Close())
		require.NoError(t, <-ended)
	})
}

// rule: M-021, M-022
func TestIdleTimeRunsFromTheLastConnection(t *testing.T) {
	idleWorld(t, 30*time.Minute, nil, func(t *testing.T, w *world, l *listener, ended chan error) {
		time.Sleep(20 * time.Minute)
		c := w.knock(l)
		time.Sleep(5 * time.Second)
		require.NoError(t, c.conn.Close())
		time.Sleep(30*time.Minute - time.Second)
		running(t, ended)
		time.Sleep(time.Second)
		require.ErrorIs(t, <-ended, ErrIdle)
	})
	idleWorld(t, 30*time.Minute, nil, func(t *testing.T, w *world, l *listener, ended chan error) {
		time.Sleep(30*time.Minute - time.Millisecond)
		running(t, ended)
		time.Sleep(time.Millisecond)
		require.ErrorIs(t, <-ended, ErrIdle, "a daemon that nobody ever called goes, too")
	})
}

// rule: M-022
func TestConnectionOrTurnPreventsTheIdleExit(t *testing.T) {
	var busy struct {
		sync.Mutex
		until time.Time
		turn  bool
	}
	idle := func() (time.Time, bool) {
		busy.Lock()
		defer busy.Unlock()
		return busy.until, !busy.turn
	}
	busy.turn = true
	idleWorld(t, 30*time.Minute, idle, func(t *testing.T, w *world, l *listener, ended chan error) {
		w.knock(l)
		c, _ := w.initialized()
		time.Sleep(10 * time.Hour) // connected
		running(t, ended)
		require.NoError(t, c.conn.Close())
		time.Sleep(10 * time.Hour) // alone, with a turn running
		running(t, ended)
		busy.Lock()
		busy.turn, busy.until = false, time.Now()
		busy.Unlock()
		time.Sleep(30*time.Minute - time.Millisecond)
		running(t, ended)
		time.Sleep(time.Minute)
		require.ErrorIs(t, <-ended, ErrIdle)
	})
}

// rule: M-139
func TestIdleExitLosesNoConnection(t *testing.T) {
	idleWorld(t, 30*time.Minute, nil, func(t *testing.T, w *world, l *listener, ended chan error) {
		time.Sleep(30*time.Minute - time.Nanosecond)
		near, far := newDuplex()
		go func() {
			time.Sleep(time.Nanosecond) // the very moment of the exit
			l.arrivals <- far
		}()
		time.Sleep(time.Second)
		select {
		case err := <-ended:
			// Then it is still in the listener's queue, for whoever serves it next.
			require.ErrorIs(t, err, ErrIdle)
			require.Len(t, l.arrivals, 1)
		default:
			c := &client{t, near, nil}
			require.Equal(t, 1, w.server.Connections())
			require.NoError(t, c.conn.Close())
		}
		_ = errors.Join(near.Close(), l.Close())
	})
}
