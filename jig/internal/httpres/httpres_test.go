package httpres_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/httpres"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

type rig struct {
	*testing.T
	*httpres.Resource
	env  map[string]string
	hits atomic.Int32
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, env: map[string]string{}}
	var err error
	r.Resource, err = httpres.New(func(name string) (string, bool) { v, ok := r.env[name]; return v, ok })
	require.NoError(t, err)
	return r
}

// serve is a TLS server that the resource trusts.
func (r *rig) serve(h http.HandlerFunc) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.hits.Add(1)
		h(w, q)
	}))
	r.Cleanup(s.Close)
	r.Roots = x509.NewCertPool()
	r.Roots.AddCert(s.Certificate())
	return s
}

func policy(method, url, more string) string {
	return fmt.Sprintf(`{"kind":"http","url":%q,"method":%q,"requestBytes":1000,"responseBytes":1000,"timeoutMs":20000%s}`, url, method, more)
}

func (r *rig) call(policy, input string) (string, *fault.Error) {
	out, err := r.Call(r.Context(), tree.ResourceCall{
		Grant: &tree.Grant{Kind: "http", Policy: jsontext.Value(policy)}, Input: jsontext.Value(input), Deadline: time.Now().Add(time.Minute),
	})
	return string(out), err
}

func (r *rig) ok(policy, input, want string) {
	r.Helper()
	got, err := r.call(policy, input)
	require.Nil(r, err, "%v", err)
	require.JSONEq(r, want, got)
}

func (r *rig) fails(policy, input string, code fault.Code) string {
	r.Helper()
	got, err := r.call(policy, input)
	require.NotNil(r, err, got)
	require.Equal(r, code, err.Code, err.Message)
	return err.Message
}

func TestOneExactRequest(t *testing.T) {
	// rule: J-226, E-096
	r := newRig(t)
	s := r.serve(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/redirect" {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
			return
		}
		b, _ := io.ReadAll(q.Body)
		fmt.Fprintf(w, "%s %s %s %s", q.Method, q.URL, q.Header.Get("Content-Type"), b)
	})
	r.ok(policy("GET", s.URL+"/a?b=c", ""), `{}`, `{"outcome":"done","output":{"status":200,"body":"GET /a?b=c  "}}`)
	r.ok(policy("POST", s.URL+"/a", ""), `{"body":{"b":1,"a":2}}`, `{"outcome":"done","output":{"status":200,"body":"POST /a application/json {\"a\":2,\"b\":1}"}}`)
	r.ok(policy("GET", s.URL+"/redirect", ""), `{}`, `{"outcome":"done","output":{"status":302,"body":""}}`)
	require.EqualValues(t, 3, r.hits.Load())
	r.fails(policy("GET", s.URL, ""), `{"body":1}`, fault.InvalidInput)
	r.fails(policy("POST", s.URL, `,"bodySchema":{"type":"string"}`), `{"body":1}`, fault.InvalidInput)
	r.fails(policy("POST", s.URL, ""), `{"body":"`+strings.Repeat("x", 999)+`"}`, fault.ResourceExhausted)
	require.EqualValues(t, 3, r.hits.Load())
	r.ok(policy("POST", s.URL, `,"bodySchema":{"type":"string"}`), `{"body":"`+strings.Repeat("x", 900)+`"}`,
		`{"outcome":"done","output":{"status":200,"body":"POST / application/json \"`+strings.Repeat("x", 900)+`\""}}`)
}

func TestNothingIsTriedAgain(t *testing.T) {
	// rule: J-226, J-233
	r := newRig(t)
	s := r.serve(func(w http.ResponseWriter, q *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	for _, method := range []string{"GET", "POST"} {
		r.hits.Store(0)
		require.Contains(t, r.fails(policy(method, s.URL, ""), `{}`, fault.Uncertain), "may have had its effect")
		require.EqualValues(t, 1, r.hits.Load())
	}
	half := r.serve(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "half")
	})
	r.fails(policy("GET", half.URL, ""), `{}`, fault.Uncertain)
	slow := r.serve(func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	brief := strings.Replace(policy("GET", slow.URL, ""), "20000", "200", 1)
	r.fails(brief, `{}`, fault.Uncertain)
}

func TestTrust(t *testing.T) {
	// rule: J-227
	r := newRig(t)
	s := r.serve(func(w http.ResponseWriter, q *http.Request) {})
	r.Roots = x509.NewCertPool()
	require.Contains(t, r.fails(policy("GET", s.URL, ""), `{}`, fault.ExecutionFailed), "TLS trust")
	require.Zero(t, r.hits.Load())
}

func TestSchemes(t *testing.T) {
	// rule: J-229
	r := newRig(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, "plain") }))
	defer s.Close()
	r.ok(policy("GET", s.URL, ""), `{}`, `{"outcome":"done","output":{"status":200,"body":"plain"}}`)
	for _, u := range []string{"http://example.org/", "http://10.0.0.1/", "ftp://example.org/", "https://user:pw@example.org/", "https://example.org/#f", "https:///x", "file:///etc/passwd"} {
		require.Error(t, httpres.CheckURL(u), u)
		r.fails(policy("GET", u, ""), `{}`, fault.Unavailable)
	}
	for _, u := range []string{"https://example.org/", "http://localhost:1/", "http://[::1]:1/", "https://10.0.0.1/"} {
		require.NoError(t, httpres.CheckURL(u), u)
	}
}

