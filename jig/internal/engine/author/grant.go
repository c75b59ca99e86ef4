package author

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/schema0"
)

// Bounds of an http grant, the defaults first.
const (
	DefaultRequestBytes  = 262_144
	DefaultResponseBytes = 1_048_576
	DefaultTimeoutMS     = 60_000
	MaxRequestBytes      = 8_388_608
	MaxResponseBytes     = 12_582_912
	MaxTimeoutMS         = 60_000
	MaxBodySchemaBytes   = 16_384 // canonical
	MaxTurns             = 8      // of an acp grant
)

// Grant is a normal grant. Exactly one of its fields is set.
type Grant struct {
	ACP  *ACP
	HTTP *HTTP
}

// Kind is acp or http.
func (g *Grant) Kind() string {
	if g.ACP != nil {
		return "acp"
	}
	return "http"
}

// ACP lends one native conversation. What was omitted stays omitted.
type ACP struct {
	Client         string
	Model          string // empty: omitted
	MaxTurns       int    // 0: omitted
	RetainSessions bool
}

// HTTP lends one exact request. Its numbers are filled in.
type HTTP struct {
	URL           string
	Method        string
	BearerEnv     string // empty: omitted
	RequestBytes  int
	ResponseBytes int
	TimeoutMS     int
	BodySchema    jsontext.Value // canonical; nil: omitted
}

// ParseGrant reads one grant, such as the bytes of grants/<name>.json.
func ParseGrant(raw []byte) (*Grant, error) {
	if err := (json0.Limits{Bytes: MaxGrantBytes}).Check(raw); err != nil {
		return nil, &Error{Reason: err.Error(), cause: err}
	}
	return grant(raw, "")
}

func grant(raw jsontext.Value, at string) (*Grant, error) {
	var members map[string]jsontext.Value
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return nil, refuse(at, "a grant is an object")
	}
	if members["kind"] == nil {
		return nil, refuse(at, `"kind" is missing`)
	}
	kind, err := text(members["kind"], at+"/kind")
	if err != nil {
		return nil, err
	}
	switch kind {
	case "acp":
		g, err := acp(raw, at)
		return &Grant{ACP: g}, err
	case "http":
		g, err := http(raw, at)
		return &Grant{HTTP: g}, err
	case "command", "checkpoint":
		return nil, unavailable(at+"/kind", kind+" grants")
	}
	return nil, refuse(at+"/kind", "a grant's kind is acp or http")
}

func acp(raw jsontext.Value, at string) (*ACP, error) {
	members, err := object(raw, at, []string{"kind", "client"}, []string{"model", "maxTurns", "retainSessions"})
	if err != nil {
		return nil, err
	}
	g := &ACP{}
	if g.Client, err = text(members["client"], at+"/client"); err != nil {
		return nil, err
	}
	if !isClient(g.Client) {
		return nil, refuse(at+"/client", "a client is codex, claude or pi")
	}
	if raw, there := members["model"]; there {
		if g.Model, err = text(raw, at+"/model"); err != nil {
			return nil, err
		}
		if !validModel(g.Model) {
			return nil, refuse(at+"/model", "a model is 1 to 256 of A-Z a-z 0-9 . _ : / + -, the first a letter or digit")
		}
	}
	if raw, there := members["maxTurns"]; there {
		if g.MaxTurns, err = number(raw, at+"/maxTurns", MaxTurns); err != nil {
			return nil, err
		}
	}
	if raw, there := members["retainSessions"]; there {
		if raw.Kind() != 't' {
			return nil, refuse(at+"/retainSessions", "it is true or left out")
		}
		g.RetainSessions = true
	}
	return g, nil
}

