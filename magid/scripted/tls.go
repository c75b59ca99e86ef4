package scripted

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// identity is a throw-away authority and the certificate it gave the server. The
// authority's key is forgotten once that is done.
type identity struct {
	authority []byte // PEM
	config    *tls.Config
}

// lifetime bounds how long a forgotten copy of the authority means anything.
const lifetime = 7 * 24 * time.Hour

func newIdentity() (*identity, error) {
	now := time.Now()
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "scripted model server: throw-away authority"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(lifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
		// It can vouch for no name but this, whoever trusts it. A constraint of
		// addresses would be right too, but clients made with BoringSSL refuse it.
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{"localhost"},
	}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, authority, key.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	return &identity{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		config: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: key}},
			NextProtos:   []string{"http/1.1"},
			MinVersion:   tls.VersionTLS12,
		},
	}, nil
}

func (i *identity) server(c net.Conn) net.Conn { return tls.Server(c, i.config) }

// Authority is the certificate, in PEM, that a client of a server with TLS must
// trust; nil without TLS. It vouches for no name but
// localhost, and its key is gone.
func (s *Server) Authority() []byte {
	if s.tls == nil {
		return nil
	}
	return append([]byte(nil), s.tls.authority...)
}

// under is the connection that carries c.
func under(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
