package httpres

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

// Resource performs HTTP Request calls. It is safe for concurrent use.
type Resource struct {
	// Lookup reads the operator's environment; required.
	Lookup func(name string) (string, bool)
	// Roots are trusted; nil means the system's.
	Roots *x509.CertPool
	// Proxy is the reviewed proxy for a URL; nil means none.
	Proxy func(*url.URL) *url.URL
	// Resolve finds the addresses of a name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	agreement *contract.Invocation
}

// New returns a resource that reads bearers through lookup.
func New(lookup func(string) (string, bool)) (*Resource, error) {
	agreement, err := contract.Bundle(contract.HTTPRequest)
	if err != nil {
		return nil, err
	}
	return &Resource{Lookup: lookup, agreement: agreement}, nil
}

var _ tree.Resource = (*Resource)(nil)

// Contract is the HTTP Request contract.
func (r *Resource) Contract() *contract.Invocation { return r.agreement }

// Native is false: no process belongs to a call.
func (*Resource) Native() bool { return false }

// Ready says why a grant could not be used now, for review: a bearer that is
// missing, or a URL that is not spoken to.
func (r *Resource) Ready(policy []byte) error {
	t, err := parse(policy)
	if err != nil {
		return err
	}
	_, err = r.bearer(t)
	return err
}

func (r *Resource) bearer(t *target) (string, error) {
	if t.BearerEnv == "" {
		return "", nil
	}
	value, _ := r.Lookup(t.BearerEnv)
	if value = strings.TrimSpace(value); value == "" {
		return "", errors.New("the environment variable " + t.BearerEnv + " is not set")
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return "", errors.New("the environment variable " + t.BearerEnv + " is no token")
	}
	return value, nil
}

// Call performs one request.
func (r *Resource) Call(ctx context.Context, c tree.ResourceCall) (jsontext.Value, *fault.Error) {
	t, err := parse(c.Grant.Policy)
	if err != nil {
		return nil, fault.New(fault.Unavailable, err.Error())
	}
	var in struct {
		Body     jsontext.Value `json:"body"`
		Response string         `json:"response"`
	}
	if err := json0.Decode(c.Input, &in); err != nil {
		return nil, fault.New(fault.InvalidInput, "the input is no HTTP request")
	}
	body, failure := t.body(in.Body)
	if failure != nil {
		return nil, failure
	}
	token, err := r.bearer(t)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "PROJECT_HTTP_UNAVAILABLE: "+err.Error())
	}
	deadline := time.Now().Add(time.Duration(t.TimeoutMS) * time.Millisecond)
	if c.Deadline.Before(deadline) {
		deadline = c.Deadline
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	status, answer, failure := r.send(ctx, t, body, token)
	if failure != nil {
		return nil, failure
	}
	return result(status, answer, in.Response == "json")
}

// body encodes and bounds what is sent.
func (t *target) body(value jsontext.Value) ([]byte, *fault.Error) {
	if value == nil {
		return nil, nil
	}
	if t.Method == "GET" {
		return nil, fault.New(fault.InvalidInput, "a GET request takes no body")
	}
	if t.schema != nil {
		if err := t.schema.Validate(value); err != nil {
			return nil, fault.New(fault.InvalidInput, "the body does not fit the grant: "+err.Error())
		}
	}
	body, err := json0.Canonical(value)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "the body is not JSON/0")
	}
	if int64(len(body)) > t.RequestBytes {
		return nil, fault.New(fault.ResourceExhausted, "the body is larger than the grant allows")
	}
	return body, nil
}

