package scripted

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const question = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"

// ask opens a connection inside the process and sends one request.
func ask(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := s.Dial(t.Context(), "", "")
	require.NoError(t, err)
	_, err = io.WriteString(c, question)
	require.NoError(t, err)
	return c
}

// in runs f in a bubble with a server of these replies.
func in(t *testing.T, replies []Reply, f func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Script: Script{Replies: replies}})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		f(t, s)
	})
}

// withoutDate takes the Date field out of what was read.
func withoutDate(t *testing.T, wire string) string {
	t.Helper()
	before, rest, ok := strings.Cut(wire, "Date: ")
	require.True(t, ok, "%q", wire)
	_, after, _ := strings.Cut(rest, "\r\n")
	return before + after
}

func TestTheBytesOnTheWire(t *testing.T) {
	for _, framing := range []Framing{Chunked, UntilClose, Length, Raw} {
		for _, split := range []int{0, 1, 7} {
			r := Reply{Framing: framing, Split: split, Steps: []Step{Text("hello"), Wait(time.Second), Write("x"), Finish("stop"), Done()}}
			in(t, []Reply{r}, func(t *testing.T, s *Server) {
				c, err := s.Dial(t.Context(), "", "")
				require.NoError(t, err)
				_, err = io.WriteString(c, strings.Replace(question, "Host", "Connection: close\r\nHost", 1))
				require.NoError(t, err)
				wire, err := io.ReadAll(c)
				require.NoError(t, err)
				got := string(wire)
				if framing != Raw {
					got = withoutDate(t, got)
				}
				require.Equal(t, string(r.Wire(Chat)), got)
			})
		}
	}
}

// Over net.Pipe each write is one read.
func TestEachPieceIsAWriteOfItsOwn(t *testing.T) {
	in(t, []Reply{{Framing: Raw, Split: 2, Pace: time.Second, Steps: []Step{Write("abcde"), Write("f")}}}, func(t *testing.T, s *Server) {
		c := ask(t, s)
		began := time.Now()
		var got []string
		b := make([]byte, 100)
		for {
			n, err := c.Read(b)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			got = append(got, fmt.Sprint(string(b[:n]), " after ", time.Since(began)))
		}
		require.Equal(t, []string{"ab after 0s", "cd after 1s", "e after 2s", "f after 3s"}, got)
	})
}

func TestTheHeadGoesOutWhereItIsSaid(t *testing.T) {
	in(t, []Reply{
		{Steps: []Step{Wait(time.Minute), Write("x")}},
		{Steps: []Step{Wait(time.Minute), Head(), Write("x")}},
	}, func(t *testing.T, s *Server) {
		for _, want := range []time.Duration{0, time.Minute} {
			began := time.Now()
			c := ask(t, s)
			_, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, want, time.Since(began))
			require.NoError(t, c.Close())
		}
	})
}

func TestHolds(t *testing.T) {
	in(t, []Reply{{Framing: Raw, Steps: []Step{Write("a"), Hold("gate"), Write("b")}}, {Framing: Raw, Steps: []Step{Hold("gate"), Write("c")}}}, func(t *testing.T, s *Server) {
		c := ask(t, s)
		b := make([]byte, 1)
		_, err := io.ReadFull(c, b)
		require.NoError(t, err)
		<-s.Held("gate")
		synctest.Wait() // nothing more comes by itself
		select {
		case <-s.Requests()[0].Ended():
			require.Fail(t, "the hold did not hold")
		default:
		}
		s.Release("gate")
		s.Release("gate")
		rest, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "b", string(rest))
		<-s.Requests()[0].Ended()
		require.False(t, s.Requests()[0].HungUp())
		rest, err = io.ReadAll(ask(t, s))
		require.NoError(t, err)
		require.Equal(t, "c", string(rest), "a released hold stays released")
	})
}

