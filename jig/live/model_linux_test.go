package live_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// model is a scripted model server, and the only thing that a client can reach.
type model struct {
	t         testing.TB
	url       string // of OpenAI's formats
	origin    string // of Anthropic's
	authority string // file of the certificates to trust
	log       string
	names     *names
}

// request is one that reached the model.
type request struct {
	Number int         `json:"number"`
	Method string      `json:"method"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Status int         `json:"status"`
	Ended  string      `json:"ended"`
}

// newModel answers by the last words of the user, or by a script.
func newModel(t testing.TB, script ...string) *model {
	t.Helper()
	m := &model{t: t, log: filepath.Join(t.TempDir(), "requests"), names: serveNames(t)}
	how := "-by-text"
	if len(script) > 0 {
		how = filepath.Join(t.TempDir(), "script")
		require.NoError(t, os.WriteFile(how, []byte(strings.Join(script, "\n")), 0o644))
	}
	cmd := exec.Command(filepath.Join(base, "model"), "-tls", "-json", "-with-stdin", "-log", m.log, how)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error("the model:", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	var at struct{ URL, Origin, Authority string }
	require.NoError(t, json.Unmarshal(line, &at, json.MatchCaseInsensitiveNames(true)))
	m.url, m.origin = at.URL, at.Origin
	own, err := os.ReadFile(at.Authority)
	require.NoError(t, err)
	m.authority = filepath.Join(t.TempDir(), "authorities.pem")
	require.NoError(t, os.WriteFile(m.authority, append(own, serveOpenAI(t, m.origin, own)...), 0o644))
	return m
}

// requests are those that came, in order.
func (m *model) requests() (all []request) {
	m.t.Helper()
	b, err := os.ReadFile(m.log)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(m.t, err)
	for line := range strings.Lines(string(b)) {
		var r request
		if json.Unmarshal([]byte(line), &r) == nil && r.Ended == "" {
			all = append(all, r)
		}
	}
	return all
}

// posts are the requests to the model itself.
func (m *model) posts() []request {
	return slices.DeleteFunc(m.requests(), func(r request) bool { return r.Method != http.MethodPost })
}

// names is a name server that knows every name as loopback, and remembers which
// it was asked for.
type names struct {
	mu    sync.Mutex
	asked []string // guarded by mu
}

func serveNames(t testing.TB) *names {
	n := &names{}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:53")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if answer := n.answer(b[:size]); answer != nil {
				conn.WriteTo(answer, from)
			}
		}
	}()
	return n
}

// answer is the reply to a question with one name: loopback for an address of
// version 4, nothing for all else.
func (n *names) answer(q []byte) []byte {
	if len(q) < 12 || binary.BigEndian.Uint16(q[4:]) != 1 {
		return nil
	}
	var labels []string
	at := 12
	for at < len(q) && q[at] != 0 {
		end := at + 1 + int(q[at])
		if end > len(q) {
			return nil
		}
		labels = append(labels, string(q[at+1:end]))
		at = end
	}
	if at+5 > len(q) {
		return nil
	}
	n.mu.Lock()
	n.asked = append(n.asked, strings.Join(labels, "."))
	n.mu.Unlock()
	question := q[12 : at+5]
	a := append(slices.Clone(q[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	a = append(a, question...)
	if binary.BigEndian.Uint16(q[at+1:]) == 1 {
		a[7] = 1
		a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}
	return a
}

// list are the names that were asked for, each once.
func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Clone(n.asked)
	slices.Sort(all)
	return slices.Compact(all)
}

// serveOpenAI stands at the address of api.openai.com and passes everything on to
// the model: Pi's providers have addresses that nobody can change. It returns the
// certificate to trust.
func serveOpenAI(t testing.TB, origin string, trusted []byte) []byte {
	target, err := url.Parse(origin)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(trusted))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host },
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	// Codex takes no certificate of an authority for one of a server: there are two.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a stand-in's authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	trust, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	require.NoError(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "a stand-in"}, DNSNames: []string{"api.openai.com", "chatgpt.com"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, key)
	require.NoError(t, err)
	listener, err := tls.Listen("tcp4", "127.0.0.1:443", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	require.NoError(t, err)
	server := &http.Server{Handler: proxy, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(listener) }()
	t.Cleanup(func() { server.Close(); transport.CloseIdleConnections(); <-done })
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trust})
}