func http(raw jsontext.Value, at string) (*HTTP, error) {
	members, err := object(raw, at, []string{"kind", "url", "method"}, []string{"bearerEnv", "requestBytes", "responseBytes", "timeoutMs", "bodySchema"})
	if err != nil {
		return nil, err
	}
	g := &HTTP{RequestBytes: DefaultRequestBytes, ResponseBytes: DefaultResponseBytes, TimeoutMS: DefaultTimeoutMS}
	if g.URL, err = text(members["url"], at+"/url"); err != nil {
		return nil, err
	}
	if reason := checkURL(g.URL); reason != "" {
		return nil, refuse(at+"/url", reason)
	}
	if g.Method, err = text(members["method"], at+"/method"); err != nil {
		return nil, err
	}
	if g.Method != "GET" && g.Method != "POST" {
		return nil, refuse(at+"/method", "the method is GET or POST")
	}
	if raw, there := members["bearerEnv"]; there {
		if g.BearerEnv, err = text(raw, at+"/bearerEnv"); err != nil {
			return nil, err
		}
		if !validEnv(g.BearerEnv) {
			return nil, refuse(at+"/bearerEnv", "the name of a variable is 1 to 128 of A-Z 0-9 _, the first a letter")
		}
	}
	for _, n := range []struct {
		name string
		into *int
		most int
	}{
		{"requestBytes", &g.RequestBytes, MaxRequestBytes}, {"responseBytes", &g.ResponseBytes, MaxResponseBytes}, {"timeoutMs", &g.TimeoutMS, MaxTimeoutMS},
	} {
		if raw, there := members[n.name]; there {
			if *n.into, err = number(raw, at+"/"+n.name, n.most); err != nil {
				return nil, err
			}
		}
	}
	if raw, there := members["bodySchema"]; there {
		if g.Method != "POST" {
			return nil, refuse(at+"/bodySchema", "only a POST has a body")
		}
		if g.BodySchema, err = json0.Canonical(raw); err != nil || len(g.BodySchema) > MaxBodySchemaBytes {
			return nil, refuse(at+"/bodySchema", "it has more than 16384 bytes")
		}
		if within.Check(raw) != nil { // an annotation may be as deep as JSON/0
			return nil, refuse(at+"/bodySchema", "it has more than 100 levels")
		}
		if _, err := schema0.Embedded(raw); err != nil {
			e := &Error{Pointer: at + "/bodySchema", Reason: err.Error(), cause: err}
			if schema := (*schema0.CompileError)(nil); errors.As(err, &schema) {
				e.Pointer, e.Reason = e.Pointer+schema.Pointer, schema.Words()
			}
			return nil, e
		}
	}
	return g, nil
}

// number reads a whole number from 1 to most.
func number(raw jsontext.Value, pointer string, most int) (int, error) {
	var n int
	if raw.Kind() != '0' || json0.Decode(raw, &n) != nil || n < 1 || n > most {
		return 0, refuse(pointer, "it has to be a whole number from 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

func validModel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !alphanumeric(c) && (i == 0 || strings.IndexByte("._:/+-", c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func validEnv(s string) bool {
	for i := range len(s) {
		c := s[i]
		upper := c >= 'A' && c <= 'Z'
		if !upper && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// checkURL returns why s is no URL of a grant, or "".
func checkURL(s string) string {
	if n := utf8.RuneCountInString(s); n < 1 || n > maxURL {
		return "a URL has 1 to 2048 characters"
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Opaque != "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "it is no absolute URL"
	}
	switch {
	case u.User != nil:
		return "a URL holds no credentials"
	case strings.Contains(s, "#"):
		return "a URL holds no fragment"
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return ""
	}
	return "the URL has to be https; http is for loopback only"
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Canonical is the normal form that enters identities: what was omitted and has
// no default stays omitted.
func (g *Grant) Canonical() jsontext.Value {
	var v any
	if a := g.ACP; a != nil {
		v = struct {
			Client         string `json:"client"`
			Kind           string `json:"kind"`
			MaxTurns       int    `json:"maxTurns,omitzero"`
			Model          string `json:"model,omitzero"`
			RetainSessions bool   `json:"retainSessions,omitzero"`
		}{a.Client, "acp", a.MaxTurns, a.Model, a.RetainSessions}
	} else {
		h := g.HTTP
		v = struct {
			BearerEnv     string         `json:"bearerEnv,omitzero"`
			BodySchema    jsontext.Value `json:"bodySchema,omitzero"`
			Kind          string         `json:"kind"`
			Method        string         `json:"method"`
			RequestBytes  int            `json:"requestBytes"`
			ResponseBytes int            `json:"responseBytes"`
			TimeoutMS     int            `json:"timeoutMs"`
			URL           string         `json:"url"`
		}{h.BearerEnv, h.BodySchema, "http", h.Method, h.RequestBytes, h.ResponseBytes, h.TimeoutMS, h.URL}
	}
	b, err := json0.Marshal(v)
	if err != nil { // every field was checked
		panic("author: a grant that was checked has no JSON form")
	}
	return b
}
