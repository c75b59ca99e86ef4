package scripted

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func trust(t *testing.T, s *Server) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(s.Authority()))
	return pool
}

func trusting(t *testing.T, s *Server) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust(t, s)}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestTLS(t *testing.T) {
	s, err := Start(Options{TLS: true, Respond: ByText})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.True(t, strings.HasPrefix(s.URL(), "https://127.0.0.1:"), s.URL())
	client := trusting(t, s)
	for _, url := range []string{s.URL(), strings.Replace(s.URL(), "127.0.0.1", "localhost", 1)} {
		res, err := client.Post(url+"/responses", "application/json", strings.NewReader(asking(Responses, "ECHO over TLS")))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Contains(t, string(body), "over TLS")
		require.Equal(t, 1, res.ProtoMajor)
	}
	// Nobody else trusts it, and it vouches for nothing else.
	_, err = http.Get(s.URL() + "/models")
	var unknown x509.UnknownAuthorityError
	require.True(t, errors.As(err, &unknown), "%v", err)
	block, rest := pem.Decode(s.Authority())
	require.Empty(t, rest)
	authority, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.True(t, authority.IsCA)
	require.True(t, authority.MaxPathLenZero)
	require.Equal(t, []string{"localhost"}, authority.PermittedDNSDomains)
	require.True(t, authority.PermittedDNSDomainsCritical)
	require.LessOrEqual(t, authority.NotAfter.Sub(authority.NotBefore), lifetime+time.Hour)

	plain, err := Start(Options{})
	require.NoError(t, err)
	require.Nil(t, plain.Authority())
	require.NoError(t, plain.Close())
}

func TestTLSCloseAndReset(t *testing.T) {
	s, err := Start(Options{TLS: true, Script: Script{Replies: []Reply{
		{Framing: Raw, Steps: []Step{Write("a"), Close()}},
		{Framing: Raw, Steps: []Step{Write("a"), Hold("read"), Reset()}},
	}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, want := range []error{nil, syscall.ECONNRESET} {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "https://"), "/v1"))
		require.NoError(t, err)
		conn := tls.Client(c, &tls.Config{RootCAs: trust(t, s), ServerName: "localhost"})
		_, err = io.WriteString(conn, question)
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
		s.Release("read")
		rest, err := io.ReadAll(conn)
		require.Empty(t, rest)
		require.ErrorIs(t, err, want)
		require.NoError(t, c.Close())
	}
}

// A client that does not read must not keep Close: TLS would wait to say goodbye.
func TestTLSServerClosesAtOnce(t *testing.T) {
	s, err := Start(Options{TLS: true, Script: Script{Replies: []Reply{{Steps: []Step{Forever(Write(strings.Repeat("x", 1<<20)))}}}}})
	require.NoError(t, err)
	c, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "https://"), "/v1"), &tls.Config{RootCAs: trust(t, s)})
	require.NoError(t, err)
	_, err = io.WriteString(c, question)
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
	// Half opened: no handshake ever comes.
	half, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "https://"), "/v1"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Zero(t, s.Open())
	require.NoError(t, half.Close())
	_ = c.Close()
}

func TestTheLogTellsEachRequestBeforeItsReply(t *testing.T) {
	var written lockedBuffer
	log := NewLog(&written)
	s, err := Start(Options{Respond: ByText, Record: log.Record})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/responses?x=1", strings.NewReader("{\"input\":\"ECHO \xff\"}"))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer k")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	first, _, ok := strings.Cut(written.String(), "\n")
	require.True(t, ok, "it stands there when the reply begins")
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, s.Close())
	log.Wait()
	require.NoError(t, log.Err())

	line := gjson.Parse(first)
	require.Equal(t, "1 POST /v1/responses x=1 200", strings.Join([]string{line.Get("number").String(), line.Get("method").String(),
		line.Get("path").String(), line.Get("query").String(), line.Get("status").String()}, " "))
	require.Equal(t, `["Bearer k"]`, line.Get("header.Authorization").Raw)
	require.Equal(t, "{\"input\":\"ECHO \uFFFD\"}", line.Get("body").String())
	lines := strings.Split(written.String(), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, int64(1), gjson.Get(lines[1], "number").Int())
	require.True(t, gjson.Get(lines[1], "ended").Exists())
	require.False(t, gjson.Get(lines[1], "hungUp").Bool())
}

func TestALogThatCannotBeWrittenSaysSo(t *testing.T) {
	log := NewLog(failing{})
	ended := make(chan struct{})
	close(ended)
	r := Request{Number: 1, ended: ended, hungUp: new(bool)}
	log.Record(r)
	log.Record(r)
	log.Wait()
	require.EqualError(t, log.Err(), "disk full")
	var none Log
	none.Record(r)
	none.Wait()
	require.NoError(t, none.Err())
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestAddresses(t *testing.T) {
	s, err := Start(Options{TLS: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	a := gjson.Parse(s.Addresses("/tmp/a \"b\".pem"))
	require.Equal(t, s.URL(), a.Get("url").String())
	require.Equal(t, strings.TrimSuffix(s.URL(), "/v1"), a.Get("origin").String())
	require.Equal(t, "/tmp/a \"b\".pem", a.Get("authority").String())
	require.False(t, gjson.Get(s.Addresses(""), "authority").Exists())
}
