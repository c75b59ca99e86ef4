package attempt

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

// direct asks for no proxy.
func direct(*http.Request) (*url.URL, error) { return nil, nil }

func TestEndpoint(t *testing.T) {
	const path = "/chat/completions"
	for in, want := range map[string]string{
		"https://api.example/v1":           "https://api.example/v1/chat/completions",
		"https://api.example/v1/":          "https://api.example/v1/chat/completions",
		"https://api.example":              "https://api.example/chat/completions",
		"https://api.example/":             "https://api.example/chat/completions",
		"https://api.example:8443/a/b/v1/": "https://api.example:8443/a/b/v1/chat/completions",
		"http://[::1]:8080/v1":             "http://[::1]:8080/v1/chat/completions",
		"HTTP://127.0.0.1/v1":              "http://127.0.0.1/v1/chat/completions",
	} {
		u, err := endpoint(in, path)
		require.NoError(t, err, in)
		require.Equal(t, want, u.String())
	}
	for in, want := range map[string]string{
		"":                                     "not set",
		"://":                                  "no URL",
		"http://127.0.0.1:canary/v1":           "no URL",
		"api.example/canary":                   "https://",
		"ftp://api.example/canary":             "https://",
		"localhost:8080":                       "https://",
		"https:///canary":                      "no host",
		"https://user:canary@api.example/v1":   "credentials",
		"https://canary@api.example/v1":        "credentials",
		"https://api.example/v1?key=canary":    "no query",
		"https://api.example/v1?":              "no query",
		"https://api.example/v1#canary":        "no fragment",
		"https://api.example/chat/completions": "the prefix alone",
	} {
		_, err := New(provider.Options{BaseURL: in}, path, nil)
		require.ErrorContains(t, err, want, in)
		require.NotContains(t, err.Error(), "canary")
	}
}

// rule: M-034
func TestPlainHTTPIsForLoopback(t *testing.T) {
	local := []string{"127.0.0.1", "127.0.0.1:11434", "127.255.255.254", "[::1]", "[::1]:8080", "localhost", "LocalHost:1", "[::ffff:127.0.0.1]"}
	remote := []string{"api.example", "10.0.0.1", "192.168.1.2:8080", "0.0.0.0", "[::]", "[fe80::1]", "localhost.example", "128.0.0.1", "126.255.255.255", "127.0.0.1.example", "[::2]"}
	for _, host := range local {
		_, err := New(provider.Options{BaseURL: "http://" + host + "/v1"}, "/x", nil)
		require.NoError(t, err, host)
	}
	for _, host := range remote {
		_, err := New(provider.Options{BaseURL: "http://" + host + "/v1"}, "/x", nil)
		require.ErrorContains(t, err, "plain http", host)
		_, err = New(provider.Options{BaseURL: "http://" + host + "/v1", AllowPlainHTTP: true}, "/x", nil)
		require.NoError(t, err, host)
		_, err = New(provider.Options{BaseURL: "https://" + host + "/v1"}, "/x", nil)
		require.NoError(t, err, host)
	}
}

// rule: M-034
func TestALoopbackNameMustLeadToLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"} {
		require.NoError(t, onlyLoopback("tcp", address, nil))
	}
	for _, address := range []string{"10.0.0.1:80", "[fe80::1]:80", "0.0.0.0:80", "localhost:80", ""} {
		require.Error(t, onlyLoopback("tcp", address, nil), address)
	}
	// And it is asked.
	s, err := scripted.StartReplies(well)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	base := "http://localhost:" + u.Port() + "/v1"
	c := client(t, provider.Options{BaseURL: base})
	require.NoError(t, post(t.Context(), c, &sink{}))
	// The same listener by an address that is not loopback.
	_, err = c.transport.DialContext(t.Context(), "tcp", "0.0.0.0:"+u.Port())
	require.ErrorContains(t, err, "not loopback")
	c = client(t, provider.Options{BaseURL: base, AllowPlainHTTP: true})
	conn, err := c.transport.DialContext(t.Context(), "tcp", "0.0.0.0:"+u.Port())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// rule: M-046
func TestNoProxyIsAskedForLoopback(t *testing.T) {
	s, err := scripted.StartReplies(well)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c := client(t, provider.Options{BaseURL: s.URL(), Proxy: func(*http.Request) (*url.URL, error) {
		return nil, errEnd
	}})
	require.NoError(t, post(t.Context(), c, &sink{}))
}

// proxied is set in the child that TestProxyVariables starts, because net/http
// reads the variables once.
const proxied = "MAGID_TEST_PROXIED"

