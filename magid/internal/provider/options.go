package provider

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Options is what every format needs. It comes from the daemon's configuration
// and environment, never from the wire (wire-v2 7).
type Options struct {
	// BaseURL is the prefix that a client of the format takes (required):
	// http or https, a host, no credentials, query or fragment.
	BaseURL string
	// Model is sent as it stands (required).
	Model string
	// Key is optional: a local server needs none.
	Key Secret
	// AllowPlainHTTP permits http to a host that is not loopback.
	AllowPlainHTTP bool
	Timeouts       Timeouts
	Limits         Limits

	// Dial is optional; nil means a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy is optional; nil means the proxy variables of the environment. It is
	// never asked about a loopback host.
	Proxy func(*http.Request) (*url.URL, error)
	// Jitter is optional: it picks a wait of at least 0 and at most limit; nil
	// means uniformly at random.
	Jitter func(limit time.Duration) time.Duration
}

// Timeouts bounds the phases of one attempt (magid: Configuration). 0 means the
// default; a negative value is an error.
type Timeouts struct {
	// Connect runs from the start to an open connection: name, TCP, proxy, TLS.
	// Default 10 s.
	Connect time.Duration
	// Headers runs from there to the reply's header. Default 60 s.
	Headers time.Duration
	// FirstEvent runs from there to the first data line. Default 120 s.
	FirstEvent time.Duration
	// Idle runs from data line to data line; comments do not count. Default 120 s.
	Idle time.Duration
	// Total runs from start to end. Default 600 s.
	Total time.Duration
}

// WithDefaults fills in the defaults.
func (t Timeouts) WithDefaults() (Timeouts, error) {
	for _, f := range []struct {
		name      string
		value     *time.Duration
		otherwise time.Duration
	}{
		{"connect", &t.Connect, 10 * time.Second},
		{"headers", &t.Headers, 60 * time.Second},
		{"first_event", &t.FirstEvent, 120 * time.Second},
		{"idle", &t.Idle, 120 * time.Second},
		{"total", &t.Total, 600 * time.Second},
	} {
		switch {
		case *f.value < 0:
			return Timeouts{}, fmt.Errorf("provider: the %s timeout is negative", f.name)
		case *f.value == 0:
			*f.value = f.otherwise
		}
	}
	return t, nil
}

// Limits bounds one reply. 0 means the default; a negative value is an error.
type Limits struct {
	// EventBytes bounds one event of the stream: its data lines joined.
	// Default 1 MiB.
	EventBytes int
	// CallBytes bounds the names, ids and arguments of all calls of a reply
	// together. Default 1 MiB.
	CallBytes int
}

// WithDefaults fills in the defaults.
func (l Limits) WithDefaults() (Limits, error) {
	for _, f := range []struct {
		name  string
		value *int
	}{{"event", &l.EventBytes}, {"call", &l.CallBytes}} {
		switch {
		case *f.value < 0:
			return Limits{}, fmt.Errorf("provider: the limit of %s bytes is negative", f.name)
		case *f.value == 0:
			*f.value = 1 << 20
		}
	}
	return l, nil
}
