package attempt

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
)

// failure is an attempt that failed.
type failure struct {
	err   error
	again bool          // it may be tried again
	after time.Duration // but not sooner than this
}

// Post sends body and feeds the reply to sink. A nil error means that sink said
// so.
func (c *Client) Post(ctx context.Context, body []byte, sink Sink) error {
	for try := 0; ; try++ {
		f := c.once(ctx, body, sink)
		switch {
		case f == nil:
			return nil
		case !f.again || try == MaxRetries:
			return f.err
		}
		if err := sleep(ctx, max(f.after, c.jitter(backoff(try)))); err != nil {
			return stopped(ctx)
		}
	}
}

// once makes one attempt.
func (c *Client) once(parent context.Context, body []byte, sink Sink) *failure {
	if parent.Err() != nil {
		return &failure{err: stopped(parent)}
	}
	total := &timeout{phaseTotal, c.timeouts.Total}
	ctx, stop := context.WithTimeoutCause(parent, c.timeouts.Total, total)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{Client: c, parent: parent, ctx: ctx, sink: sink, phases: phases{cancel: cancel}}
	defer a.phases.leave()

	a.phases.enter(phaseConnect, c.timeouts.Connect)
	res, err := c.transport.RoundTrip(a.request(body))
	if err != nil {
		return a.noReply(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return a.refused(res)
	}
	if err := streams(res); err != nil {
		return &failure{err: err}
	}
	return a.stream(res.Body)
}

// attempt is one attempt while it runs.
type attempt struct {
	*Client
	parent context.Context // the caller's
	ctx    context.Context // ends with the attempt
	sink   Sink
	phases phases
	// connected: the request has a connection, so what fails from here on fails
	// at the provider.
	connected atomic.Bool
}

func (a *attempt) request(body []byte) *http.Request {
	ctx := context.WithValue(a.ctx, attemptKey{}, a)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		a.connected.Store(true)
		a.phases.enter(phaseHeaders, a.timeouts.Headers)
	}})
	r := &http.Request{
		Method: http.MethodPost,
		URL:    a.url,
		Host:   a.host,
		Header: http.Header{
			"Content-Type": {"application/json"},
			"Accept":       {"text/event-stream"},
			"User-Agent":   {"magid"},
		},
		// Without GetBody net/http cannot repeat the request.
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
	if !a.key.IsZero() {
		a.authorize(r.Header, a.key.Reveal())
	}
	return r.WithContext(ctx)
}

// noReply judges an attempt that brought no header.
func (a *attempt) noReply(err error) *failure {
	if a.parent.Err() != nil {
		return &failure{err: stopped(a.parent)}
	}
	if t := a.timedOut(); t != nil {
		// Only a connection that did not come up is tried again: after that the
		// provider has the request, and may be at work on it.
		return &failure{err: unavailable(t.Error(), t), again: t.phase == phaseConnect}
	}
	if a.connected.Load() && isNotHTTP(err) {
		return &failure{err: failed("the provider's answer is not HTTP/1.1", err)}
	}
	var certificate *tls.CertificateVerificationError
	return &failure{
		err:   unavailable("the connection to the provider failed: "+a.why(err), err),
		again: !errors.As(err, &certificate),
	}
}

// isNotHTTP reports that an answer came and net/http could not read it. It has no
// types for that. A header line that makes no sense is not among them: one that
// was cut off looks the same.
func isNotHTTP(err error) bool {
	for _, words := range []string{"malformed HTTP", "exceeded", "unsupported", "too many"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// why says of a broken connection what broke it.
func (a *attempt) why(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the other side closed it"
	}
	return provider.Quote(err.Error(), a.key)
}

// streams checks that a reply is a stream of events. Old servers name it in odd
// ways, so only what is surely something else is refused.
func streams(res *http.Response) error {
	if e := res.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return failed("the provider compressed its reply, which was not asked for", nil)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err == nil && (kind == "application/json" || kind == "text/html") {
		return failed("the provider answered with "+kind+" and not with a stream of events; does base_url lead to its API?", nil)
	}
	return nil
}

// stream feeds the events of a reply's body to the sink.
func (a *attempt) stream(body io.Reader) *failure {
	in := &source{r: body}
	begun := false
	a.phases.enter(phaseFirstEvent, a.timeouts.FirstEvent)
	events := sse.NewReader(in, a.limits.EventBytes, func() {
		begun = true
		a.phases.enter(phaseIdle, a.timeouts.Idle)
	})
	for {
		e, err := events.Next()
		// What the sink does with an event is not the provider's time.
		a.phases.leave()
		if err != nil {
			return a.broke(in, begun, e, err)
		}
		done, err := a.sink.Event(e)
		switch {
		case err != nil:
			return &failure{err: err}
		case done:
			return nil
		}
		a.phases.enter(phaseIdle, a.timeouts.Idle)
	}
}

// broke judges a stream that gives no further event.
func (a *attempt) broke(in *source, begun bool, last sse.Event, err error) *failure {
	if a.parent.Err() != nil {
		return &failure{err: stopped(a.parent)}
	}
	if t := a.timedOut(); t != nil {
		if begun {
			return &failure{err: failed(t.Error(), t)}
		}
		return &failure{err: unavailable(t.Error(), t)}
	}
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return &failure{err: failed(fmt.Sprintf("the provider sent an event longer than %d bytes", a.limits.EventBytes), err)}
	case errors.Is(err, sse.ErrField):
		return &failure{err: failed("the provider sent something that is no stream of events", err)}
	case in.err == io.EOF:
		var unfinished *sse.Event
		if err == io.ErrUnexpectedEOF {
			unfinished = &last
		}
		if err := a.sink.End(unfinished); err != nil {
			return &failure{err: err}
		}
		return nil
	case !in.begun:
		return &failure{err: unavailable("the connection to the provider broke before its reply began: "+a.why(in.err), err), again: true}
	default:
		return &failure{err: failed("the connection to the provider broke in the middle of its reply: "+a.why(in.err), err)}
	}
}

// timedOut gives the phase that took too long, nil if none did.
func (a *attempt) timedOut() *timeout {
	var t *timeout
	if a.ctx.Err() != nil && errors.As(context.Cause(a.ctx), &t) {
		return t
	}
	return nil
}

// source is a reply's body that remembers whether it has begun and how it ended:
// an end in order of the body and one in the middle of an event look alike to
// whoever reads events.
type source struct {
	r     io.Reader
	begun bool
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.begun = s.begun || n > 0
	s.err = err
	return n, err
}

func stopped(ctx context.Context) error {
	return fmt.Errorf("provider: stopped: %w", context.Cause(ctx))
}

func unavailable(message string, cause error) error {
	return provider.NewError(provider.CodeUnavailable, message, cause)
}

func failed(message string, cause error) error {
	return provider.NewError(provider.CodeFailed, message, cause)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