func TestAClientThatHangsUpEndsItsReply(t *testing.T) {
	for name, steps := range map[string][]Step{
		"hold":    {Hold("x")},
		"no name": {Hold("")},
		"wait":    {Wait(time.Hour)},
		"forever": {Forever(Wait(time.Second))},
		"writing": {Forever(Write("x"))},
		"idle":    {Forever()},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, []Reply{{Steps: steps}}, func(t *testing.T, s *Server) {
				c := ask(t, s)
				_, err := c.Read(make([]byte, 1))
				require.NoError(t, err)
				require.Equal(t, 1, s.Open())
				require.NoError(t, c.Close())
				<-s.Requests()[0].Ended()
				require.True(t, s.Requests()[0].HungUp())
				synctest.Wait()
				require.Zero(t, s.Open())
			})
		})
	}
}

func TestNothingIsOwedAfterDone(t *testing.T) {
	in(t, []Reply{{Steps: []Step{Done(), Hold("")}}}, func(t *testing.T, s *Server) {
		c := ask(t, s)
		r := bufio.NewReader(c)
		for line := ""; !strings.Contains(line, "[DONE]"); {
			var err error
			line, err = r.ReadString('\n')
			require.NoError(t, err)
		}
		require.False(t, s.Requests()[0].HungUp(), "not before it has ended")
		_, err := io.CopyN(io.Discard, r, 3) // the rest of the chunk
		require.NoError(t, err)
		require.NoError(t, c.Close())
		<-s.Requests()[0].Ended()
		require.False(t, s.Requests()[0].HungUp())
	})
}

func TestClosingTheServerEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := StartReplies(Reply{Steps: []Step{Hold("")}}, Reply{Steps: []Step{Forever(Write(strings.Repeat("x", 1<<20)))}}, Reply{Steps: []Step{Wait(time.Hour)}})
	require.NoError(t, err)
	var conns []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1"))
		require.NoError(t, err)
		_, err = io.WriteString(c, question)
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.NoError(t, err)
		conns = append(conns, c)
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	require.Zero(t, s.Open())
	for _, c := range conns {
		_, _ = io.Copy(io.Discard, c)
		require.NoError(t, c.Close())
	}
	// Close has waited for their end; the runtime may take a moment to see it.
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "goroutines are left")
	}
	_, err = s.Dial(t.Context(), "", "")
	require.Equal(t, ErrClosed, err)
	_, err = s.Next(t.Context())
	require.NoError(t, err, "what has come can still be had")
}

func TestCloseAndReset(t *testing.T) {
	s, err := StartReplies(
		Reply{Framing: Raw, Steps: []Step{Write("a"), Close()}},
		Reply{Framing: Raw, Steps: []Step{Write("a"), Hold("read"), Reset()}},
	)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for n, want := range []error{nil, syscall.ECONNRESET} {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1"))
		require.NoError(t, err)
		_, err = io.WriteString(c, question)
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
		s.Release("read")
		rest, err := io.ReadAll(c)
		require.Empty(t, rest)
		require.ErrorIs(t, err, want)
		require.NoError(t, c.Close())
		<-s.Requests()[n].Ended()
		require.False(t, s.Requests()[n].HungUp(), "it was the script that ended it")
	}
}

func TestRequestsAreKept(t *testing.T) {
	s, err := StartReplies(TextReply("a"), TextReply("b"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	// One client, one connection: what ends well can be followed by more.
	for n, body := range []string{`{"a": 1}`, "\x00\xff"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer x")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Contains(t, string(got), "[DONE]")
		r, err := s.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, n+1, r.Number)
		require.Equal(t, body, string(r.Body))
		require.Equal(t, "POST /v1/chat/completions", r.Method+" "+r.Path)
		require.Equal(t, []string{"Bearer x"}, r.Header["Authorization"])
		require.Equal(t, 200, r.Status)
		require.False(t, r.At.IsZero())
		require.Equal(t, 1, s.Open())
	}
	require.Len(t, s.Requests(), 2)
	http.DefaultClient.CloseIdleConnections()
}

func TestNextWaits(t *testing.T) {
	in(t, nil, func(t *testing.T, s *Server) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too late"))
		defer cancel()
		_, err := s.Next(ctx)
		require.EqualError(t, err, "too late")
		time.AfterFunc(time.Second, func() {
			c, err := s.Dial(context.Background(), "", "")
			if err == nil {
				_, _ = io.WriteString(c, question)
				_ = c.Close()
			}
		})
		r, err := s.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, r.Number)
		go func() { _ = s.Close() }()
		_, err = s.Next(t.Context())
		require.Equal(t, ErrClosed, err)
	})
}

