package project

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Environment is the operator's environment as it was before any file of the
// project was read. It is immutable and safe for concurrent use.
type Environment struct{ values map[string]string }

// NewEnvironment copies entries of the form NAME=value, such as those of
// os.Environ. Of two with one name the last counts.
func NewEnvironment(entries []string) Environment {
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			values[name] = value
		}
	}
	return Environment{values}
}

// Lookup returns a variable, and whether it is set at all.
func (e Environment) Lookup(name string) (string, bool) {
	v, ok := e.values[name]
	return v, ok
}

// Get returns a variable; one that is not set is empty.
func (e Environment) Get(name string) string { return e.values[name] }

// With returns a copy in which a variable is set.
func (e Environment) With(name, value string) Environment {
	values := maps.Clone(e.values)
	if values == nil {
		values = map[string]string{}
	}
	values[name] = value
	return Environment{values}
}

// Names of variables that the host reads.
const (
	ProxyVariable   = "JIG_HTTPS_PROXY"
	NoProxyVariable = "JIG_NO_PROXY"
	CAVariable      = "SSL_CERT_FILE"
	BwrapVariable   = "JIG_BWRAP_PATH"
	PathVariable    = "PATH"
)

// maxBundleBytes bounds SSL_CERT_FILE.
const maxBundleBytes = 8 << 20

// Reach is how the host reaches other machines: what of the operator's
// environment the resources go by. It is shown, reviewed, and part of what a run
// compares.
type Reach struct {
	Proxy   string // URL; empty: none
	NoProxy string // canonical list; empty: none
	CA      string // digest of the bundle; empty: the system's
	Bundle  []byte // the bundle itself; nil: the system's
	Roots   *x509.CertPool
	proxy   *url.URL
	except  []string
}

// NewReach reads the proxy and the trust that the operator chose.
func NewReach(e Environment) (*Reach, error) {
	r := &Reach{}
	if raw := e.Get(ProxyVariable); raw != "" {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("%s has to be http://host:port or https://host:port, without credentials", ProxyVariable)
		}
		u.Path = ""
		r.proxy, r.Proxy = u, u.String()
	}
	for part := range strings.SplitSeq(e.Get(NoProxyVariable), ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part != "" {
			r.except = append(r.except, part)
		}
	}
	if r.proxy != nil {
		r.NoProxy = strings.Join(r.except, ",")
	}
	if file := e.Get(CAVariable); file != "" {
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("%s has to be an absolute path", CAVariable)
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxBundleBytes {
			return nil, fmt.Errorf("%s does not name a readable bundle of certificates", CAVariable)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s does not name a readable bundle of certificates", CAVariable)
		}
		r.Roots = x509.NewCertPool()
		if !r.Roots.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s holds no certificate", CAVariable)
		}
		r.CA, r.Bundle = digestBytes(b), b
	}
	return r, nil
}

// For returns the proxy for a URL, or nil.
func (r *Reach) For(u *url.URL) *url.URL {
	if r.proxy == nil {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	for _, e := range r.except {
		if e == "*" || host == strings.TrimPrefix(e, ".") || strings.HasSuffix(host, "."+strings.TrimPrefix(e, ".")) {
			return nil
		}
	}
	return r.proxy
}
