package project

import (
	"encoding/pem"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-088
func TestTheEnvironmentIsASnapshot(t *testing.T) {
	t.Setenv("JIG_TEST_VALUE", "before")
	e := NewEnvironment(os.Environ())
	t.Setenv("JIG_TEST_VALUE", "after")
	require.Equal(t, "before", e.Get("JIG_TEST_VALUE"))
	entries := []string{"A=1", "A=2", "B=", "=x", "no"}
	e = NewEnvironment(entries)
	entries[0] = "A=9"
	require.Equal(t, "2", e.Get("A"))
	v, set := e.Lookup("B")
	require.Empty(t, v)
	require.True(t, set)
	_, set = e.Lookup("C")
	require.False(t, set)
	require.Equal(t, "3", e.With("A", "3").Get("A"))
	require.Equal(t, "2", e.Get("A"))
}

// rule: J-208
func TestAProxyIsExplicitAndWithoutCredentials(t *testing.T) {
	for value, fine := range map[string]bool{
		"": true, "http://proxy:3128": true, "https://proxy": true, "http://proxy:3128/": true,
		"proxy:3128": false, "socks5://proxy": false, "http://user:secret@proxy": false, "http://proxy/path": false, "http://proxy?x": false, "http://proxy#x": false, "http://": false, "%": false,
	} {
		_, err := NewReach(NewEnvironment([]string{"JIG_HTTPS_PROXY=" + value, "HTTPS_PROXY=http://ambient"}))
		require.Equal(t, fine, err == nil, value)
		if err != nil {
			require.NotContains(t, err.Error(), "secret")
		}
	}
	r, err := NewReach(NewEnvironment([]string{"JIG_HTTPS_PROXY=http://proxy:3128/", "JIG_NO_PROXY= .internal.example, Direct.example ,"}))
	require.NoError(t, err)
	require.Equal(t, "http://proxy:3128", r.Proxy)
	require.Equal(t, ".internal.example,direct.example", r.NoProxy)
	for target, proxied := range map[string]bool{
		"https://example.org/": true, "https://a.internal.example/": false, "https://internal.example/": false, "https://notinternal.example/": true,
		"https://direct.example/": false, "https://x.direct.example/": false, "http://localhost:1/": false, "http://127.0.0.1:1/": false, "http://[::1]:1/": false,
	} {
		u, err := url.Parse(target)
		require.NoError(t, err)
		require.Equal(t, proxied, r.For(u) != nil, target)
	}
	r, err = NewReach(NewEnvironment([]string{"JIG_NO_PROXY=x"}))
	require.NoError(t, err)
	require.Empty(t, r.NoProxy, "without a proxy there is nothing to except from it")
}

func TestABundleOfCertificatesIsReadAndNamedByItsDigest(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	r, err := NewReach(NewEnvironment([]string{"SSL_CERT_FILE=" + file}))
	require.NoError(t, err)
	require.Equal(t, digestBytes(text), r.CA)
	require.NotNil(t, r.Roots)
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	for _, bad := range []string{file, "relative.pem", "/nonexistent", t.TempDir()} {
		_, err := NewReach(NewEnvironment([]string{"SSL_CERT_FILE=" + bad}))
		require.ErrorContains(t, err, "SSL_CERT_FILE", bad)
	}
}