// answer sends one request and gives the status and body of its reply.
func answer(t *testing.T, s *Server, request string) (int, string) {
	t.Helper()
	c, err := s.Dial(t.Context(), "", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	go func() { _, _ = io.WriteString(c, request) }()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func TestWhatIsRefused(t *testing.T) {
	in(t, []Reply{TextReply("a")}, func(t *testing.T, s *Server) {
		status, body := answer(t, s, strings.Replace(question, "/chat/completions", "/models", 1))
		require.Equal(t, 404, status)
		require.Contains(t, body, "no model is served at this path")
		status, _ = answer(t, s, strings.Replace(question, "POST", "GET", 1))
		require.Equal(t, 405, status)
		status, _ = answer(t, s, question)
		require.Equal(t, 200, status, "no reply was used up")
		status, body = answer(t, s, question)
		require.Equal(t, 500, status)
		require.Contains(t, body, "the script has no more replies")
		s.Add(TextReply("b"))
		status, body = answer(t, s, question)
		require.Equal(t, 200, status)
		require.Contains(t, body, `"content":"b"`)
		var statuses []int
		for _, r := range s.Requests() {
			statuses = append(statuses, r.Status)
		}
		require.Equal(t, []int{404, 405, 200, 500, 200}, statuses)
	})
}

func TestLoopAndRespond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{
			Script: Script{Loop: true, Replies: []Reply{TextReply("a"), TextReply("b")}},
			Respond: func(r Request) (Reply, bool) {
				return TextReply("own"), r.Number == 2
			},
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		for _, want := range []string{"a", "own", "b", "a"} {
			_, body := answer(t, s, question)
			require.Contains(t, body, `"content":"`+want+`"`)
		}
	})
}

func TestLimits(t *testing.T) {
	for _, bad := range []Limits{{Conns: -1}, {RequestBytes: -1}, {Requests: -1}} {
		_, err := New(Options{Limits: bad})
		require.ErrorContains(t, err, "negative")
		_, err = Start(Options{Limits: bad})
		require.ErrorContains(t, err, "negative")
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Script: Script{Loop: true, Replies: []Reply{TextReply("a")}}, Limits: Limits{Conns: 2, RequestBytes: 5, Requests: 4}})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		for n, want := range map[int]int{4: 200, 5: 200, 6: 413} {
			status, _ := answer(t, s, fmt.Sprintf("POST /chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n)))
			require.Equal(t, want, status)
			synctest.Wait()
		}
		status, _ := answer(t, s, question)
		require.Equal(t, 200, status)
		status, _ = answer(t, s, question)
		require.Equal(t, 503, status)
		require.Len(t, s.Requests(), 4)
		synctest.Wait()
		for range 2 {
			_, err := s.Dial(t.Context(), "", "")
			require.NoError(t, err)
		}
		_, err = s.Dial(t.Context(), "", "")
		require.Error(t, err)
	})
}

func TestAClientThatAsksWhetherToGoOn(t *testing.T) {
	in(t, []Reply{TextReply("a")}, func(t *testing.T, s *Server) {
		c, err := s.Dial(t.Context(), "", "")
		require.NoError(t, err)
		head, body, _ := strings.Cut(question, "\r\n\r\n")
		_, err = io.WriteString(c, head+"\r\nExpect: 100-continue\r\n\r\n")
		require.NoError(t, err)
		r := bufio.NewReader(c)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
		_, err = r.ReadString('\n')
		require.NoError(t, err)
		_, err = io.WriteString(c, body)
		require.NoError(t, err)
		res, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
	})
}

func TestWhatIsNoRequestIsClosed(t *testing.T) {
	in(t, []Reply{TextReply("a")}, func(t *testing.T, s *Server) {
		for _, bad := range []string{"nonsense\r\n\r\n", "POST /chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"} {
			c, err := s.Dial(t.Context(), "", "")
			require.NoError(t, err)
			go func() { _, _ = io.WriteString(c, bad) }()
			got, err := io.ReadAll(c)
			require.NoError(t, err)
			require.Empty(t, got)
		}
		require.Empty(t, s.Requests())
	})
}
