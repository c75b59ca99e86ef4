//go:build unix

package client

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
)

// Bounds of the host's own files.
const (
	maxResolvBytes = 64 << 10
	maxHostsBytes  = 1 << 20
	maxBundleBytes = 8 << 20
)

// requirements forbid Codex full access, whatever asks for it (jig.md 7).
const requirements = "allowed_approval_policies = [\"on-request\"]\nallowed_sandbox_modes = [\"read-only\", \"workspace-write\"]\n"

const nsswitch = "passwd: files\ngroup: files\nhosts: files dns\n"

// ownHosts are the names that exist in every scope.
const ownHosts = "127.0.0.1 localhost jig\n::1 localhost\n"

// machine is what a scope gets of how this host reaches others. It is no part of a
// client's identity: it changes with the network.
type machine struct {
	resolv, hosts, bundle []byte
	warnings              []project.Diagnostic
}

// Places of these files on the host; tests have others.
type places struct {
	resolv, hosts string
	bundles       []string
}

var hostPlaces = places{
	resolv: "/etc/resolv.conf", hosts: "/etc/hosts",
	bundles: []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	},
}

// look reads them, at the end of whatever links lead there.
func (at places) look(reach *project.Reach) *machine {
	m := &machine{bundle: reach.Bundle}
	warn := func(message, hint string) {
		m.warnings = append(m.warnings, project.Diagnostic{Code: project.CodeACPUnavailable, Message: message, Hint: hint})
	}
	var err error
	if m.resolv, err = readBounded(at.resolv, maxResolvBytes); err != nil {
		m.resolv = nil
		warn("this machine's /etc/resolv.conf is missing or cannot be read, so a native client resolves no name over the network", "")
	}
	hosts, err := readBounded(at.hosts, maxHostsBytes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn("this machine's /etc/hosts cannot be read, so a native client does not know its names", "")
	}
	m.hosts = slices.Concat([]byte(ownHosts), hosts)
	if m.bundle != nil {
		return m
	}
	for _, path := range at.bundles {
		if m.bundle, err = readBounded(path, maxBundleBytes); err == nil {
			return m
		}
	}
	m.bundle = nil
	warn("this machine has no bundle of certificates, so a native client trusts no server", "install ca-certificates, or name a bundle in SSL_CERT_FILE")
	return m
}

// data are the files that a scope has of jig's own.
func (m *machine) data(uid, gid int) []sandbox.Data {
	return []sandbox.Data{
		{Dest: BundlePath, Content: m.bundle},
		{Dest: "/etc/resolv.conf", Content: m.resolv},
		{Dest: "/etc/hosts", Content: m.hosts},
		{Dest: "/etc/nsswitch.conf", Content: []byte(nsswitch)},
		{Dest: "/etc/passwd", Content: fmt.Appendf(nil, "agent:x:%d:%d:agent:%s:/nonexistent\n", uid, gid, HomePath)},
		{Dest: "/etc/group", Content: fmt.Appendf(nil, "agent:x:%d:\n", gid)},
	}
}