// send performs the exchange. Once a connection stands the request may have had
// an effect, whatever comes of it.
func (r *Resource) send(ctx context.Context, t *target, body []byte, token string) (int, []byte, *fault.Error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	failed := func(message string) *fault.Error {
		switch {
		case connected.Load():
			return fault.New(fault.Uncertain, message+"; the request may have had its effect")
		case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return fault.New(fault.DeadlineExceeded, "no connection in time")
		case ctx.Err() != nil:
			return fault.New(fault.Cancelled, "the call was cancelled before anything was sent")
		}
		return fault.New(fault.ExecutionFailed, message)
	}
	q, err := http.NewRequestWithContext(ctx, t.Method, t.URL, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fault.New(fault.Unavailable, "the grant's URL is malformed")
	}
	q.GetBody = nil // nothing is sent twice
	q.Header.Set("Accept-Encoding", "gzip")
	q.Header.Set("User-Agent", "jig")
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	transport := r.transport(t)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(q) // a Client would follow redirects
	if err != nil {
		return 0, nil, failed(sentence(err))
	}
	defer response.Body.Close()
	answer, err := read(response, t.ResponseBytes)
	if err != nil {
		return 0, nil, failed(err.Error())
	}
	if response.StatusCode < 200 || response.StatusCode > 599 {
		return 0, nil, failed("the answer has no usable status")
	}
	return response.StatusCode, answer, nil
}

func (r *Resource) transport(t *target) *http.Transport {
	tr := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: false,
		TLSClientConfig: &tls.Config{RootCAs: r.Roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return r.dial(ctx, network, address, t.literal)
		},
	}
	if r.Proxy != nil {
		if p := r.Proxy(t.url); p != nil {
			tr.Proxy = http.ProxyURL(p)
			tr.DialContext = (&net.Dialer{}).DialContext // a reviewed proxy may stand anywhere
		}
	}
	return tr
}

var errPrivate = errors.New("the name leads to an address that is not public")

// dial connects to the addresses that were looked at, and to no other.
func (r *Resource) dial(ctx context.Context, network, address string, literal bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	resolve := r.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addresses, err := resolve(ctx, host)
	if err != nil {
		return nil, errors.New("the name cannot be resolved")
	}
	var last error = errPrivate
	for _, a := range addresses {
		if !literal && !public(a) {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

// sentence says what went wrong without addresses or the other side's words.
func sentence(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, errPrivate):
		return "the host resolves to an address that is not public, and the grant does not name it"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return "TLS trust: the server's certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return "the exchange with the server failed"
}

var errLong = errors.New("the answer is larger than the grant allows")

// read takes the whole answer within the bound, unpacked.
func read(response *http.Response, most int64) ([]byte, error) {
	var source io.Reader = response.Body
	switch strings.ToLower(response.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip":
		// What arrives is bounded like what comes out of it.
		z, err := gzip.NewReader(io.LimitReader(response.Body, most))
		if err != nil {
			return nil, errors.New("the answer cannot be unpacked")
		}
		source = z
	default:
		return nil, errors.New("the answer is encoded in a way nobody asked for")
	}
	b, err := io.ReadAll(io.LimitReader(source, most+1))
	if int64(len(b)) > most {
		return nil, errLong
	}
	if err != nil {
		return nil, errors.New("the answer broke off")
	}
	return b, nil
}

// result is {outcome, output} of a complete answer.
func result(status int, body []byte, asJSON bool) (jsontext.Value, *fault.Error) {
	var value jsontext.Value
	var err error
	if asJSON {
		if value, err = json0.Canonical(body); err != nil {
			return nil, fault.New(fault.InvalidResult, "the answer is not JSON/0")
		}
	} else {
		if !utf8.Valid(body) {
			return nil, fault.New(fault.InvalidResult, "the answer is not UTF-8 text")
		}
		if value, err = json0.Marshal(string(body)); err != nil {
			return nil, fault.New(fault.InvalidResult, "the answer is not text that JSON/0 can hold")
		}
	}
	out, err := json0.Marshal(map[string]any{"outcome": contract.Done, "output": map[string]any{"status": status, "body": value}})
	if err != nil || !run0.Fits(out) { // each part is JSON/0, so what is broken is a limit
		return nil, fault.New(fault.ResourceExhausted, "the answer is nested too deep or holds too much for one frame")
	}
	return out, nil
}
