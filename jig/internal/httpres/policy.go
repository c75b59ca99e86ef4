package httpres

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// Policy is an http grant in its normal form. All bounds are set.
type Policy struct {
	Kind          string         `json:"kind"`
	URL           string         `json:"url"`
	Method        string         `json:"method"`
	BearerEnv     string         `json:"bearerEnv,omitzero"`
	RequestBytes  int64          `json:"requestBytes"`
	ResponseBytes int64          `json:"responseBytes"`
	TimeoutMS     int64          `json:"timeoutMs"`
	BodySchema    jsontext.Value `json:"bodySchema,omitzero"`
}

// target is a policy ready for use.
type target struct {
	Policy
	url     *url.URL
	literal bool // the URL names its address, or localhost
	schema  *schema0.Schema
}

// CheckURL says whether the host may send to raw at all.
func CheckURL(raw string) error {
	_, _, err := parseURL(raw)
	return err
}

func parseURL(raw string) (u *url.URL, literal bool, err error) {
	u, err = url.Parse(raw)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return nil, false, errors.New("the URL is malformed")
	}
	if u.User != nil || u.Fragment != "" {
		return nil, false, errors.New("the URL holds credentials or a fragment")
	}
	host := u.Hostname()
	address, perr := netip.ParseAddr(host)
	local := perr == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
	switch u.Scheme {
	case "https":
	case "http":
		if !local {
			return nil, false, errors.New("plain http is for loopback only")
		}
	default:
		return nil, false, errors.New("only https is spoken")
	}
	return u, perr == nil || local, nil
}

func parse(raw []byte) (*target, error) {
	var t target
	if err := json0.Decode(raw, &t.Policy); err != nil {
		return nil, errors.New("the grant is malformed")
	}
	if t.RequestBytes <= 0 || t.ResponseBytes <= 0 || t.TimeoutMS <= 0 || t.Method != "GET" && t.Method != "POST" {
		return nil, errors.New("the grant is not in its normal form")
	}
	var err error
	if t.url, t.literal, err = parseURL(t.URL); err != nil {
		return nil, err
	}
	if t.BodySchema != nil {
		if t.schema, err = schema0.Embedded(t.BodySchema); err != nil {
			return nil, errors.New("the grant's body schema is refused")
		}
	}
	return &t, nil
}

// public says whether an address may be reached without being named.
func public(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}

// special are ranges that the standard library takes for global: shared,
// documentation, benchmarking, translation and reserved ones.
var special = func() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}()