// rule: M-046
func TestProxyVariables(t *testing.T) {
	proxy, err := scripted.StartReplies(well)
	require.NoError(t, err)
	defer func() { require.NoError(t, proxy.Close()) }()
	direct, err := scripted.StartReplies(well)
	require.NoError(t, err)
	defer func() { require.NoError(t, direct.Close()) }()

	u, err := url.Parse(proxy.URL())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), proxied+"="+direct.URL(),
		"HTTP_PROXY=http://"+u.Host, "HTTPS_PROXY=http://"+u.Host, "http_proxy=http://"+u.Host, "https_proxy=http://"+u.Host, "NO_PROXY=", "no_proxy=", "REQUEST_METHOD=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// The remote host was asked for at the proxy, by name; loopback was not.
	require.Len(t, direct.Requests(), 1)
	require.Len(t, proxy.Requests(), 4)
	require.Equal(t, http.MethodPost, proxy.Requests()[0].Method)
	require.Equal(t, "/v1/chat/completions", proxy.Requests()[0].Path)
	for _, r := range proxy.Requests()[1:] {
		require.Equal(t, http.MethodConnect, r.Method)
	}
}

// TestProxyChild does nothing by itself: TestProxyVariables runs it in a process
// of its own, and fails where it fails.
func TestProxyChild(t *testing.T) {
	loopback := os.Getenv(proxied)
	if loopback == "" {
		return
	}
	require.NoError(t, post(t.Context(), client(t, provider.Options{BaseURL: "http://model.example/v1", AllowPlainHTTP: true}), &sink{}))
	require.NoError(t, post(t.Context(), client(t, provider.Options{BaseURL: loopback}), &sink{}))
	err := post(t.Context(), client(t, provider.Options{BaseURL: "https://model.example/v1", Jitter: noWait}), &sink{})
	fails(t, err, provider.CodeUnavailable) // the proxy knows no CONNECT
}

func TestAProxyThatIsNoURLIsNotShown(t *testing.T) {
	c := client(t, provider.Options{BaseURL: "https://model.example/v1", Jitter: noWait, Proxy: func(*http.Request) (*url.URL, error) {
		return nil, &url.Error{Op: "parse", URL: "http://user:canary@proxy", Err: os.ErrInvalid}
	}})
	message := fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable)
	require.Contains(t, message, "proxy variables")
	require.NotContains(t, message, "canary")
}

func TestHTTPSSpeaksHTTP1(t *testing.T) {
	s, roots := https(t)
	c := client(t, provider.Options{BaseURL: "https://" + s + "/v1", Proxy: direct})
	c.transport.TLSClientConfig.RootCAs = roots
	got := &sink{}
	require.NoError(t, post(t.Context(), c, got))
	require.Equal(t, []string{"HTTP/1.1"}, got.events)
}

// A certificate does not get better by asking again.
func TestACertificateIsRefusedOnce(t *testing.T) {
	s, _ := https(t)
	dials := 0
	c := client(t, provider.Options{BaseURL: "https://" + s + "/v1", Proxy: direct, Jitter: noWait, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	require.Contains(t, fails(t, post(t.Context(), c, &sink{}), provider.CodeUnavailable), "certificate")
	require.Equal(t, 1, dials)
}

// rule: M-117
func TestTheRequest(t *testing.T) {
	key, err := provider.NewSecret("canary-key")
	require.NoError(t, err)
	bubble(t, provider.Options{Key: key}, []scripted.Reply{well}, func(t *testing.T, c *Client, s *scripted.Server) {
		require.NoError(t, post(t.Context(), c, &sink{}))
		r := s.Requests()[0]
		require.Equal(t, http.Header{
			"Accept":         {"text/event-stream"},
			"Authorization":  {"Bearer canary-key"},
			"Connection":     {"close"},
			"Content-Length": {"13"},
			"Content-Type":   {"application/json"},
			"User-Agent":     {"magid"},
		}, r.Header)
		require.Equal(t, `{"model":"m"}`, string(r.Body))
		a := &attempt{Client: c, ctx: t.Context()}
		require.Nil(t, a.request([]byte("x")).GetBody)
	})
}

// rule: M-045
func TestWithoutAKeyNoneIsSent(t *testing.T) {
	bubble(t, provider.Options{}, []scripted.Reply{well}, func(t *testing.T, c *Client, s *scripted.Server) {
		require.NoError(t, post(t.Context(), c, &sink{}))
		require.NotContains(t, s.Requests()[0].Header, "Authorization")
	})
}

// An answer that is no HTTP is a provider that does it wrong, not one that is away.
//
// rule: W-194
func TestAnAnswerThatIsNotHTTP(t *testing.T) {
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"
	for name, wire := range map[string]string{
		"another protocol": "SSH-2.0-OpenSSH_9.6\r\n\r\n",
		"no status":        "HTTP/1.1 abc\r\n\r\n",
		"a long header":    long,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, provider.Options{}, []scripted.Reply{{Framing: scripted.Raw, Steps: []scripted.Step{scripted.Write(wire)}}}, func(t *testing.T, c *Client, s *scripted.Server) {
				message := fails(t, post(t.Context(), c, &sink{}), provider.CodeFailed)
				require.Equal(t, "the provider's answer is not HTTP/1.1", message)
				require.Len(t, s.Requests(), 1)
			})
		})
	}
}