func TestPrivateAddresses(t *testing.T) {
	// rule: J-230
	r := newRig(t)
	s := r.serve(func(w http.ResponseWriter, q *http.Request) {})
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	asked := ""
	for _, address := range []string{
		"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1",
		"::1", "fe80::1", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "ff02::1",
	} {
		r.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			asked = host
			return []netip.Addr{netip.MustParseAddr(address)}, nil
		}
		require.Contains(t, r.fails(policy("GET", "https://internal.example.org"+port, ""), `{}`, fault.ExecutionFailed), "not public", address)
		require.Equal(t, "internal.example.org", asked)
	}
	require.Zero(t, r.hits.Load())
	r.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }
	r.fails(policy("GET", "https://absent.example.org", ""), `{}`, fault.ExecutionFailed)
}

func TestReviewedProxyOnly(t *testing.T) {
	// rule: J-228
	r := newRig(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("https_proxy", "http://127.0.0.1:1")
	s := r.serve(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, "direct") })
	r.ok(policy("GET", s.URL, ""), `{}`, `{"outcome":"done","output":{"status":200,"body":"direct"}}`)
	connects := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodConnect && q.Host == "example.org:443" {
			connects++
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	r.Proxy = func(u *url.URL) *url.URL { return at }
	r.fails(policy("GET", "https://example.org/", ""), `{}`, fault.ExecutionFailed)
	require.Equal(t, 1, connects)
}

func TestPackedAnswers(t *testing.T) {
	// rule: J-231
	packed := func(n int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.CopyN(z, zeros{}, int64(n))
		z.Close()
		return b.Bytes()
	}
	r := newRig(t)
	size := 0
	s := r.serve(func(w http.ResponseWriter, q *http.Request) {
		require.Equal(t, "gzip", q.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed(size))
	})
	size = 1000
	got, err := r.call(policy("GET", s.URL, ""), `{}`)
	require.Nil(t, err)
	require.Contains(t, got, strings.Repeat("0", 1000))
	for _, size = range []int{1001, 8 << 20} {
		require.Contains(t, r.fails(policy("GET", s.URL, ""), `{}`, fault.Uncertain), "larger than the grant allows")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

func TestPlainAnswerBound(t *testing.T) {
	r := newRig(t)
	size := 0
	s := r.serve(func(w http.ResponseWriter, q *http.Request) { io.CopyN(w, zeros{}, int64(size)) })
	size = 1000
	_, err := r.call(policy("GET", s.URL, ""), `{}`)
	require.Nil(t, err)
	size = 1001
	r.fails(policy("GET", s.URL, ""), `{}`, fault.Uncertain)
}

func TestBearer(t *testing.T) {
	// rule: J-232
	r := newRig(t)
	seen := ""
	s := r.serve(func(w http.ResponseWriter, q *http.Request) { seen = q.Header.Get("Authorization") })
	p := policy("GET", s.URL, `,"bearerEnv":"TOKEN"`)
	require.Contains(t, r.fails(p, `{}`, fault.Unavailable), "PROJECT_HTTP_UNAVAILABLE")
	require.ErrorContains(t, r.Ready([]byte(p)), "TOKEN")
	for _, bad := range []string{"", "  ", "a\nb"} {
		r.env["TOKEN"] = bad
		r.fails(p, `{}`, fault.Unavailable)
	}
	require.Zero(t, r.hits.Load())
	r.env["TOKEN"] = "first"
	require.NoError(t, r.Ready([]byte(p)))
	r.env["TOKEN"] = "canary-second"
	_, err := r.call(p, `{}`)
	require.Nil(t, err)
	require.Equal(t, "Bearer canary-second", seen, "read again at the call")
	dead := r.serve(func(w http.ResponseWriter, q *http.Request) { panic(http.ErrAbortHandler) })
	require.NotContains(t, r.fails(policy("GET", dead.URL, `,"bearerEnv":"TOKEN"`), `{}`, fault.Uncertain), "canary")
}

func TestJSONAnswers(t *testing.T) {
	// rule: J-234, E-096
	r := newRig(t)
	body := ""
	s := r.serve(func(w http.ResponseWriter, q *http.Request) { w.WriteHeader(404); io.WriteString(w, body) })
	body = ` {"b":1.0,"a":[null]} `
	r.ok(policy("GET", s.URL, ""), `{"response":"json"}`, `{"outcome":"done","output":{"status":404,"body":{"a":[null],"b":1}}}`)
	for _, body = range []string{"", "{", `{"a":1,"a":2}`, `9007199254740993`, "\ufeff{}"} {
		r.fails(policy("GET", s.URL, ""), `{"response":"json"}`, fault.InvalidResult)
	}
	body = "\xff"
	r.fails(policy("GET", s.URL, ""), `{}`, fault.InvalidResult)
	body = "text"
	r.ok(policy("GET", s.URL, ""), `{}`, `{"outcome":"done","output":{"status":404,"body":"text"}}`)
}

func TestAnAnswerThatNoFrameCanCarry(t *testing.T) {
	// rule: R-039, J-234
	r := newRig(t)
	body := ""
	s := r.serve(func(w http.ResponseWriter, q *http.Request) { io.WriteString(w, body) })
	for _, n := range []int{124, 125, 126, 127, 128, 129} {
		body = strings.Repeat("[", n) + strings.Repeat("]", n)
		if n <= 125 {
			r.ok(policy("GET", s.URL, ""), `{"response":"json"}`, `{"outcome":"done","output":{"status":200,"body":`+body+`}}`)
			require.NoError(t, json0.Check([]byte(`{"jsonrpc":"2.0","id":"a","result":{"outcome":"done","output":{"status":200,"body":`+body+`}}}`)))
			continue
		}
		code := fault.ResourceExhausted
		if n > 128 { // of itself no JSON/0
			code = fault.InvalidResult
		}
		r.fails(policy("GET", s.URL, ""), `{"response":"json"}`, code)
	}
}
