package attempt

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

// Client posts to one endpoint.
//
// A Client is safe for concurrent use.
type Client struct {
	url       *url.URL
	host      string
	key       provider.Secret
	authorize func(http.Header, string)
	timeouts  provider.Timeouts
	limits    provider.Limits
	jitter    func(time.Duration) time.Duration
	transport *http.Transport
}

// New checks the options and makes a Client for the base URL with path appended.
// authorize puts a key into the header; it is not called where there is no key.
// New opens no connection.
func New(o provider.Options, path string, authorize func(h http.Header, key string)) (*Client, error) {
	u, err := endpoint(o.BaseURL, path)
	if err != nil {
		return nil, err
	}
	local := isLoopback(u.Hostname())
	if u.Scheme == "http" && !local && !o.AllowPlainHTTP {
		return nil, errors.New("provider: base_url is plain http to a host that is not loopback; use https, or set allow_plain_http")
	}
	c := &Client{url: u, host: u.Host, key: o.Key, authorize: authorize, jitter: o.Jitter}
	if c.timeouts, err = o.Timeouts.WithDefaults(); err != nil {
		return nil, err
	}
	if c.limits, err = o.Limits.WithDefaults(); err != nil {
		return nil, err
	}
	if c.jitter == nil {
		c.jitter = func(limit time.Duration) time.Duration { return rand.N(limit + 1) }
	}
	dial := o.Dial
	if dial == nil {
		d := &net.Dialer{}
		if local && !o.AllowPlainHTTP {
			d.Control = onlyLoopback
		}
		dial = d.DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	c.transport = &http.Transport{
		Proxy:                  proxyFor(local, o.Proxy),
		DialContext:            dialFor(dial),
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		Protocols:              protocols,
		// New connections stay cheap: the handshake resumes.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(4)},
	}
	return c, nil
}

// endpoint appends path to a base URL. Its errors do not show the URL: what is
// wrong with it may be a credential in it.
func endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case base == "":
		return nil, errors.New("provider: base_url is not set")
	case err != nil:
		return nil, errors.New("provider: base_url is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("provider: base_url must begin with https:// or http://")
	case u.Hostname() == "":
		return nil, errors.New("provider: base_url has no host")
	case u.User != nil:
		return nil, errors.New("provider: base_url must hold no credentials; the key has a place of its own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("provider: base_url must have no query and no fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if strings.HasSuffix(u.Path, path) {
		return nil, errors.New("provider: base_url is the prefix alone: leave out " + path)
	}
	u.RawPath = ""
	u.Path += path
	return u, nil
}

// isLoopback reports whether the host is loopback by name or number.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// onlyLoopback refuses any other address: localhost is a name, and a resolver
// could point it elsewhere, where plain http is not allowed.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().Unmap().IsLoopback() {
		return errors.New("the host's name leads to an address that is not loopback")
	}
	return nil
}

// proxyFor gives the proxy of a request. Errors are replaced, because they would
// show the proxy's address with its credentials.
func proxyFor(local bool, ask func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	if local {
		return nil
	}
	if ask == nil {
		ask = http.ProxyFromEnvironment
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := ask(r)
		if err != nil {
			return nil, errors.New("the proxy variables of the environment hold no usable URL")
		}
		return u, nil
	}
}

type attemptKey struct{}

// dialFor ties a connection to the attempt it was opened for. net/http opens
// connections apart from the request that asked, and lets them live on for
// another; here there is no other.
func dialFor(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		a, ok := ctx.Value(attemptKey{}).(*attempt)
		if !ok {
			return dial(ctx, network, address)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(a.ctx, cancel)()
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(a.ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
}
